#include "tessera/io/write/format.h"

#include <array>

#include "tessera/base/error.h"

namespace tessera::io::write {

namespace {

constexpr std::array all{&config, &config_velocities, &history,      &history_velocities, &history_forces, &binary,
                         &xdr,    &netcdf_float,      &netcdf_double};

}  // namespace

std::span<const Format> formats() {
  static const auto copies = [] {
    std::vector<Format> list;
    for (const auto* one : all) list.push_back(*one);
    return list;
  }();
  return copies;
}

const Format& format(const std::string& name) { return find_named(formats(), name, "format"); }

}  // namespace tessera::io::write
