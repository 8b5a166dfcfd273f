#include "tessera/io/write/format.h"

#include <algorithm>
#include <array>

#include "tessera/base/error.h"

namespace tessera::io::write {

namespace {

constexpr std::array all{&config,
                         &config_velocities,
                         &history,
                         &history_velocities,
                         &history_forces,
                         &binary,
                         &xdr,
                         &xdr_velocities,
                         &xdr_forces,
                         &netcdf_float,
                         &netcdf_velocities,
                         &netcdf_forces,
                         &netcdf_forces_alone,
                         &netcdf_double};

}  // namespace

std::span<const Format> formats() {
  static const auto copies = [] {
    std::vector<Format> list;
    for (const auto* one : all) list.push_back(*one);
    return list;
  }();
  return copies;
}

AtomRows in_blocks(const Atoms& atoms, int level, std::int64_t n_atoms) {
  AtomRows records(0, static_cast<std::size_t>(level + 1) * atoms.size());
  for (int k = 0; k <= level; ++k)
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      auto& record = records[static_cast<std::size_t>(k) * atoms.size() + i];
      record = atoms[i];
      record.id += k * n_atoms;
      if (k > 0) std::copy_n(values_behind(atoms[i], k), 3, record.position.begin());
    }
  return records;
}

const Format& format(const std::string& name) { return find_named(formats(), name, "format"); }

}  // namespace tessera::io::write
