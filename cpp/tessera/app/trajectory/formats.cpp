#include <array>

#include "tessera/app/trajectory/format.h"
#include "tessera/base/error.h"

namespace tessera::app {

// An entry stands at the end of the file of its sink.
#define DECLARE(name) extern const TrajectoryFormat name##_format;
#define ELEMENT(name) name##_format,

TESSERA_TRAJECTORY_FORMATS(DECLARE)

std::span<const TrajectoryFormat> trajectory_formats() {
  static const std::array entries = {TESSERA_TRAJECTORY_FORMATS(ELEMENT)};
  return entries;
}

const TrajectoryFormat& trajectory_format(const std::string& name) {
  return find_named(trajectory_formats(), name, "trajectory format");
}

}  // namespace tessera::app
