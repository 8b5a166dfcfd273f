#include "tessera/fft/device/convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/fft/lines/radix.h"

namespace tessera::fft {

namespace {

constexpr int lanes_of_warp = 32, warps_of_block = 8;  // as the kernel is compiled

// Lines of a block: as many as lanes, so that each has one, but no more than leave two blocks to each multiprocessor,
// unless their values would no longer fill what memory moves at once.
constexpr std::int64_t most_together = 32, least_together = 8, blocks_of_multiprocessor = 2;

/// Makes the arguments of the kernel for lines of one direction, and adds to the table of turns of all of them.
class LineSteps {
 public:
  LineSteps(LineKind kind, std::int64_t n, const Lines& lines, int multiprocessors, std::vector<float>& turns)
      : plan_(plan_lines<float>(kind, n)) {
    const std::int64_t waves = plan_.points == n ? n : n / 2 + 1;
    const std::int64_t fit = most_shared_points / std::max(plan_.points, waves) - 1;
    const std::int64_t for_all = std::max(least_together, lines.count / (blocks_of_multiprocessor * multiprocessors));
    const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::min({most_together, for_all, fit})));
    together_ = std::bit_floor(most);
    if (!is_served()) return;
    arguments_.lines = lines;
    arguments_.n = static_cast<std::int32_t>(plan_.points);
    arguments_.waves = static_cast<std::int32_t>(waves);
    arguments_.together = static_cast<std::int32_t>(together_);
    first_turn_ = turns.size();
    turns.insert(turns.end(), plan_.turns.data(), plan_.turns.data() + plan_.passes.back().circle);
    first_half_ = turns.size();
    if (plan_.points != n) turns.insert(turns.end(), plan_.halves.data(), plan_.halves.data() + 2 * (n / 4 + 1));
  }

  /// Tells whether the kernel has all that these lines need.
  bool is_served() const {
    const auto is_large = [](const RadixPass& pass) { return is_large_prime(pass.radix); };
    return plan_.convolved == 0 && together_ > 0 && std::ranges::none_of(plan_.passes, is_large) &&
           2 * plan_.passes.size() + 3 <= most_line_steps;
  }

  /// Returns the arguments for these steps, of which a pass is all passes of the transform.
  LineArguments forward(std::initializer_list<LineWork> all) const {
    LineArguments arguments = arguments_;
    std::int32_t place = 0;
    const auto add = [&](LineStep step, bool moves) {
      TESSERA_CHECK(arguments.n_steps < most_line_steps);
      step.from = place;
      arguments.steps[arguments.n_steps++] = step;
      if (moves) place = 1 - place;
    };
    for (const auto work : all) {
      LineStep step{};
      step.work = work;
      step.first_turn = static_cast<std::int32_t>(first_half_);
      if (work != LineWork::pass) {
        add(step, work == LineWork::waves_of_halves || work == LineWork::halves_of_waves);
        continue;
      }
      for (const auto& pass : plan_.passes) {
        if (pass.radix == 1) continue;  // copies
        step.radix = pass.radix;
        step.m = static_cast<std::int32_t>(pass.m);
        step.s = static_cast<std::int32_t>(pass.s);
        step.is_last = pass.m == 1;
        step.first_turn = static_cast<std::int32_t>(first_turn_ + at(pass.first_turn));
        add(step, true);
      }
    }
    return arguments;
  }
  /// Returns the same for steps of which the last one stores results of a backward transform.
  LineArguments backward(std::initializer_list<LineWork> all) const {
    LineArguments arguments = forward(all);
    arguments.steps[arguments.n_steps - 1].is_backward = 1;
    return arguments;
  }

 private:
  LinePlan<float> plan_;
  LineArguments arguments_{};
  std::uint64_t together_ = 0;
  std::size_t first_turn_ = 0, first_half_ = 0;
};

Lines lines_along_x(const Index3& n) {
  const auto layer = static_cast<std::int32_t>(n[1] * n[2]);
  return {.count = layer, .inner = layer, .outer = 0, .stride = layer};
}
Lines lines_along_y(const Index3& n) {
  const auto row = static_cast<std::int32_t>(n[2]), layer = static_cast<std::int32_t>(n[1] * n[2]);
  return {.count = static_cast<std::int32_t>(n[0] / 2 + 1) * row, .inner = row, .outer = layer, .stride = row};
}
Lines lines_along_z(const Index3& n) {
  const auto row = static_cast<std::int32_t>(n[2]);
  return {.count = static_cast<std::int32_t>((n[0] / 2 + 1) * n[1]), .inner = 1, .outer = row, .stride = 1};
}

}  // namespace

bool DeviceConvolution::serves(const TransformProblem& problem) {
  const auto& n = problem.grid;
  if (problem.kind != TransformKind::real || problem.ranks != 1 || problem.order != std::array{0, 1, 2}) return false;
  if (n[0] % 2 != 0 || n[0] * n[1] * n[2] > std::numeric_limits<std::int32_t>::max() / 4) return false;
  std::vector<float> turns;
  const auto serves_lines = [&](LineKind kind, std::int64_t points) {
    return LineSteps(kind, points, {}, 1, turns).is_served();
  };
  return serves_lines(LineKind::real_forward, n[0]) && serves_lines(LineKind::forward, n[1]) &&
         serves_lines(LineKind::forward, n[2]);
}

DeviceConvolution::DeviceConvolution(const Index3& n, const device::DeviceInUse& in_use)
    : waves_((n[0] / 2 + 1) * n[1] * n[2]),
      kernel_(in_use.kernels().find("tessera_lines")),
      spectrum_(in_use.device(), at(2 * waves_)),
      turns_(in_use.device(), 0) {
  using enum LineWork;
  std::vector<float> turns;
  const auto steps = [&](LineKind kind, std::int64_t points, const Lines& lines) {
    return LineSteps(kind, points, lines, in_use.device().facts().multiprocessors, turns);
  };
  const auto x = steps(LineKind::real_forward, n[0], lines_along_x(n));
  const auto y = steps(LineKind::forward, n[1], lines_along_y(n)), z = steps(LineKind::forward, n[2], lines_along_z(n));
  lines_.forward_x = x.forward({load_pairs, pass, waves_of_halves, store_points});
  lines_.forward_y = y.forward({load_points, pass, store_points});
  lines_.forward_z = z.forward({load_points, pass, store_points});
  lines_.both_z = z.backward({load_points, pass, multiply, pass, store_points});
  lines_.backward_z = z.backward({load_points, multiply, pass, store_points});
  lines_.backward_y = y.backward({load_points, pass, store_points});
  lines_.backward_x = x.backward({load_points, halves_of_waves, pass, store_pairs});
  turns_ = device::DeviceArray<float>(in_use.device(), turns.size());
  const device::Stream stream(in_use.device());
  turns_.start_copy_from(turns, stream);
  stream.wait();
}

void DeviceConvolution::start(float* points, const float* factors, std::span<float> spectrum,
                              const device::Stream& stream) const {
  const auto launch = [&](LineArguments arguments) {
    arguments.turns = turns_.data();
    arguments.re = spectrum_.data();
    arguments.im = spectrum_.data() + waves_;
    arguments.real = points;
    arguments.factors = factors;
    const auto blocks = (arguments.lines.count + arguments.together - 1) / arguments.together;
    kernel_.start(stream, static_cast<unsigned>(blocks), warps_of_block * lanes_of_warp, arguments);
  };
  launch(lines_.forward_x);
  launch(lines_.forward_y);
  if (spectrum.empty()) {
    launch(lines_.both_z);
  } else {
    launch(lines_.forward_z);
    spectrum_.start_copy_to(spectrum, stream);
    launch(lines_.backward_z);
  }
  launch(lines_.backward_y);
  launch(lines_.backward_x);
}

}  // namespace tessera::fft
