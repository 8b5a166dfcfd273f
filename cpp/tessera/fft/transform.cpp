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
  Implementation(const Plan& plan, const comm::Communicator& comm, ThreadPool& pool)
      : threads(pool),
        grid(plan.grid),
        input(plan.input[rank_of(plan, comm)]),
        x_lines(plan.x_lines[rank_of(plan, comm)]),
        x_spectrum(plan.x_spectrum(comm.rank())),
        y_lines(plan.y_lines[rank_of(plan, comm)]),
        z_lines(plan.z_lines[rank_of(plan, comm)]),
        output(plan.output[rank_of(plan, comm)]),
        x_forward(LineKind::real_forward, grid[0], lanes_of<Real>),
        x_backward(LineKind::real_backward, grid[0], lanes_of<Real>),
        y_forward(LineKind::forward, grid[1], lanes_of<Complex>),
        y_backward(LineKind::backward, grid[1], lanes_of<Complex>),
        z_forward(LineKind::forward, grid[2], 1),
        z_backward(LineKind::backward, grid[2], 1) {
    std::vector<IndexBox> spectra;
    for (int rank = 0; rank < plan.ranks(); ++rank) spectra.push_back(plan.x_spectrum(rank));
    const auto make = [&](const std::vector<IndexBox>& from, const std::vector<IndexBox>& to, std::size_t size,
                          int tag) {
      const auto me = static_cast<std::size_t>(comm.rank());
      return Reshape(plan_exchange(grid, from, to, comm.rank()), from[me], to[me], size, tag, comm, pool);
    };
    const std::size_t complex = sizeof(Complex);
    reshapes.reserve(6);
    reshapes.push_back(make(plan.input, plan.x_lines, sizeof(Real), first_tag));
    reshapes.push_back(make(spectra, plan.y_lines, complex, first_tag + 1));
    reshapes.push_back(make(plan.y_lines, plan.z_lines, complex, first_tag + 2));
    reshapes.push_back(make(plan.z_lines, plan.y_lines, complex, first_tag + 3));
    reshapes.push_back(make(plan.y_lines, spectra, complex, first_tag + 4));
    reshapes.push_back(make(plan.x_lines, plan.output, sizeof(Real), first_tag + 5));
    x_points.resize(static_cast<std::size_t>(x_lines.size()));
    x_waves.resize(reshapes[1].is_identity() ? 0 : static_cast<std::size_t>(x_spectrum.size()));
    y_waves.resize(reshapes[2].is_identity() ? 0 : static_cast<std::size_t>(y_lines.size()));
    const std::int64_t longest = std::max({grid[0] + 2, grid[1], grid[2]});
    for (int i = 0; i < pool.size(); ++i) {
      scratch_in.emplace_back(longest * lanes_of<Real>);
      scratch_out.emplace_back(longest * lanes_of<Real>);
    }
  }

  static std::size_t rank_of(const Plan& plan, const comm::Communicator& comm) {
    TESSERA_CHECK(plan.ranks() == comm.size());
    return static_cast<std::size_t>(comm.rank());
  }

  /// Runs function(task, in, out) for every task with the scratch of its thread.
  template <class Function>
  void for_tasks(std::int64_t n, Function&& function) {
    threads.run([&](int thread) {
      Complex* in = scratch_in[static_cast<std::size_t>(thread)].data();
      Complex* out = scratch_out[static_cast<std::size_t>(thread)].data();
      const std::int64_t end = n * (thread + 1) / threads.size();
      for (std::int64_t task = n * thread / threads.size(); task < end; ++task) function(task, in, out);
    });
  }

  /// All lines along x: (y, z) is one contiguous plane, so batches run on across rows.
  template <class From, class To>
  void sweep_x(const LinePlan<Real>& plan, const From* source, std::int64_t n_source, To* target,
               std::int64_t n_target) {
    constexpr int lanes = lanes_of<Real>;
    const std::int64_t plane = x_lines.extent(1) * x_lines.extent(2);
    for_tasks((plane + lanes - 1) / lanes, [&](std::int64_t task, Complex* scratch, Complex* result) {
      auto* in = reinterpret_cast<From*>(scratch);
      auto* out = reinterpret_cast<To*>(result);
      const std::int64_t first = task * lanes, n = std::min<std::int64_t>(lanes, plane - first);
      for (std::int64_t x = 0; x < n_source; ++x) load_lanes<lanes>(source + x * plane + first, n, in + x * lanes);
      plan.execute(in, out);
      for (std::int64_t x = 0; x < n_target; ++x) store_lanes<lanes>(out + x * lanes, n, target + x * plane + first);
    });
  }

  void sweep_y(const LinePlan<Real>& plan, Complex* values) {
    constexpr int lanes = lanes_of<Complex>;
    const std::int64_t n_y = y_lines.extent(1), n_z = y_lines.extent(2), batches = (n_z + lanes - 1) / lanes;
    for_tasks(y_lines.extent(0) * batches, [&](std::int64_t task, Complex* in, Complex* out) {
      const std::int64_t first = task % batches * lanes, n = std::min<std::int64_t>(lanes, n_z - first);
      Complex* layer = values + task / batches * n_y * n_z + first;
      for (std::int64_t y = 0; y < n_y; ++y) load_lanes<lanes>(layer + y * n_z, n, in + y * lanes);
      plan.execute(in, out);
      for (std::int64_t y = 0; y < n_y; ++y) store_lanes<lanes>(out + y * lanes, n, layer + y * n_z);
    });
  }

  void sweep_z(const LinePlan<Real>& plan, Complex* values) {
    const std::int64_t n_z = z_lines.extent(2);
    const std::size_t bytes = static_cast<std::size_t>(n_z) * sizeof(Complex);
    for_tasks(z_lines.extent(0) * z_lines.extent(1), [&](std::int64_t line, Complex* in, Complex* out) {
      std::memcpy(static_cast<void*>(in), values + line * n_z, bytes);
      plan.execute(in, out);
      std::memcpy(static_cast<void*>(values + line * n_z), out, bytes);
    });
  }

  /// Copies n ≤ lanes values and fills the rest of the lanes with zeros; whole rows have a size known to the compiler.
  template <int lanes, class Value>
  static void load_lanes(const Value* source, std::int64_t n, Value* target) {
    if (n == lanes) {
      std::memcpy(static_cast<void*>(target), source, lanes * sizeof(Value));
      return;
    }
    std::copy_n(source, n, target);
    std::fill_n(target + n, lanes - n, Value());
  }

  template <int lanes, class Value>
  static void store_lanes(const Value* source, std::int64_t n, Value* target) {
    if (n == lanes) {
      std::memcpy(static_cast<void*>(target), source, lanes * sizeof(Value));
      return;
    }
    std::copy_n(source, n, target);
  }

  static const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }
  static std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }

  ThreadPool& threads;
  Index3 grid;
  IndexBox input, x_lines, x_spectrum, y_lines, z_lines, output;
  LinePlan<Real> x_forward, x_backward, y_forward, y_backward, z_forward, z_backward;
  std::vector<Reshape> reshapes;  // forward: to x, y, z lines; backward: to y, x lines, to the output
  // Between the sweeps. A spectrum array is empty where its redistribution moves nothing: the sweeps then share one.
  std::vector<Real> x_points;
  std::vector<Complex> x_waves, y_waves;
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
  return implementation_->grid;
}
template <class Real>
const IndexBox& Transform<Real>::input_box() const {
  return implementation_->input;
}
template <class Real>
const IndexBox& Transform<Real>::output_box() const {
  return implementation_->output;
}
template <class Real>
const IndexBox& Transform<Real>::spectrum_box() const {
  return implementation_->z_lines;
}

template <class Real>
void Transform<Real>::forward(std::span<const Real> input, std::span<Complex> spectrum) {
  auto& t = *implementation_;
  TESSERA_CHECK(static_cast<std::int64_t>(input.size()) == t.input.size());
  TESSERA_CHECK(static_cast<std::int64_t>(spectrum.size()) == t.z_lines.size());
  const Real* points = input.data();
  if (!t.reshapes[0].is_identity()) {
    t.reshapes[0].execute(t.bytes(points), t.bytes(t.x_points.data()));
    points = t.x_points.data();
  }
  Complex* y_waves = t.reshapes[2].is_identity() ? spectrum.data() : t.y_waves.data();
  Complex* x_waves = t.reshapes[1].is_identity() ? y_waves : t.x_waves.data();
  t.sweep_x(t.x_forward, points, t.grid[0], x_waves, t.grid[0] / 2 + 1);
  if (x_waves != y_waves) t.reshapes[1].execute(t.bytes(x_waves), t.bytes(y_waves));
  t.sweep_y(t.y_forward, y_waves);
  if (y_waves != spectrum.data()) t.reshapes[2].execute(t.bytes(y_waves), t.bytes(spectrum.data()));
  t.sweep_z(t.z_forward, spectrum.data());
}

template <class Real>
void Transform<Real>::backward(std::span<Complex> spectrum, std::span<Real> output) {
  auto& t = *implementation_;
  TESSERA_CHECK(static_cast<std::int64_t>(output.size()) == t.output.size());
  TESSERA_CHECK(static_cast<std::int64_t>(spectrum.size()) == t.z_lines.size());
  t.sweep_z(t.z_backward, spectrum.data());
  Complex* y_waves = t.reshapes[3].is_identity() ? spectrum.data() : t.y_waves.data();
  Complex* x_waves = t.reshapes[4].is_identity() ? y_waves : t.x_waves.data();
  if (y_waves != spectrum.data()) t.reshapes[3].execute(t.bytes(spectrum.data()), t.bytes(y_waves));
  t.sweep_y(t.y_backward, y_waves);
  if (x_waves != y_waves) t.reshapes[4].execute(t.bytes(y_waves), t.bytes(x_waves));
  Real* points = t.reshapes[5].is_identity() ? output.data() : t.x_points.data();
  t.sweep_x(t.x_backward, x_waves, t.grid[0] / 2 + 1, points, t.grid[0]);
  if (points != output.data()) t.reshapes[5].execute(t.bytes(points), t.bytes(output.data()));
}

template class Transform<float>;
template class Transform<double>;

}  // namespace tessera::fft
