#include "tessera/app/output/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/app/numbers_text.h"

namespace tessera::app {
namespace {

constexpr double rewrite_seconds = 0.5, append_seconds = 60.0;

}  // namespace

ProgressLine::ProgressLine(StatusLine line, std::int64_t first_step, std::int64_t last_step, double timestep)
    : line_(std::move(line)), first_step_(first_step), last_step_(last_step), timestep_(timestep) {}

std::string ProgressLine::text(const ProgressSample& sample, double seconds) const {
  const double done = static_cast<double>(sample.step - first_step_);
  const double percent =
      last_step_ > 0 ? 100.0 * static_cast<double>(sample.step) / static_cast<double>(last_step_) : 100;
  std::string line = fmt::format("step {} of {} ({:.0f} %)", grouped(sample.step), grouped(last_step_), percent);
  if (done > 0 && seconds > 0) {
    const auto left = static_cast<double>(last_step_ - sample.step);
    line += fmt::format("  {:.3g} ns/day  {} left", ns_per_day(done * timestep_, seconds),
                        duration_text(left * seconds / done));
  }
  line += fmt::format("  {:.1f} K", sample.temperature);
  if (std::isfinite(sample.drift)) line += fmt::format("  drift {:.1e} kT/ns/dof", sample.drift);
  return line;
}

void StatusLine::show(std::string line, double seconds) {
  if (style_ == Style::append) {
    write_(line + "\n");
    next_ = seconds + append_seconds;
    return;
  }
  const std::size_t width = line.size();
  line.resize(std::max(width, width_), ' ');  // blanks over what a longer line left
  width_ = width;
  write_("\r" + line);
  next_ = seconds + rewrite_seconds;
}

void StatusLine::finish() {
  if (width_ > 0) write_("\n");
  width_ = 0;
}

}  // namespace tessera::app
