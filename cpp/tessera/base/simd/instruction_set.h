// Says which instruction set vector kernels use, and limits it.
#pragma once

#include <string>

namespace tessera {

/// Returns the name of the instruction set that kernels use: AVX3 (AVX-512), AVX2, EMU128 or NEON, as Highway names it.
std::string instruction_set();

/// Limits kernels to the instruction set that the environment variable TESSERA_SIMD names, or a lesser one where the
/// processor lacks it. Call it before any kernel runs. Throws InputError if the name is unknown, or if kernels are
/// compiled for another set alone that this processor lacks or the variable excludes.
void limit_instruction_set();

}  // namespace tessera
