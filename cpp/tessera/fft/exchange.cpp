#include "tessera/fft/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/collectives/predict.h"

namespace tessera::fft {

namespace {

// With more blocks than this the model, which looks at every message, would take seconds.
constexpr std::size_t most_blocks = 100'000;

}  // namespace

const std::vector<std::string>& exchanges() {
  static const std::vector<std::string> names{"pairwise", "alltoall", "collectives"};
  return names;
}

void check_exchange(const std::string& name) {
  std::vector<std::string> known{"auto"};
  known.insert(known.end(), exchanges().begin(), exchanges().end());
  if (std::find(known.begin(), known.end(), name) == known.end()) refuse_name("exchange", name, known);
}

std::optional<collectives::MessagePlan> plan_blocks(const Exchanges& exchanges,
                                                    const std::vector<collectives::ExchangeBlock>& blocks) {
  std::vector<std::byte> chosen;  // empty: none
  if (exchanges.comm.is_root()) {
    const auto& wires = *exchanges.wires;
    const auto direct = plan_direct_exchange(blocks, wires);
    const bool is_asked_for = exchanges.name == "collectives";
    if (blocks.size() > most_blocks) {
      if (is_asked_for) chosen = serialise(direct);
    } else {
      const auto gathered = plan_gathered_exchange(blocks, wires);
      collectives::CollectiveProblem problem;
      problem.n_ranks = exchanges.comm.size();
      const double seconds = collectives::predict(direct, problem, wires).seconds;
      const double by_host = collectives::predict(gathered, problem, wires).seconds;
      if (by_host < least_gain * seconds)
        chosen = serialise(gathered);
      else if (is_asked_for)
        chosen = serialise(direct);
    }
  }
  comm::broadcast_resized(exchanges.comm, chosen);
  if (chosen.empty()) return {};
  return collectives::deserialise(chosen);
}

}  // namespace tessera::fft
