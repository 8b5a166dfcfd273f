#include "tessera/programs/io/bench_methods.h"

namespace tessera::programs {

std::vector<io::write::Method> bench_methods(bool one_file) {
  std::vector<io::write::Method> found;
  if (!one_file) found = {segments, file_per_rank};
  for (const auto& one : io::write::methods()) found.push_back(one);
  found.push_back(sdaw_printf);
  return found;
}

}  // namespace tessera::programs
