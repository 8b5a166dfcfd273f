// The write methods that `tessera io bench` compares: those of runs and exports, those that nothing else uses, and those
// by libraries.
#pragma once

#include <span>
#include <vector>

#include "tessera/io/write/method.h"

namespace tessera::programs {

/// Returns all methods but those by libraries; with `one_file`, those that make no folder.
std::vector<io::write::Method> bench_methods(bool one_file = false);

// The entries that only a bench has.
extern const io::write::Method segments, file_per_rank, sdaw_printf;

/// Formats the two records of an atom by printf.
void print_records(const io::write::Frame& frame, const io::write::Atom& atom, char* out);

}  // namespace tessera::programs
