// How far a run is, in one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tessera::app {

/// What a progress line shows. A drift that is not known yet is NaN.
struct ProgressSample {
  std::int64_t step = 0;
  double temperature = 0;  // K
  double drift = 0;        // kT per ns and degree of freedom
};

/// Decides when a line is due and composes it; the caller's `write` prints it, since libraries do not print.
class ProgressLine {
 public:
  enum class Style { rewrite, append };  // one line rewritten with \r; a new line each minute
  using Write = std::function<void(std::string_view)>;

  /// Steps `first_step` to `last_step` are to be done; timestep in ps.
  ProgressLine(Style style, std::int64_t first_step, std::int64_t last_step, double timestep, Write write);

  /// True when a line is due `seconds` after the start of the run: ask before computing a sample.
  bool is_due(double seconds) const { return seconds >= next_; }
  void show(const ProgressSample& sample, double seconds);
  /// Ends the line.
  void finish();

  /// "step 1,200 of 50,000 (2 %)  35.2 ns/day  1 min 20 s left  301.2 K  drift 1.2e-04 kT/ns/dof"
  std::string text(const ProgressSample& sample, double seconds) const;

 private:
  Style style_;
  std::int64_t first_step_, last_step_;
  double timestep_;
  Write write_;
  double next_ = 0;        // seconds
  std::size_t width_ = 0;  // of the line on the screen
};

}  // namespace tessera::app
