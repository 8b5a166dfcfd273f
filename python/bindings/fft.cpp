// The Python module tessera._fft_<mpi>: distributed transforms of NumPy arrays, linked once for each MPI.
#include "module.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "errors.h"
#include "tessera/base/simd/instruction_set.h"
#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/choice/trial.h"
#include "tessera/fft/choice/wisdom.h"
#include "tessera/fft/exchange.h"
#include "tessera/fft/schemes.h"
#include "tessera/fft/transform.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace tessera;

/// As NumPy's rfftn: the last direction is swept first, and halved.
constexpr std::array<int, 3> order{2, 1, 0};

using Bounds = std::vector<std::pair<std::int64_t, std::int64_t>>;

Bounds bounds_of(const IndexBox& box) {
  Bounds bounds;
  for (std::size_t d = 0; d < 3; ++d) bounds.emplace_back(box.lower[d], box.upper[d]);
  return bounds;
}

fft::TransformProblem problem_of(const std::array<std::int64_t, 3>& shape, bool is_real, int ranks) {
  return {shape, is_real ? fft::TransformKind::real : fft::TransformKind::complex, order, ranks};
}

/// Starts threads; what one rank's system refuses is raised on all ranks.
std::unique_ptr<ThreadPool> start_threads(const comm::Communicator& comm, int n) {
  std::unique_ptr<ThreadPool> threads;
  std::string fault;
  try {
    threads = std::make_unique<ThreadPool>(n);
  } catch (const std::system_error& error) {
    fault = error.what();
  }
  comm::agree_on_input(comm, fault);
  return threads;
}

/// A communicator, threads and a transform on them. Python's other threads go on meanwhile: one of theirs may have the
/// part in another transform that a rank in this one waits for.
template <class Real>
class DistributedTransform {
 public:
  using Complex = std::complex<Real>;
  template <class Value>
  using Array = nb::ndarray<Value, nb::c_contig, nb::device::cpu>;

  DistributedTransform(const std::array<std::int64_t, 3>& shape, bool is_real, const std::string& scheme,
                       const std::string& machine_file, const std::string& exchange, std::optional<int> fortran_handle,
                       int threads, int fields, bool shares_memory)
      : comm_(fortran_handle ? comm::Communicator::duplicate_of(*fortran_handle) : comm::Communicator::world()),
        threads_(start_threads(comm_, threads)),
        options_{fields, false, 1.0 / (static_cast<double>(shape[0] * shape[1]) * static_cast<double>(shape[2])),
                 shares_memory},
        agreed_(fft::agree_or_try<Real>(comm_, *threads_, problem_of(shape, is_real, comm_.size()),
                                        {scheme, machine_file, static_cast<std::int64_t>(sizeof(Real)), exchange},
                                        options_, fft::default_wisdom_file())),
        transform_(agreed_.plan, comm_, *threads_, chosen_options()) {}

  const std::string& scheme() const { return agreed_.plan.scheme; }
  std::vector<std::string> exchanges() const { return transform_.exchanges(); }
  /// Describes the layout and the largest boxes, and why they were chosen.
  std::string summary() const { return agreed_.plan.summary() + agreed_.reason; }
  Bounds input_bounds() const { return bounds_of(transform_.input_box()); }
  Bounds output_bounds() const { return bounds_of(transform_.spectrum_box()); }

  /// Raises the first rank's complaint on every rank, if there is one.
  void agree(const std::string& complaint) const {
    const nb::gil_scoped_release others;
    comm::agree_on_input(comm_, complaint);
  }

  template <class Points>
  void forward(const Array<const Points>& input, const Array<Complex>& spectrum) {
    const nb::gil_scoped_release others;
    transform_.forward(std::span(input.data(), input.size()), std::span(spectrum.data(), spectrum.size()));
  }
  /// Transforms back; the spectrum is only read (TransformOptions::spoils_spectrum).
  template <class Points>
  void backward(const Array<const Complex>& spectrum, const Array<Points>& output) {
    const nb::gil_scoped_release others;
    transform_.backward(std::span(const_cast<Complex*>(spectrum.data()), spectrum.size()),
                        std::span(output.data(), output.size()));
  }

 private:
  fft::TransformOptions chosen_options() const {
    auto options = options_;
    options.exchange = agreed_.exchange;
    options.wires = agreed_.wires;
    return options;
  }

  comm::Communicator comm_;
  std::unique_ptr<ThreadPool> threads_;
  fft::TransformOptions options_;
  fft::Agreed agreed_;
  fft::Transform<Real> transform_;
};

template <class Real>
void register_transform(nb::module_& module, const char* name) {
  using T = DistributedTransform<Real>;
  using Complex = std::complex<Real>;
  nb::class_<T>(module, name)
      .def(nb::init<const std::array<std::int64_t, 3>&, bool, const std::string&, const std::string&,
                    const std::string&, std::optional<int>, int, int, bool>(),
           "shape"_a, nb::kw_only(), "is_real"_a, "scheme"_a, "machine_file"_a, "exchange"_a, "fortran_handle"_a.none(),
           "threads"_a, "fields"_a, "shares_memory"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("input_bounds", &T::input_bounds)
      .def_prop_ro("output_bounds", &T::output_bounds)
      .def("agree", &T::agree)
      .def_prop_ro("scheme", &T::scheme)
      .def_prop_ro("exchanges", &T::exchanges)
      .def_prop_ro("summary", &T::summary)
      .def("forward_real", &T::template forward<Real>)
      .def("forward_complex", &T::template forward<Complex>)
      .def("backward_real", &T::template backward<Real>)
      .def("backward_complex", &T::template backward<Complex>);
}

}  // namespace

void register_fft(nb::module_& module) {
  limit_instruction_set();
  module.doc() = "Distributed transforms on one MPI.";
  register_errors();
  module.def("library", &comm::Communicator::library_version, "The MPI library this module runs on.");
  module.def("schemes", [] {
    std::vector<std::string> names;
    for (const auto& entry : fft::schemes()) names.emplace_back(entry.name);
    return names;
  });
  module.def("exchanges", &fft::exchanges);
  register_transform<float>(module, "TransformFloat");
  register_transform<double>(module, "TransformDouble");
}
