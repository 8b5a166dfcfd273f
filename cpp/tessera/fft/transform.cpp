#include "tessera/fft/transform.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fft/lines.h"
#include "tessera/fft/reshape.h"

namespace tessera::fft {

namespace {

// One cache line of neighbouring lines a batch: rows are then copied whole, and FFTW works across lines with full
// vectors.
template <class Value>
constexpr int lanes_of = static_cast<int>(64 / sizeof(Value));

constexpr int first_tag = 7100;

}  // namespace

template <class Real>
struct Transform<Real>::Implementation {
  Implementation(const Plan& given, const comm::Communicator& comm, ThreadPool& pool)
      : plan(given), rank(static_cast<std::size_t>(comm.rank())), threads(pool) {
    TESSERA_CHECK(plan.ranks() == comm.size());
    int tag = first_tag;
    const auto make = [&](const Redistribution& move) {
      return Reshape(plan_exchange(plan.problem.grid, move.from, move.to, comm.rank()), move.from[rank], move.to[rank],
                     static_cast<std::size_t>(move.components) * sizeof(Real), tag++, comm, pool);
    };
    for (const auto& move : plan.forward()) down.push_back(make(move));
    for (const auto& move : plan.backward()) up.push_back(make(move));
    std::size_t most =
        static_cast<std::size_t>(std::max(plan.problem.input[rank].size(), plan.problem.output[rank].size()));
    for (const auto& stage : plan.stages)
      most = std::max(most, static_cast<std::size_t>(std::max(stage.boxes[rank].size(), stage.swept[rank].size())));
    for (auto& values : work) values.resize(most);
    for (int d = 0; d < 3; ++d) {
      const bool is_real = plan.problem.kind == Kind::real && d == plan.problem.order[0];
      const std::int64_t n = plan.problem.grid[static_cast<std::size_t>(d)];
      const int lanes = d == 2 ? 1 : is_real ? lanes_of<Real> : lanes_of<Complex>;
      lines_down.emplace_back(is_real ? LineKind::real_forward : LineKind::forward, n, lanes);
      lines_up.emplace_back(is_real ? LineKind::real_backward : LineKind::backward, n, lanes);
    }
    const std::int64_t longest = *std::max_element(plan.problem.grid.begin(), plan.problem.grid.end()) + 2;
    for (int i = 0; i < pool.size(); ++i) {
      scratch_in.emplace_back(longest * lanes_of<Real>);
      scratch_out.emplace_back(longest * lanes_of<Real>);
    }
  }

  /// All lines along d of a box whose extents are `before` (From) to one whose extents are `after` (To).
  template <class From, class To>
  void sweep(int d, const LinePlan<Real>& lines, const IndexBox& before, const From* source, const IndexBox& after,
             To* target) {
    if (before.is_empty()) return;
    const std::int64_t n_source = before.extent(d), n_target = after.extent(d);
    std::int64_t inner = 1;
    for (int e = d + 1; e < 3; ++e) inner *= before.extent(e);
    const std::int64_t lanes = lines.lanes(), batches = (inner + lanes - 1) / lanes;
    const std::int64_t tasks = before.size() / (n_source * inner) * batches;
    threads.parallel_for(tasks, [&, this](std::int64_t begin, std::int64_t end) {
      const auto thread =
          static_cast<std::size_t>(begin * threads.size() / tasks + (begin * threads.size() % tasks != 0));
      auto* in = reinterpret_cast<From*>(scratch_in[thread].data());
      auto* out = reinterpret_cast<To*>(scratch_out[thread].data());
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t outer = task / batches, first = task % batches * lanes, n = std::min(lanes, inner - first);
        const From* from = source + outer * n_source * inner + first;
        To* to = target + outer * n_target * inner + first;
        for (std::int64_t i = 0; i < n_source; ++i) {
          std::copy_n(from + i * inner, n, in + i * lanes);
          std::fill_n(in + i * lanes + n, lanes - n, From());
        }
        lines.execute(in, out);
        for (std::int64_t i = 0; i < n_target; ++i) std::copy_n(out + i * lanes, n, to + i * inner);
      }
    });
  }

  const Plan plan;
  std::size_t rank;
  ThreadPool& threads;
  std::vector<LinePlan<Real>> lines_down, lines_up;  // by direction
  std::vector<Reshape> down, up;
  std::array<std::vector<Complex>, 2> work;
  std::vector<AlignedBuffer<Complex>> scratch_in, scratch_out;  // by thread
};

template <class Real>
Transform<Real>::Transform(const Plan& plan, const comm::Communicator& comm, ThreadPool& threads)
    : implementation_(std::make_unique<Implementation>(plan, comm, threads)) {}
template <class Real>
Transform<Real>::~Transform() = default;
template <class Real>
Transform<Real>::Transform(Transform&&) noexcept = default;

template <class Real>
const Index3& Transform<Real>::grid() const {
  return implementation_->plan.problem.grid;
}
template <class Real>
const IndexBox& Transform<Real>::input_box() const {
  return implementation_->plan.problem.input[implementation_->rank];
}
template <class Real>
const IndexBox& Transform<Real>::output_box() const {
  return implementation_->plan.problem.output[implementation_->rank];
}
template <class Real>
const IndexBox& Transform<Real>::spectrum_box() const {
  return implementation_->plan.spectrum()[implementation_->rank];
}

template <class Real>
void Transform<Real>::forward(std::span<const Real> input, std::span<Complex> spectrum) {
  auto& t = *implementation_;
  TESSERA_CHECK(static_cast<std::int64_t>(input.size()) == input_box().size());
  TESSERA_CHECK(static_cast<std::int64_t>(spectrum.size()) == spectrum_box().size());
  const void* at = input.data();
  std::size_t next = 0;
  const auto free_work = [&] { return t.work[next++ % 2].data(); };
  bool is_real = t.plan.problem.kind == Kind::real;
  for (std::size_t i = 0; i < t.plan.stages.size(); ++i) {
    if (!t.down[i].is_identity()) {
      auto* to = free_work();
      t.down[i].execute(static_cast<const std::byte*>(at), reinterpret_cast<std::byte*>(to));
      at = to;
    }
    const auto& stage = t.plan.stages[i];
    IndexBox before = stage.boxes[t.rank];
    for (const int d : stage.sweeps) {
      IndexBox after = before;
      after.upper[static_cast<std::size_t>(d)] = stage.swept[t.rank].upper[static_cast<std::size_t>(d)];
      auto* to = free_work();
      const auto& lines = t.lines_down[static_cast<std::size_t>(d)];
      if (is_real)
        t.sweep(d, lines, before, static_cast<const Real*>(at), after, to);
      else
        t.sweep(d, lines, before, static_cast<const Complex*>(at), after, to);
      is_real = false;
      at = to;
      before = after;
    }
  }
  std::copy_n(static_cast<const Complex*>(at), spectrum.size(), spectrum.data());
}

template <class Real>
void Transform<Real>::backward(std::span<Complex> spectrum, std::span<Real> output) {
  auto& t = *implementation_;
  TESSERA_CHECK(static_cast<std::int64_t>(output.size()) == output_box().size());
  TESSERA_CHECK(static_cast<std::int64_t>(spectrum.size()) == spectrum_box().size());
  const void* at = spectrum.data();
  std::size_t next = 0;
  const auto free_work = [&] { return t.work[next++ % 2].data(); };
  for (std::size_t i = t.plan.stages.size(); i-- > 0;) {
    const auto& stage = t.plan.stages[i];
    IndexBox before = stage.swept[t.rank];
    for (std::size_t s = stage.sweeps.size(); s-- > 0;) {
      const int d = stage.sweeps[s];
      IndexBox after = before;
      after.upper[static_cast<std::size_t>(d)] = stage.boxes[t.rank].upper[static_cast<std::size_t>(d)];
      auto* to = free_work();
      const auto& lines = t.lines_up[static_cast<std::size_t>(d)];
      if (t.plan.problem.kind == Kind::real && d == t.plan.problem.order[0])
        t.sweep(d, lines, before, static_cast<const Complex*>(at), after, reinterpret_cast<Real*>(to));
      else
        t.sweep(d, lines, before, static_cast<const Complex*>(at), after, to);
      at = to;
      before = after;
    }
    auto& move = t.up[t.plan.stages.size() - 1 - i];
    if (move.is_identity()) continue;
    auto* to = i == 0 ? reinterpret_cast<std::byte*>(output.data()) : reinterpret_cast<std::byte*>(free_work());
    move.execute(static_cast<const std::byte*>(at), to);
    at = to;
  }
  if (at != output.data()) std::copy_n(static_cast<const Real*>(at), output.size(), output.data());
}

template class Transform<float>;
template class Transform<double>;

}  // namespace tessera::fft
