#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Returns an index as containers take it. Ours have a sign, so that differences of them have one, too.
constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace tessera
