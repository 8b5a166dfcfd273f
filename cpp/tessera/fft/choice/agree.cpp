#include "tessera/fft/choice/agree.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/base/error.h"
#include "tessera/fft/choice/choose.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/schemes.h"

namespace tessera::fft {

std::string resolved_exchange(const std::string& asked, const comm::RankWires& known) {
  check_exchange(asked);
  if (asked != "auto") return asked;
  const int n_hosts = known.wires->n_hosts();
  const bool has_choice = known.is_measured && n_hosts > 1 && n_hosts < known.wires->n_ranks();
  return has_choice ? "auto" : "pairwise";
}

TransformPlan share_plan(const comm::Communicator& comm, const TransformProblem& problem, TransformPlan plan) {
  comm::broadcast_resized(comm, plan.scheme);
  comm::broadcast_resized(comm, plan.problem.places);
  if (comm.is_root()) return plan;
  auto ordered = problem;
  ordered.places = std::move(plan.problem.places);
  return plan_transform(plan.scheme, std::move(ordered));
}

Agreed agree_on_plan(const comm::Communicator& comm, const TransformProblem& problem, const TransformRequest& request) {
  const auto known = comm::wires_of_ranks(comm, request.machine_file);
  Agreed agreed;
  std::string fault;
  if (comm.is_root()) {
    try {
      auto candidates = rank_schemes(problem, request.real_bytes, *known.wires, request.scheme);
      agreed.reason = fmt::format("  {} on {}; predicted: {}", request.scheme == "auto" ? "least time" : "asked for",
                                  known.source, text_of(candidates));
      agreed.exchange = resolved_exchange(request.exchange, known);
      agreed.wires = known.wires;
      agreed.plan = std::move(candidates.front().plan);
    } catch (const InputError& error) {
      fault = error.what();
    }
  }
  comm::agree_on_input(comm, fault);
  comm::broadcast_resized(comm, agreed.reason);
  comm::broadcast_resized(comm, agreed.exchange);
  agreed.plan = share_plan(comm, problem, std::move(agreed.plan));
  return agreed;
}

}  // namespace tessera::fft
