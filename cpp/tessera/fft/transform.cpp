#include "tessera/fft/transform.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/shared_memory.h"
#include "tessera/fft/blocks.h"
#include "tessera/fft/copies.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/lines/radix.h"
#include "tessera/fft/reshape.h"
#include "tessera/machine/machine.h"

namespace tessera::fft {

namespace {

constexpr int first_tag = 7100;

// The layers of a pass may fill this share of a core's own cache, beside the data that streams through it.
constexpr std::int64_t cached_bytes = 256 * 1024;

// If a rank has no more of the mesh than this, the values sent forward and backward have places of their own.
constexpr std::int64_t apart_bytes = std::int64_t{8} << 20;

/// Returns the total size of the largest caches of this host in bytes; if that is unknown, the largest number.
std::int64_t largest_caches() {
  static const std::int64_t bytes = [] {
    const auto host = machine::describe_this_host();
    const bool is_known = !host.caches.empty() && host.caches.back().bytes && host.caches.back().count;
    return is_known ? *host.caches.back().bytes * *host.caches.back().count : std::numeric_limits<std::int64_t>::max();
  }();
  return bytes;
}

IndexBox cut(const IndexBox& box, std::int64_t begin, std::int64_t end) {
  return {{begin, box.lower[1], box.lower[2]}, {end, box.upper[1], box.upper[2]}};
}

}  // namespace

/// Transforms all lines of a box along one direction.
template <class Real>
struct Sweep {
  const LinePlan<Real>* lines;
  bool is_real_in, is_real_out;
  Real scale;  // factor of its results
  Side sources, targets;
  bool streams = false;                       // whether some results are written past the caches
  bool from_plane = false, to_plane = false;  // whether rows of that side are counted within the layers in cache
};

/// Describes one pass over memory between two reshapes. It transforms lines along one direction, or along two for some
/// layers of x at a time, so that the second finds the first's results in cache. A pass without lines only copies.
template <class Real>
struct Pass {
  std::vector<int> directions;
  IndexBox before, after;
  std::vector<Sweep<Real>> sweeps;
  std::int64_t layers = 1;  // processed at once
  std::optional<Copies> copies;
};

/// Describes a forward or backward transform: reshape, passes, reshape, …, passes, reshape.
template <class Real>
struct Pipeline {
  std::vector<Reshape> reshapes;
  std::vector<std::vector<Pass<Real>>> passes;  // [i] between reshapes i and i + 1
  bool is_forward = true;
  bool meets = false;  // whether its reshapes make the ranks of a host wait for each other
};

/// Holds the buffers that a thread needs to transform a bundle of lines.
template <class Real>
struct Workspace {
  AlignedBuffer<Real> values, scratch;
  std::vector<const Real*> in;  // address of each point
  std::vector<Real*> out;
  std::unique_ptr<bool[]> streams;  // which of these are written past the caches
};

/// Returns whether what is sent forward and what is sent backward have places of their own.
bool are_sent_apart(const TransformPlan& plan, const TransformOptions& options, std::size_t complex_size) {
  const Index3& n = plan.problem.grid;
  return n[0] * n[1] * n[2] * options.fields * static_cast<std::int64_t>(complex_size) <= apart_bytes * plan.ranks();
}

/// Makes the reshapes before, between and after the stages, of forward or of backward.
template <class Real>
std::vector<Reshape> make_reshapes(const TransformPlan& plan, std::size_t rank, bool is_forward, MemoryPlan& memory) {
  std::vector<Reshape> reshapes;
  const auto add = [&](const Redistribution& move) {
    reshapes.emplace_back(plan.problem.grid, move, static_cast<int>(rank),
                          move.components * static_cast<std::int64_t>(sizeof(Real)), reshapes.empty(),
                          reshapes.size() == plan.stages.size(), memory);
  };
  if (!is_forward) add({plan.spectrum(), plan.spectrum(), 2});
  for (const auto& move : is_forward ? plan.forward() : plan.backward()) add(move);
  if (is_forward) add({plan.spectrum(), plan.spectrum(), 2});
  return reshapes;
}

/// Cuts one stage, of which only directions and boxes are known yet, into passes; none where no direction is
/// transformed.
template <class Real>
std::vector<Pass<Real>> split_into_passes(const Stage& stage, std::size_t rank, bool is_forward) {
  std::vector<Pass<Real>> passes;
  IndexBox box = is_forward ? stage.boxes[rank] : stage.swept[rank];
  const IndexBox last = is_forward ? stage.swept[rank] : stage.boxes[rank];
  auto directions = stage.sweeps;
  if (!is_forward) std::reverse(directions.begin(), directions.end());
  for (std::size_t i = 0; i < directions.size();) {
    const bool is_pair = directions[i] != 0 && i + 1 < directions.size() && directions[i + 1] != 0;
    auto& pass = passes.emplace_back();
    pass.before = box;
    for (const std::size_t end = i + (is_pair ? 2 : 1); i < end; ++i) {
      pass.directions.push_back(directions[i]);
      box.upper[static_cast<std::size_t>(directions[i])] = last.upper[static_cast<std::size_t>(directions[i])];
    }
    pass.after = box;
  }
  return passes;
}

/// Returns where values, complex ones, stand after a pass that is not the last of its stage: in the caller's arrays if
/// they fit there. `at`: which stage of forward or of backward.
template <class Real>
Block place_between_passes(const TransformPlan& plan, const TransformOptions& options, std::size_t rank,
                           bool is_forward, std::size_t at, const Pass<Real>& pass, MemoryPlan& memory) {
  const IndexBox& spectrum = plan.spectrum()[rank];
  if (pass.after == spectrum) {
    if (is_forward && at + 1 == plan.stages.size()) return whole_array(spectrum, user_output);
    if (!is_forward && at == 0 && options.spoils_spectrum) return whole_array(spectrum, user_input);
  }
  return memory.take(pass.after, local, memory.local, static_cast<std::int64_t>(sizeof(std::complex<Real>)));
}

/// Returns the bytes of a transform's buffers once the memory of both directions is planned.
std::int64_t bytes_of(const MemoryPlan& forward, const MemoryPlan& backward) {
  return std::max(forward.local, backward.local) + std::max(forward.incoming, backward.incoming) +
         std::max(forward.outgoing, backward.outgoing);
}

template <class Real>
std::int64_t planned_bytes(const TransformPlan& plan, int rank_number, const std::function<bool(int)>& reads_from,
                           const TransformOptions& options) {
  const auto rank = static_cast<std::size_t>(rank_number);
  const auto shares_with = [&](int peer) {
    return options.shares_memory && options.exchange != "alltoall" && reads_from(peer);
  };
  MemoryPlan memory[2] = {{options.fields}, {options.fields}};
  for (const bool is_forward : {true, false}) {
    auto& mine = memory[is_forward ? 0 : 1];
    if (!is_forward && are_sent_apart(plan, options, sizeof(std::complex<Real>))) mine.outgoing = memory[0].outgoing;
    for (const auto& reshape : make_reshapes<Real>(plan, rank, is_forward, mine))
      reshape.count_incoming(shares_with, mine);
    const std::size_t n = plan.stages.size();
    for (std::size_t i = 0; i < n; ++i) {
      const auto passes = split_into_passes<Real>(plan.stages[is_forward ? i : n - 1 - i], rank, is_forward);
      for (std::size_t p = 0; p + 1 < passes.size(); ++p)
        place_between_passes(plan, options, rank, is_forward, i, passes[p], mine);
    }
  }
  return bytes_of(memory[0], memory[1]);
}

template <class Real>
struct Transform<Real>::Implementation {
  Implementation(const TransformPlan& given, const comm::Communicator& communicator, ThreadPool& pool,
                 const TransformOptions& chosen)
      : plan(given),
        options(chosen),
        rank(static_cast<std::size_t>(communicator.rank())),
        comm(communicator),
        threads(pool) {
    TESSERA_CHECK(plan.ranks() == comm.size() && options.fields >= 1);
    const int halved = plan.problem.order[0];
    for (int d = 0; d < 3; ++d) {
      const bool is_real = plan.problem.kind == TransformKind::real && d == halved;
      const std::int64_t n = plan.problem.grid[static_cast<std::size_t>(d)];
      forward_lines.push_back(plan_lines<Real>(is_real ? LineKind::real_forward : LineKind::forward, n));
      backward_lines.push_back(plan_lines<Real>(is_real ? LineKind::real_backward : LineKind::backward, n));
    }
    MemoryPlan forward_memory{options.fields}, backward_memory{options.fields};
    forward.reshapes = make_reshapes<Real>(plan, rank, true, forward_memory);
    are_apart = are_sent_apart(plan, options, sizeof(Complex));
    if (are_apart) backward_memory.outgoing = forward_memory.outgoing;
    backward.is_forward = false;
    backward.reshapes = make_reshapes<Real>(plan, rank, false, backward_memory);
    shared.emplace(comm, static_cast<std::size_t>(std::max(forward_memory.outgoing, backward_memory.outgoing)),
                   !options.shares_memory);
    const bool is_large = is_beyond_caches(
        std::max(forward_memory.outgoing + forward_memory.local, backward_memory.outgoing + backward_memory.local));
    exchanges.emplace(Exchanges{comm, *shared, options.exchange, options.wires, is_large, {}});
    finish(forward, forward_memory, first_tag);
    finish(backward, backward_memory, first_tag + static_cast<int>(forward.reshapes.size()));

    const auto own = [](std::int64_t size) { return AlignedBuffer<std::byte>(size); };
    local_values = own(std::max(forward_memory.local, backward_memory.local));
    incoming_values = own(std::max(forward_memory.incoming, backward_memory.incoming));
    bytes = static_cast<std::size_t>(bytes_of(forward_memory, backward_memory));
    std::vector<std::byte*> all(static_cast<std::size_t>(first_peer) + static_cast<std::size_t>(comm.size()));
    all[local] = local_values.data();
    all[outgoing] = shared->mine();
    all[incoming] = incoming_values.data();
    for (int peer = 0; peer < comm.size(); ++peer)  // these blocks are only read
      all[static_cast<std::size_t>(first_peer) + static_cast<std::size_t>(peer)] =
          const_cast<std::byte*>(shared->of(peer));
    memories.assign(static_cast<std::size_t>(threads.size()), all);

    const std::int64_t longest = *std::max_element(plan.problem.grid.begin(), plan.problem.grid.end());
    std::int64_t scratch_size = 0;
    for (const auto& lines : forward_lines) scratch_size = std::max(scratch_size, lines.scratch_size());
    for (int i = 0; i < threads.size(); ++i) {
      auto& workspace = workspaces.emplace_back();
      workspace.values = AlignedBuffer<Real>(2 * longest * lanes<Real>);
      workspace.scratch = AlignedBuffer<Real>(scratch_size);
      workspace.in.resize(static_cast<std::size_t>(longest + 2));
      workspace.out.resize(static_cast<std::size_t>(longest + 2));
      workspace.streams = std::make_unique<bool[]>(static_cast<std::size_t>(longest + 2));
      planes.emplace_back(plane_bytes);
      memories[static_cast<std::size_t>(i)][plane] = planes.back().data();
    }
  }

  /// Tells whether points, spectrum and intermediate values of all ranks of this host exceed its caches. The next pass
  /// then has to read from memory anyway, so it is better to write past the caches.
  bool is_beyond_caches(std::int64_t between) const {
    std::int64_t here = 0;
    for (int peer = 0; peer < comm.size(); ++peer) here += shared->of(peer) != nullptr;
    const auto size = static_cast<std::int64_t>(sizeof(Real));
    const std::int64_t arrays = (plan.problem.input[rank].size() * (plan.problem.kind == TransformKind::real ? 1 : 2) +
                                 plan.spectrum()[rank].size() * 2) *
                                options.fields * size;
    return here * (arrays + between) > largest_caches();
  }

  bool is_real(int direction) const {
    return plan.problem.kind == TransformKind::real && direction == plan.problem.order[0];
  }

  /// Completes a pipeline once the reshapes know where all values come from.
  void finish(Pipeline<Real>& pipeline, MemoryPlan& memory, int tag) {
    for (auto& reshape : pipeline.reshapes) {
      reshape.connect(*exchanges, tag++, memory);
      pipeline.meets = pipeline.meets || reshape.meets();
    }
    const std::size_t n = plan.stages.size();
    for (std::size_t i = 0; i < n; ++i)
      pipeline.passes.push_back(passes_of(pipeline, plan.stages[pipeline.is_forward ? i : n - 1 - i], i, memory));
  }

  std::vector<Pass<Real>> passes_of(const Pipeline<Real>& pipeline, const Stage& stage, std::size_t at,
                                    MemoryPlan& memory) {
    auto passes = split_into_passes<Real>(stage, rank, pipeline.is_forward);
    std::vector<Block> sources = pipeline.reshapes[at].sources();
    const auto& targets = pipeline.reshapes[at + 1].targets();
    if (passes.empty()) {
      auto& pass = passes.emplace_back();
      pass.copies.emplace(static_cast<std::int64_t>(sizeof(Complex)));
      for (const auto& from : sources)
        for (const auto& to : targets) pass.copies->add(intersection(from.box, to.box), from, to);
    }
    for (std::size_t i = 0; i < passes.size() && !passes[i].copies; ++i) {
      auto& pass = passes[i];
      const bool is_last = i + 1 == passes.size();
      std::vector<Block> next = targets;
      if (!is_last) next = {place_between_passes(plan, options, rank, pipeline.is_forward, at, pass, memory)};
      if (exchanges->is_large)
        for (auto& block : next) block.streams = true;
      add_sweeps(pipeline, pass, sources, next);
      sources = std::move(next);
    }
    return passes;
  }

  void add_sweeps(const Pipeline<Real>& pipeline, Pass<Real>& pass, const std::vector<Block>& sources,
                  const std::vector<Block>& targets) {
    const auto sweep_of = [&](int d, const IndexBox& before, const std::vector<Block>& from, const IndexBox& after,
                              const std::vector<Block>& to) {
      const auto& lines = (pipeline.is_forward ? forward_lines : backward_lines)[static_cast<std::size_t>(d)];
      const bool is_last = !pipeline.is_forward && d == plan.problem.order[0];
      pass.sweeps.push_back({&lines, pipeline.is_forward && is_real(d), !pipeline.is_forward && is_real(d),
                             static_cast<Real>(is_last ? options.backward_scale : 1), Side(d, before, from),
                             Side(d, after, to)});
      pass.sweeps.back().streams = pass.sweeps.back().targets.streams();
    };
    if (pass.directions.size() == 1) {
      sweep_of(pass.directions[0], pass.before, sources, pass.after, targets);
      return;
    }
    IndexBox middle = pass.before;
    const auto d = static_cast<std::size_t>(pass.directions[0]);
    middle.upper[d] = pass.after.upper[d];
    const auto layers_of = [&](std::int64_t n) {
      return padded_block(cut(middle, middle.lower[0], middle.lower[0] + n), plane, 0, sizeof(Complex));
    };
    const std::int64_t layer_bytes = layers_of(1).stride_x * static_cast<std::int64_t>(sizeof(Complex));
    // Several layers together fill bundles that a single one leaves incomplete.
    if (middle.extent(1) % lanes<Real> != 0 || middle.extent(2) % lanes<Real> != 0)
      pass.layers = std::clamp<std::int64_t>(cached_bytes / layer_bytes, 1, lanes<Real>);
    Block block = layers_of(pass.layers);
    block.batch_stride = 0;  // all fields use the same place
    plane_bytes = std::max(plane_bytes, pass.layers * layer_bytes);
    const auto in_cache = [&](IndexBox box) { return cut(box, box.lower[0], box.lower[0] + pass.layers); };
    sweep_of(pass.directions[0], pass.before, sources, in_cache(middle), {block});
    sweep_of(pass.directions[1], in_cache(middle), {block}, pass.after, targets);
    pass.sweeps[0].to_plane = pass.sweeps[1].from_plane = true;
  }

  /// Transforms bundles begin … end of a sweep of rows from `row` on. Lines are read and written in place if those of a
  /// bundle are side by side there, else through `values`.
  template <class From, class To>
  void run_lines(const Sweep<Real>& sweep, std::byte* const* where, std::size_t thread, std::int64_t field,
                 std::int64_t row, const Bundles<lanes<Real>>& bundles, std::int64_t begin, std::int64_t end) {
    auto& workspace = workspaces[thread];
    auto* in = reinterpret_cast<From*>(workspace.values.data());
    auto* out = reinterpret_cast<To*>(workspace.values.data());
    const auto list = [](auto* values, std::int64_t points, auto& places) {
      for (std::int64_t i = 0; i < points; ++i)
        places[static_cast<std::size_t>(i)] = reinterpret_cast<Real*>(values + i * lanes<Real>);
    };
    for (std::int64_t i = begin; i < end; ++i) {
      const Bundle bundle = bundles[i];
      const Bundle source = bundle.moved_by(sweep.from_plane ? 0 : row),
                   target = bundle.moved_by(sweep.to_plane ? 0 : row);
      const bool is_full = bundle.n == lanes<Real>;
      // Unused lanes of a short bundle hold old values, and their results are not used.
      if (!is_full || !sweep.sources.template find_places<From>(where, field, source, workspace.in.data())) {
        sweep.sources.template gather<lanes<Real>>(where, field, source, in);
        list(in, sweep.sources.n_points(), workspace.in);
      }
      const bool is_direct = is_full && sweep.targets.template find_places<To>(
                                            where, field, target, workspace.out.data(), workspace.streams.get());
      if (!is_direct) list(out, sweep.targets.n_points(), workspace.out);
      const bool streams = sweep.streams && is_direct && are_on_lines(workspace.out, sweep.targets.n_points());
      transform_lines<Real>(*sweep.lines, workspace.in.data(), workspace.out.data(), sweep.scale,
                            streams ? workspace.streams.get() : nullptr, workspace.scratch.data());
      if (!is_direct) sweep.targets.template scatter<lanes<Real>>(where, field, target, out);
    }
  }

  static bool are_on_lines(const std::vector<Real*>& places, std::int64_t points) {
    std::uintptr_t bits = 0;
    for (std::int64_t i = 0; i < points; ++i)
      bits |= reinterpret_cast<std::uintptr_t>(places[static_cast<std::size_t>(i)]);
    return bits % 64 == 0;
  }

  void run_sweep(const Sweep<Real>& sweep, std::byte* const* where, std::size_t thread, std::int64_t field,
                 std::int64_t row, const Bundles<lanes<Real>>& bundles, std::int64_t begin, std::int64_t end) {
    const auto run = [&]<class From, class To>(From, To) {
      run_lines<From, To>(sweep, where, thread, field, row, bundles, begin, end);
    };
    if (sweep.is_real_in)
      run(Real(), Complex());
    else if (sweep.is_real_out)
      run(Complex(), Real());
    else
      run(Complex(), Complex());
  }

  void run_pass(const Pass<Real>& pass) {
    if (pass.copies) return pass.copies->run(memories[0].data(), options.fields, threads);
    if (pass.before.is_empty()) return;
    const bool is_pair = pass.sweeps.size() == 2;
    const Side& lines = pass.sweeps[0].sources;
    const Bundles<lanes<Real>> bundles(lines.rows(), lines.columns());
    const std::int64_t tasks = is_pair ? pass.before.extent(0) : bundles.count();  // layers, or bundles
    threads.run([&](int thread) {
      const auto t = static_cast<std::size_t>(thread);
      const auto* where = memories[t].data();
      const std::int64_t begin = tasks * thread / threads.size(), end = tasks * (thread + 1) / threads.size();
      for (int field = 0; field < options.fields; ++field) {
        if (!is_pair) {
          run_sweep(pass.sweeps[0], where, t, field, 0, bundles, begin, end);
          continue;
        }
        for (std::int64_t layer = begin; layer < end; layer += pass.layers)
          for (const auto& sweep : pass.sweeps) {
            const Bundles<lanes<Real>> in_layers(std::min(pass.layers, end - layer), sweep.sources.columns());
            run_sweep(sweep, where, t, field, layer, in_layers, 0, in_layers.count());
          }
      }
      if (pass.sweeps.back().streams) hwy::FlushStream();
    });
  }

  void run(Pipeline<Real>& pipeline, const void* input, void* output) {
    for (auto& list : memories) {
      list[user_input] = static_cast<std::byte*>(const_cast<void*>(input));  // only written to if spoils_spectrum
      list[user_output] = static_cast<std::byte*>(output);
    }
    // A slow rank may still read what the last transform has left for it. If this one uses another place, it need not
    // wait: all ranks have reached the last transform, so they have read what the one before left here.
    const bool is_free = last_pipeline == nullptr || (are_apart && last_pipeline != &pipeline && last_pipeline->meets);
    if (pipeline.meets && !is_free) shared->synchronise();
    last_pipeline = &pipeline;
    for (std::size_t i = 0; i < pipeline.reshapes.size(); ++i) {
      pipeline.reshapes[i].execute(memories[0].data(), *exchanges, threads);
      if (i < pipeline.passes.size())
        for (const auto& pass : pipeline.passes[i]) run_pass(pass);
    }
  }

  template <class Points>
  void check(std::size_t points, const IndexBox& box, std::size_t spectrum) const {
    const auto size = [&](const IndexBox& b) { return static_cast<std::size_t>(b.size() * options.fields); };
    constexpr bool is_real_given = std::is_same_v<Points, Real>;
    TESSERA_CHECK((plan.problem.kind == TransformKind::real) == is_real_given);
    TESSERA_CHECK(points == size(box) && spectrum == size(plan.spectrum()[rank]));
  }

  const TransformPlan plan;
  const TransformOptions options;
  std::size_t rank;
  const comm::Communicator& comm;
  ThreadPool& threads;
  std::vector<LinePlan<Real>> forward_lines, backward_lines;  // by direction
  Pipeline<Real> forward, backward;
  bool are_apart = false;                         // whether forward and backward send from different places
  const Pipeline<Real>* last_pipeline = nullptr;  // that ran last
  std::optional<comm::SharedMemory> shared;
  std::optional<Exchanges> exchanges;
  AlignedBuffer<std::byte> local_values, incoming_values;
  std::size_t bytes = 0;
  std::int64_t plane_bytes = 0;
  std::vector<Workspace<Real>> workspaces;        // by thread
  std::vector<AlignedBuffer<std::byte>> planes;   // by thread
  std::vector<std::vector<std::byte*>> memories;  // by thread
};

template <class Real>
Transform<Real>::Transform(const TransformPlan& plan, const comm::Communicator& comm, ThreadPool& threads,
                           const TransformOptions& options)
    : implementation_(std::make_unique<Implementation>(plan, comm, threads, options)) {}
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
std::vector<std::string> Transform<Real>::exchanges() const {
  std::vector<std::string> names;
  for (const auto* pipeline : {&implementation_->forward, &implementation_->backward})
    for (const auto& reshape : pipeline->reshapes)
      if (reshape.is_moving()) names.push_back(reshape.name());
  return names;
}
template <class Real>
std::size_t Transform<Real>::bytes() const {
  return implementation_->bytes;
}

template <class Real>
void Transform<Real>::forward(std::span<const Real> input, std::span<Complex> spectrum) {
  implementation_->template check<Real>(input.size(), input_box(), spectrum.size());
  implementation_->run(implementation_->forward, input.data(), spectrum.data());
}
template <class Real>
void Transform<Real>::forward(std::span<const Complex> input, std::span<Complex> spectrum) {
  implementation_->template check<Complex>(input.size(), input_box(), spectrum.size());
  implementation_->run(implementation_->forward, input.data(), spectrum.data());
}
template <class Real>
void Transform<Real>::backward(std::span<Complex> spectrum, std::span<Real> output) {
  implementation_->template check<Real>(output.size(), output_box(), spectrum.size());
  implementation_->run(implementation_->backward, spectrum.data(), output.data());
}
template <class Real>
void Transform<Real>::backward(std::span<Complex> spectrum, std::span<Complex> output) {
  implementation_->template check<Complex>(output.size(), output_box(), spectrum.size());
  implementation_->run(implementation_->backward, spectrum.data(), output.data());
}

template std::int64_t planned_bytes<float>(const TransformPlan&, int, const std::function<bool(int)>&,
                                           const TransformOptions&);
template std::int64_t planned_bytes<double>(const TransformPlan&, int, const std::function<bool(int)>&,
                                            const TransformOptions&);
template class Transform<float>;
template class Transform<double>;

}  // namespace tessera::fft
