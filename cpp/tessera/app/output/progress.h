// How far a run is, in one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::app {

/// Decides when a line is due and shows it; the caller's `write` prints it, since libraries do not print.
class StatusLine {
 public:
  enum class Style { rewrite, append };  // one line rewritten with \r; a new line each minute
  using Write = std::function<void(std::string_view)>;

  StatusLine(Style style, Write write) : style_(style), write_(std::move(write)) {}

  /// Returns whether a line is due `seconds` after the start: ask before composing it.
  bool is_due(double seconds) const { return seconds >= next_; }
  void show(std::string line, double seconds);
  void finish();

 private:
  Style style_;
  Write write_;
  double next_ = 0;        // seconds
  std::size_t width_ = 0;  // of the line on the screen
};

/// What a progress line shows. A drift that is not known yet is NaN.
struct ProgressSample {
  std::int64_t step = 0;
  double temperature = 0;  // K
  double drift = 0;        // kT per ns and degree of freedom
};

/// Composes the line of a run.
class ProgressLine {
 public:
  /// Begins the line of steps `first_step` to `last_step`; timestep in ps.
  ProgressLine(StatusLine line, std::int64_t first_step, std::int64_t last_step, double timestep);

  bool is_due(double seconds) const { return line_.is_due(seconds); }
  void show(const ProgressSample& sample, double seconds) { line_.show(text(sample, seconds), seconds); }
  void finish() { line_.finish(); }

  /// Composes the line:
  /// "step 1,200 of 50,000 (2 %)  35.2 ns/day  1 min 20 s left  301.2 K  drift 1.2e-04 kT/ns/dof".
  std::string text(const ProgressSample& sample, double seconds) const;

 private:
  StatusLine line_;
  std::int64_t first_step_, last_step_;
  double timestep_;
};

}  // namespace tessera::app
