#include "tessera/fft/agree.h"

#include <fmt/format.h>

#include <optional>

#include "tessera/base/error.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/fft/choose.h"
#include "tessera/fft/schemes.h"

namespace tessera::fft {

Agreed agree_on_plan(const comm::Communicator& comm, const Problem& problem, const Request& request) {
  const auto [wires, source] = comm::wires_of_ranks(comm, request.machine_file);
  std::optional<Candidate> best;
  Agreed agreed;
  std::string scheme, fault;
  std::vector<int> places;
  if (comm.is_root()) {
    try {
      auto candidates = rank_schemes(problem, request.real_bytes, *wires, request.scheme);
      agreed.reason = fmt::format("  {} on {}; predicted: {}", request.scheme == "auto" ? "least time" : "asked for",
                                  source, text_of(candidates));
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
