#include "tessera/fft/choice/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/fft/choice/choose.h"
#include "tessera/fft/choice/wisdom.h"
#include "tessera/fft/exchange.h"

namespace tessera::fft {

namespace {

constexpr double hopeless = 5;  // times the best predicted time; not tried
constexpr int most_turns = 7;
constexpr double seconds_for_each = 0.5;

/// Returns the key of an answer in the file: everything that times depend on, except which hosts of a cluster the job
/// got.
std::string question_of(const TransformProblem& problem, const machine::Wires& wires, const TransformRequest& request,
                        const TransformOptions& options, int threads) {
  std::string hosts;
  for (int rank = 0, n = 0; rank < wires.n_ranks(); ++rank) {
    ++n;
    if (rank + 1 < wires.n_ranks() && wires.host_of(rank) == wires.host_of(rank + 1)) continue;
    hosts += fmt::format("{}{}", hosts.empty() ? "" : "+", n);
    n = 0;
  }
  std::uint64_t boxes = 14695981039346656037u;  // FNV-1a hash of the caller's boxes
  const auto add = [&](std::int64_t value) { boxes = (boxes ^ static_cast<std::uint64_t>(value)) * 1099511628211u; };
  for (const auto* list : {&problem.input, &problem.output})
    for (const auto& box : *list)
      for (std::size_t d = 0; d < 3; ++d) add(box.lower[d]), add(box.upper[d]);
  return fmt::format(
      "{}, {} ranks on hosts as {}, {} threads, {}×{}×{} {} order {}{}{}, {} bytes, batch {}, {}, exchange {}{}",
      comm::Communicator::library_version(), wires.n_ranks(), hosts, threads, problem.grid[0], problem.grid[1],
      problem.grid[2], problem.kind == TransformKind::real ? "real" : "complex", problem.order[0], problem.order[1],
      problem.order[2], request.real_bytes, options.fields, options.shares_memory ? "shared" : "messages",
      request.exchange, problem.input.empty() ? "" : fmt::format(", boxes {:016x}", boxes));
}

/// Measures a forward and a backward transform in s: the median of several runs, each as slow as its slowest rank. The
/// result is the same on all ranks.
template <class Real>
double measure(const TransformPlan& plan, const comm::Communicator& comm, ThreadPool& threads,
               const TransformOptions& options) {
  using Complex = std::complex<Real>;
  Transform<Real> transform(plan, comm, threads, options);
  const auto size = [&](const IndexBox& box) { return static_cast<std::size_t>(box.size() * options.fields); };
  std::vector<Complex> spectrum(size(transform.spectrum_box()));
  const auto time = [&](auto value) {
    std::vector<decltype(value)> input(size(transform.input_box())), output(size(transform.output_box()));
    const auto once = [&] {
      comm.barrier();
      const auto start = std::chrono::steady_clock::now();
      transform.forward(std::span<const decltype(value)>(input), spectrum);
      transform.backward(std::span<Complex>(spectrum), std::span<decltype(value)>(output));
      double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      comm.all_reduce_max(std::span(&seconds, 1));
      return seconds;
    };
    std::vector<double> times;
    const double first = once();  // touches the memory
    const int turns = std::clamp(static_cast<int>(seconds_for_each / first), 3, most_turns);
    for (int turn = 0; turn < turns; ++turn) times.push_back(once());
    std::nth_element(times.begin(), times.begin() + turns / 2, times.end());
    return times[static_cast<std::size_t>(turns / 2)];
  };
  return plan.problem.kind == TransformKind::real ? time(Real()) : time(Complex());
}

}  // namespace

template <class Real>
Agreed agree_or_try(const comm::Communicator& comm, ThreadPool& threads, const TransformProblem& problem,
                    const TransformRequest& request, const TransformOptions& options, const std::string& wisdom_file) {
  if (request.scheme != "trial") return agree_on_plan(comm, problem, request);
  if (comm.size() == 1) {
    auto alone = request;
    alone.scheme = "auto";
    return agree_on_plan(comm, problem, alone);
  }
  const auto known = comm::wires_of_ranks(comm, request.machine_file);
  std::vector<RankedPlan> candidates;
  std::string question, fault;
  Agreed agreed;
  if (comm.is_root()) {
    try {
      candidates = rank_schemes(problem, request.real_bytes, *known.wires);
      std::erase_if(candidates, [limit = hopeless * candidates.front().predicted.seconds()](const RankedPlan& one) {
        return one.predicted.seconds() > limit;
      });
      agreed.exchange = resolved_exchange(request.exchange, known);
      agreed.wires = known.wires;
      question = question_of(problem, *known.wires, request, options, threads.size());
      if (const auto answer = recall(wisdom_file, question))
        for (auto& candidate : candidates)
          if (candidate.plan.scheme == answer->scheme && candidate.order == answer->order) {
            agreed.reason = fmt::format("  by an earlier trial ({}): {:.3g} ms; ranks stand {}", wisdom_file,
                                        1e3 * answer->seconds, answer->order);
            agreed.exchange = answer->exchange;
            check_exchange(agreed.exchange);
            std::swap(candidate, candidates.front());
            candidates.resize(1);
            break;
          }
    } catch (const InputError& error) {
      fault = error.what();
    }
  }
  comm::agree_on_input(comm, fault);
  comm::broadcast_resized(comm, agreed.reason);
  comm::broadcast_resized(comm, agreed.exchange);
  auto n = static_cast<std::int64_t>(candidates.size());
  comm.broadcast(std::as_writable_bytes(std::span(&n, 1)), 0);
  candidates.resize(static_cast<std::size_t>(n));
  for (auto& candidate : candidates) {
    candidate.plan = share_plan(comm, problem, std::move(candidate.plan));
    comm::broadcast_resized(comm, candidate.order);
  }
  if (!agreed.reason.empty()) {
    agreed.plan = std::move(candidates.front().plan);
    return agreed;
  }

  double least = 0;
  std::string text;
  std::size_t best = 0;
  /// Times one candidate with one exchange; the result is the same on all ranks.
  const auto try_out = [&](std::size_t i, const std::string& exchange) {
    auto tried = options;
    tried.exchange = exchange;
    tried.wires = agreed.wires;
    const double seconds = measure<Real>(candidates[i].plan, comm, threads, tried);
    const bool is_first = text.empty();
    text += fmt::format("{}{} {} {:.3g} ms", is_first ? "" : ", ", candidates[i].plan.scheme, exchange, 1e3 * seconds);
    if (!is_first && seconds >= least) return;
    least = seconds;
    best = i;
    agreed.exchange = exchange;
  };
  const auto exchange = agreed.exchange;
  for (std::size_t i = 0; i < candidates.size(); ++i) try_out(i, exchange);
  if (request.exchange == "auto")
    for (const auto& other : exchanges())
      if (other != exchange) try_out(best, other);
  auto& chosen = candidates[best];
  agreed.reason = fmt::format("  least time when tried: {}; ranks stand {}", text, chosen.order);
  if (comm.is_root())
    if (const auto complaint = keep(wisdom_file, question, {chosen.plan.scheme, chosen.order, agreed.exchange, least});
        !complaint.empty())
      agreed.reason += fmt::format("; not kept: {}", complaint);
  comm::broadcast_resized(comm, agreed.reason);
  agreed.plan = std::move(chosen.plan);
  return agreed;
}

template Agreed agree_or_try<float>(const comm::Communicator&, ThreadPool&, const TransformProblem&,
                                    const TransformRequest&, const TransformOptions&, const std::string&);
template Agreed agree_or_try<double>(const comm::Communicator&, ThreadPool&, const TransformProblem&,
                                     const TransformRequest&, const TransformOptions&, const std::string&);

}  // namespace tessera::fft
