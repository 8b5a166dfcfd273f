#include "tessera/fft/choice/agree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fft/choice/choose.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/schemes.h"

namespace tessera::fft {

std::string resolved_exchange(const std::string& asked, const comm::RankWires& known) {
  check_exchange(asked);
  if (asked != "auto") return asked;
  std::vector<int> ranks(known.wires->network().hosts.size());
  for (int rank = 0; rank < known.wires->n_ranks(); ++rank)
    ++ranks[static_cast<std::size_t>(known.wires->host_of(rank))];
  const auto n_hosts = std::count_if(ranks.begin(), ranks.end(), [](int n) { return n > 0; });
  const bool has_choice = known.is_measured && n_hosts > 1 && n_hosts < known.wires->n_ranks();
  return has_choice ? "auto" : "pairwise";
}

Agreed agree_on_plan(const comm::Communicator& comm, const Problem& problem, const Request& request) {
  const auto known = comm::wires_of_ranks(comm, request.machine_file);
  std::optional<Candidate> best;
  Agreed agreed;
  std::string scheme, fault;
  std::vector<int> places;
  if (comm.is_root()) {
    try {
      auto candidates = rank_schemes(problem, request.real_bytes, *known.wires, request.scheme);
      agreed.reason = fmt::format("  {} on {}; predicted: {}", request.scheme == "auto" ? "least time" : "asked for",
                                  known.source, text_of(candidates));
      agreed.exchange = resolved_exchange(request.exchange, known);
      agreed.wires = known.wires;
      best = std::move(candidates.front());
      scheme = best->plan.scheme;
      places = best->plan.problem.places;
    } catch (const InputError& error) {
      fault = error.what();
    }
  }
  comm::agree_on_input(comm, fault);
  comm::broadcast_resized(comm, scheme);
  comm::broadcast_resized(comm, places);
  comm::broadcast_resized(comm, agreed.reason);
  comm::broadcast_resized(comm, agreed.exchange);
  if (best) {
    agreed.plan = std::move(best->plan);
  } else {
    auto ordered = problem;
    ordered.places = std::move(places);
    agreed.plan = plan_transform(scheme, std::move(ordered));
  }
  return agreed;
}

}  // namespace tessera::fft
