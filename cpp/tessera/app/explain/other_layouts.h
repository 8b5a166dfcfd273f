// Other ways to use the cores of a plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tessera::app {

/// Another way to use the cores of a plan, and the predicted time of a step.
struct OtherLayout {
  int ranks, threads;
  double seconds;

  /// Returns a text such as "2 × 4: 12.3 ms".
  std::string text() const;
};

/// Returns the fastest layouts of as many cores with other numbers of ranks, of those that a run can have. `predict`
/// returns the seconds of a step by ranks and threads of a rank, and throws InputError where a run can't have them.
std::vector<OtherLayout> other_layouts(int ranks, int threads, const std::function<double(int, int)>& predict);

}  // namespace tessera::app
