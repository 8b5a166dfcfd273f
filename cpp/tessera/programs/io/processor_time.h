// Time that this process has had on processors.
#pragma once

#include <time.h>

namespace tessera {

/// Of all its threads together, s.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace tessera
