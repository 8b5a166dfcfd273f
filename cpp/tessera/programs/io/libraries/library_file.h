// What files of libraries have in common.
#pragma once

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/io/write/new_file.h"

namespace tessera::programs {

/// Returns why a library could not write: the system's text for a full disk where the disk of `path` has no room, as
/// libraries tell of it in words of their own, else what the library said.
inline std::string reason(const std::string& path, const std::string& said) {
  constexpr std::uintmax_t nearly_none = 1 << 16;  // bytes: less than what any method writes at a time
  std::error_code error;
  const auto space = std::filesystem::space(path, error);
  return !error && space.available < nearly_none ? system_error_text(ENOSPC) : said;
}

/// Returns coordinates (n,3) Å, which stand in `out`.
template <class Real>
const Real* coordinates(const io::write::Atoms& atoms, std::vector<Real>& out) {
  out.clear();
  for (const auto& atom : atoms)
    for (const double x : atom.position) out.push_back(static_cast<Real>(x));
  return out.data();
}

/// Takes room on the disk for the whole file before atoms are written: Open MPI's MPI-IO may drop what a full disk has
/// no room for, and PnetCDF then says that all is well. Collective.
inline void reserve(io::write::WriteJob& job, const io::write::NewFile& file, std::int64_t bytes) {
  if (job.comm().is_root()) job.attempt([&] { file.open().reserve(0, bytes); });
  job.agree();
}

}  // namespace tessera::programs
