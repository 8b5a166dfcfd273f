// The Python module tessera._gpaw_<mpi>: what tessera.gpaw puts in the place of GPAW's operators, transformers and
// Poisson solvers, linked once for each MPI. Arrays have been checked.
#include "module.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/wires_of_ranks.h"
#include "tessera/grid/choice/agree.h"
#include "tessera/grid/levels/relaxation.h"
#include "tessera/grid/levels/transfer.h"
#include "tessera/grid/operator.h"
#include "tessera/grid/poisson/poisson.h"
#include "tessera/grid/stencil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;
using Terms = std::pair<std::vector<Index3>, std::vector<double>>;
using grid::Phases;
template <class Value>
using In = nb::ndarray<const Value, nb::c_contig, nb::device::cpu>;
template <class Value>
using Out = nb::ndarray<Value, nb::c_contig, nb::device::cpu>;

template <class Value>
std::span<const double> doubles_of(const In<Value>& array) {
  return {reinterpret_cast<const double*>(array.data()), array.size() * sizeof(Value) / sizeof(double)};
}
template <class Value>
std::span<double> doubles_of(const Out<Value>& array) {
  return {reinterpret_cast<double*>(array.data()), array.size() * sizeof(Value) / sizeof(double)};
}

/// Returns a communicator's address, which Python gives as a number.
const void* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// The ranks that share a grid, with a duplicate of their communicator, and the threads of this one.
class Ranks {
 public:
  /// Throws InputError on all ranks for a map of the machine that can't be used. Collective.
  Ranks(std::optional<std::uintptr_t> address, int threads, const std::string& machine_file)
      : comm_(address ? comm::Communicator::duplicate_at(pointer_to(*address)) : comm::Communicator::world()),
        threads_(threads),
        wires_(comm::wires_of_ranks(comm_, machine_file).wires) {}

  /// Tells whether a communicator has the same ranks in the same order.
  bool are_those_of(std::uintptr_t address) const { return comm_.is_congruent(pointer_to(address)); }
  int size() const { return comm_.size(); }
  /// Returns every rank's numbers.
  std::vector<std::vector<std::int64_t>> gather(const std::vector<std::int64_t>& numbers) const {
    const nb::gil_scoped_release others;
    std::vector<std::vector<std::int64_t>> found;
    for (const auto& bytes : comm_.all_gather(comm::bytes_of(numbers))) {
      const auto values = comm::values_of<std::int64_t>(bytes);
      found.emplace_back(values.begin(), values.end());
    }
    return found;
  }

  const comm::Communicator& comm() const { return comm_; }
  /// Returns the network of the map, or an assumed one, on rank 0.
  const machine::Wires* wires() const { return wires_.get(); }
  ThreadPool& threads() { return threads_; }

 private:
  comm::Communicator comm_;
  ThreadPool threads_;
  std::shared_ptr<const machine::Wires> wires_;
};

grid::GridLayout layout_of(const Index3& shape, const std::array<bool, 3>& is_periodic, const Index3& processes,
                           const std::vector<std::pair<Index3, Index3>>& boxes) {
  grid::GridLayout layout{shape, is_periodic, processes, {}};
  for (const auto& [lower, upper] : boxes) layout.boxes.push_back({lower, upper});
  return layout;
}

/// The caller keeps ranks and layout.
class Operator {
 public:
  Operator(Ranks& ranks, const grid::GridLayout& layout, const Terms& terms, bool is_complex)
      : ranks_(ranks), layout_(layout), stencil_{terms.first, terms.second}, is_complex_(is_complex) {}

  /// Applies the stencil; `to` may be `from`.
  template <class Value>
  void apply(const In<Value>& from, const Out<Value>& to, std::int64_t fields, const Phases& phases) {
    const nb::gil_scoped_release others;
    auto& turned = with(phases, fields);
    const auto values = doubles_of(from);
    const auto results = doubles_of(to);
    const double* begin = values.data();
    if (begin + values.size() <= results.data() || results.data() + results.size() <= begin) {
      turned.apply(values, results, fields);
      return;
    }
    // Fields that lie over each other go through a buffer of a few fields where they are the same, else through a copy.
    if (begin != results.data()) {
      buffer_.assign(values.begin(), values.end());
      turned.apply(buffer_, results, fields);
      return;
    }
    const auto of_field = turned.values_of_field();
    for (std::int64_t first = 0; first < fields; first += at_once_) {
      const auto n = std::min(at_once_, fields - first);
      const auto at = static_cast<std::size_t>(first * of_field), count = static_cast<std::size_t>(n * of_field);
      buffer_.resize(std::max(buffer_.size(), count));
      turned.apply(values.subspan(at, count), std::span(buffer_).first(count), n);
      std::copy_n(buffer_.data(), count, results.data() + at);
    }
  }

  /// Computes to = factor · addend + the stencil's sums. `to` is not `from`, and may be the addend.
  template <class Value>
  void apply_and_add(const In<Value>& from, const In<Value>& addend, double factor, const Out<Value>& to,
                     std::int64_t fields, const Phases& phases) {
    const nb::gil_scoped_release others;
    with(phases, fields).apply(doubles_of(from), doubles_of(to), fields, {doubles_of(addend).data(), factor});
  }

  void relax(bool is_gauss_seidel, const Out<double>& values, const In<double>& source, std::int64_t sweeps,
             double weight) {
    const nb::gil_scoped_release others;
    if (!relaxation_)
      relaxation_ = std::make_unique<grid::Relaxation>(stencil_, layout_, ranks_.comm(), ranks_.threads());
    relaxation_->sweep(is_gauss_seidel ? grid::RelaxationMethod::gauss_seidel : grid::RelaxationMethod::jacobi,
                       doubles_of(values), doubles_of(source), sweeps, weight);
  }

 private:
  /// Returns the operator with these phases. Approach, batch and slope are chosen for the number of fields, which is
  /// the same on all ranks, and again where a call brings more fields than all before it.
  grid::StencilOperator<double>& with(const Phases& phases, std::int64_t fields) {
    constexpr std::int64_t most = grid::most_batch;
    if (!operator_ || std::min(fields, most) > chosen_for_) {
      chosen_for_ = std::clamp<std::int64_t>(fields, 1, most);
      const auto choice = grid::choose_for_operator<double>(stencil_, is_complex_ ? 2 : 1, layout_, ranks_.wires(),
                                                            {{}, {}, chosen_for_}, ranks_.comm(), ranks_.threads());
      if (!operator_ || choice.approach != options_.approach || choice.batch != options_.batch ||
          choice.slope != options_.slope) {
        options_ = {
            .approach = choice.approach, .batch = choice.batch, .slope = choice.slope, .is_complex = is_complex_};
        operator_ = std::make_unique<grid::StencilOperator<double>>(stencil_, layout_, options_, ranks_.comm(),
                                                                    ranks_.threads());
      }
      // Threads with fields of their own have a batch each, and messages of one batch travel while another is computed.
      at_once_ = choice.batch * (grid::find_approach(choice.approach).threads_own_fields ? ranks_.threads().size() : 1);
      if (ranks_.comm().size() > 1) at_once_ *= 2;
    }
    operator_->set_phases(phases);
    return *operator_;
  }

  Ranks& ranks_;
  const grid::GridLayout& layout_;
  grid::Stencil stencil_;
  bool is_complex_;
  grid::OperatorOptions options_;
  std::int64_t chosen_for_ = 0, at_once_ = 1;  // fields
  std::unique_ptr<grid::StencilOperator<double>> operator_;
  std::unique_ptr<grid::Relaxation> relaxation_;
  std::vector<double> buffer_;
};

/// The caller keeps ranks and layouts.
class Transfer {
 public:
  Transfer(Ranks& ranks, const grid::GridLayout& from, const grid::GridLayout& to, bool halves, int order,
           bool is_complex)
      : transfer_(halves ? grid::TransferKind::restriction : grid::TransferKind::interpolation, order, from, to,
                  is_complex, ranks.comm(), ranks.threads()) {}

  template <class Value>
  void apply(const In<Value>& from, const Out<Value>& to, std::int64_t fields, const Phases& phases) {
    const nb::gil_scoped_release others;
    transfer_.apply(doubles_of(from), doubles_of(to), fields, phases);
  }

 private:
  grid::Transfer<double> transfer_;
};

/// The caller keeps ranks and layout.
class Poisson {
 public:
  Poisson(Ranks& ranks, const grid::GridLayout& layout, const std::array<double, 3>& steps, const std::string& method,
          int order, int max_iterations, bool has_images)
      : solver_({layout, steps, ranks.comm(), ranks.threads()},
                {.method = method, .order = order, .max_iterations = max_iterations, .has_images = has_images}) {}

  /// Returns the number of iterations.
  int solve(const In<double>& density, const Out<double>& potential, bool has_guess, double tolerance) {
    const nb::gil_scoped_release others;
    solver_.set_tolerance(tolerance);
    return solver_.solve(doubles_of(density), doubles_of(potential), has_guess).iterations;
  }

 private:
  grid::PoissonSolver solver_;
};

}  // namespace

void register_gpaw(nb::module_& module) {
  limit_instruction_set();
  module.doc() = "Operators, transformers and Poisson solvers of GPAW's grids on one MPI.";
  register_errors();
  module.def("library", &comm::Communicator::library_version, "The MPI library this module runs on.");
  nb::class_<Ranks>(module, "Ranks")
      .def(nb::init<std::optional<std::uintptr_t>, int, const std::string&>(), "address"_a.none(), "threads"_a,
           "machine"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("are_those_of", &Ranks::are_those_of)
      .def_prop_ro("size", &Ranks::size)
      .def("gather", &Ranks::gather);
  nb::class_<grid::GridLayout>(module, "Layout")
      .def("__init__",
           [](grid::GridLayout* layout, const Index3& shape, const std::array<bool, 3>& is_periodic,
              const Index3& processes, const std::vector<std::pair<Index3, Index3>>& boxes) {
             new (layout) grid::GridLayout(layout_of(shape, is_periodic, processes, boxes));
           })
      .def_ro("shape", &grid::GridLayout::shape);
  nb::class_<Operator>(module, "Operator")
      .def(nb::init<Ranks&, const grid::GridLayout&, const Terms&, bool>(), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>())
      .def("apply", &Operator::apply<double>, "from"_a.noconvert(), "to"_a.noconvert(), "fields"_a, "phases"_a)
      .def("apply", &Operator::apply<std::complex<double>>, "from"_a.noconvert(), "to"_a.noconvert(), "fields"_a,
           "phases"_a)
      .def("apply_and_add", &Operator::apply_and_add<double>, "from"_a.noconvert(), "addend"_a.noconvert(), "factor"_a,
           "to"_a.noconvert(), "fields"_a, "phases"_a)
      .def("apply_and_add", &Operator::apply_and_add<std::complex<double>>, "from"_a.noconvert(),
           "addend"_a.noconvert(), "factor"_a, "to"_a.noconvert(), "fields"_a, "phases"_a)
      .def("relax", &Operator::relax, "is_gauss_seidel"_a, "values"_a.noconvert(), "source"_a.noconvert(), "sweeps"_a,
           "weight"_a);
  nb::class_<Transfer>(module, "Transfer")
      .def(nb::init<Ranks&, const grid::GridLayout&, const grid::GridLayout&, bool, int, bool>(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("apply", &Transfer::apply<double>, "from"_a.noconvert(), "to"_a.noconvert(), "fields"_a, "phases"_a)
      .def("apply", &Transfer::apply<std::complex<double>>, "from"_a.noconvert(), "to"_a.noconvert(), "fields"_a,
           "phases"_a);
  nb::class_<Poisson>(module, "Poisson")
      .def(
          nb::init<Ranks&, const grid::GridLayout&, const std::array<double, 3>&, const std::string&, int, int, bool>(),
          "ranks"_a, "layout"_a, "steps"_a, "method"_a, "order"_a, "max_iterations"_a, "has_images"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::call_guard<nb::gil_scoped_release>())
      .def("solve", &Poisson::solve, "density"_a.noconvert(), "potential"_a.noconvert(), "has_guess"_a, "tolerance"_a);
}
