#include "tessera/fft/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::fft {

namespace {

std::int64_t share(std::int64_t n, std::int64_t part, std::int64_t parts) { return n * part / parts; }

std::int64_t largest_share(std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// The p×q with the least predicted cost, p·q ≤ ranks.
std::pair<std::int64_t, std::int64_t> choose_processes(const Index3& grid, std::int64_t ranks) {
  // What one more partner costs, in points of work: about a message's latency. It decides between shapes of equal load.
  constexpr std::int64_t points_per_partner = 500;
  const std::int64_t kx = grid[0] / 2 + 1;
  std::pair<std::int64_t, std::int64_t> best{1, 1};
  std::int64_t least = -1;
  for (std::int64_t p = 1; p <= ranks; ++p) {
    const std::int64_t q = ranks / p;
    const std::int64_t load = grid[0] * largest_share(grid[1], p) * largest_share(grid[2], q) / 2 +
                              largest_share(kx, p) * grid[1] * largest_share(grid[2], q) +
                              largest_share(kx, p) * largest_share(grid[1], q) * grid[2];
    const std::int64_t cost = load + points_per_partner * (p + q);
    if (least < 0 || cost < least) {
      least = cost;
      best = {p, q};
    }
  }
  return best;
}

void add_pieces(const Index3& grid, const IndexBox& from, const IndexBox& to, int peer, std::vector<Piece>& pieces) {
  if (from.is_empty() || to.is_empty()) return;
  Index3 first, last;
  for (int d = 0; d < 3; ++d) {
    first[d] = floor_divide(to.lower[d], grid[d]);
    last[d] = floor_divide(to.upper[d] - 1, grid[d]);
  }
  for (std::int64_t x = first[0]; x <= last[0]; ++x)
    for (std::int64_t y = first[1]; y <= last[1]; ++y)
      for (std::int64_t z = first[2]; z <= last[2]; ++z) {
        const Index3 shift = {x * grid[0], y * grid[1], z * grid[2]};
        IndexBox seen = to;  // the receiver's box in this image
        for (int d = 0; d < 3; ++d) {
          seen.lower[d] -= shift[d];
          seen.upper[d] -= shift[d];
        }
        const IndexBox common = intersection(from, seen);
        if (!common.is_empty()) pieces.push_back({peer, common, shift});
      }
}

IndexBox largest(const std::vector<IndexBox>& boxes) {
  return *std::max_element(boxes.begin(), boxes.end(),
                           [](const IndexBox& a, const IndexBox& b) { return a.size() < b.size(); });
}

}  // namespace

IndexBox Plan::x_spectrum(int rank) const {
  IndexBox box = x_lines[static_cast<std::size_t>(rank)];
  if (!box.is_empty()) box.upper[0] = grid[0] / 2 + 1;
  return box;
}

std::string Plan::summary() const {
  const auto text = [](const IndexBox& b) { return fmt::format("{}×{}×{}", b.extent(0), b.extent(1), b.extent(2)); };
  std::string lines =
      fmt::format("transform of {}×{}×{} on {} ranks, scheme {}", grid[0], grid[1], grid[2], ranks(), scheme);
  if (processes[0] > 0) lines += fmt::format(" ({}×{} processes)", processes[0], processes[1]);
  lines +=
      fmt::format("\n  largest boxes: input {}, x lines {}, y lines {} (spectrum), z lines {} (spectrum), output {}\n",
                  text(largest(input)), text(largest(x_lines)), text(largest(y_lines)), text(largest(z_lines)),
                  text(largest(output)));
  return lines;
}

Exchange plan_exchange(const Index3& grid, const std::vector<IndexBox>& from, const std::vector<IndexBox>& to,
                       int rank) {
  TESSERA_CHECK(from.size() == to.size());
  const auto me = static_cast<std::size_t>(rank);
  Exchange exchange;
  for (std::size_t peer = 0; peer < from.size(); ++peer) {
    add_pieces(grid, from[me], to[peer], static_cast<int>(peer), exchange.send);
    add_pieces(grid, from[peer], to[me], static_cast<int>(peer), exchange.receive);
  }
  return exchange;
}

Plan plan_pencil(const Index3& grid, std::vector<IndexBox> input, std::vector<IndexBox> output) {
  TESSERA_CHECK(input.size() == output.size() && !input.empty());
  const auto ranks = static_cast<std::int64_t>(input.size());
  const auto [p, q] = choose_processes(grid, ranks);
  const std::int64_t kx = grid[0] / 2 + 1;
  Plan plan;
  plan.scheme = "pencil";
  plan.grid = grid;
  plan.processes = {p, q, 1};
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    if (rank >= p * q) {
      plan.x_lines.emplace_back();
      plan.y_lines.emplace_back();
      plan.z_lines.emplace_back();
      continue;
    }
    const std::int64_t i = rank / q, j = rank % q;
    plan.x_lines.push_back({{0, share(grid[1], i, p), share(grid[2], j, q)},
                            {grid[0], share(grid[1], i + 1, p), share(grid[2], j + 1, q)}});
    plan.y_lines.push_back(
        {{share(kx, i, p), 0, share(grid[2], j, q)}, {share(kx, i + 1, p), grid[1], share(grid[2], j + 1, q)}});
    plan.z_lines.push_back(
        {{share(kx, i, p), share(grid[1], j, q), 0}, {share(kx, i + 1, p), share(grid[1], j + 1, q), grid[2]}});
  }
  plan.input = std::move(input);
  plan.output = std::move(output);
  return plan;
}

const std::vector<Scheme>& schemes() {
  static const std::vector<Scheme> entries = {{"pencil", "none", &plan_pencil}};
  return entries;
}

Plan plan_transform(std::string_view scheme, const Index3& grid, std::vector<IndexBox> input,
                    std::vector<IndexBox> output) {
  if (*std::min_element(grid.begin(), grid.end()) < 1)
    throw InputError(
        fmt::format("a mesh of {}×{}×{} has no points; every direction needs at least one", grid[0], grid[1], grid[2]));
  std::vector<std::string> known;
  for (const auto& entry : schemes()) {
    if (entry.name == scheme) return entry.plan(grid, std::move(input), std::move(output));
    known.emplace_back(entry.name);
  }
  throw InputError(fmt::format("fft.scheme is '{}', which is not one of: {}; did you mean '{}'?", scheme,
                               fmt::join(known, ", "), nearest_word(std::string(scheme), known)));
}

}  // namespace tessera::fft
