#include "tessera/machine/routes/routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/machine/json_reader.h"

namespace tessera::machine {
namespace {

/// Describes the switches of one level of a tree: each has `below` hosts under it, and `links` go up from it.
struct Level {
  int below, links, first_link;  // first_link: upwards, followed by as many downwards
};

template <class Function>
void for_levels(const std::vector<int>& shape, int n_hosts, Function&& function) {
  Level level{shape[0], shape[1], 0};
  for (; level.below < n_hosts; level.below *= shape[0], level.links *= shape[1]) {
    if (!function(level)) return;
    level.first_link += 2 * ((n_hosts + level.below - 1) / level.below) * level.links;
  }
  function(level);
}

}  // namespace

const char* name_of(Routes::Kind kind) { return kind == Routes::Kind::torus ? "torus" : "tree"; }

int Routes::n_links(int n_hosts) const {
  if (kind == Kind::torus) return 2 * static_cast<int>(shape.size()) * n_hosts;
  int n = 0;
  for_levels(shape, n_hosts, [&](const Level& level) {
    n = level.first_link;
    return true;
  });
  return n;
}

void Routes::add_links(int n_hosts, int from, int to, std::vector<int>& links) const {
  if (kind == Kind::torus) {
    int stride = n_hosts, at = from, first_link = 0;
    for (const int k : shape) {
      stride /= k;
      int place = at / stride % k;
      const int goal = to / stride % k, steps = (goal - place + k) % k;
      const bool is_up = 2 * steps <= k;
      for (int step = is_up ? steps : k - steps; step > 0; --step) {
        links.push_back(first_link + (is_up ? 0 : n_hosts) + at);
        const int next = is_up ? (place + 1 == k ? 0 : place + 1) : (place == 0 ? k - 1 : place - 1);
        at += (next - place) * stride;
        place = next;
      }
      first_link += 2 * n_hosts;
    }
    return;
  }
  int port = 0;
  for_levels(shape, n_hosts, [&](const Level& level) {
    const int a = from / level.below, b = to / level.below;
    if (a == b) return false;
    port = port * shape[1] + to / (level.below / shape[0]) % shape[1];
    const int n_up = (n_hosts + level.below - 1) / level.below * level.links;
    links.push_back(level.first_link + a * level.links + port);
    links.push_back(level.first_link + n_up + b * level.links + port);
    return true;
  });
}

void Routes::check(int n_hosts, const std::string& name) const {
  const bool is_positive = std::all_of(shape.begin(), shape.end(), [](int n) { return n > 0; });
  const bool fits = kind == Kind::torus
                        ? std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()) == n_hosts
                        : shape.size() == 2 && shape[0] > 1;
  if (!is_positive || !fits)
    throw InputError(fmt::format("{}: routes of a {} of shape {} do not fit {} hosts; measure the network again", name,
                                 name_of(kind), fmt::join(shape, "×"), n_hosts));
  if (!is_rate(bandwidth))
    throw InputError(
        fmt::format("{}: the bandwidth of routes is {} bytes/s, expected a rate from 1e-6 to 1e18", name, bandwidth));
}

}  // namespace tessera::machine
