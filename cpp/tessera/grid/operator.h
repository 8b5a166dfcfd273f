// Applies a stencil to fields that are distributed over ranks. The halo comes from other ranks by one of these
// approaches; each gives the same bits:
//
//   flat-original        one field at a time, one direction after the other, waiting for each
//   flat-optimized       faces of all directions at once; the faces of a batch of fields are in one message, and while
//                        they travel, the batch before is computed (double buffering)
//   hybrid-master-only   as flat-optimized, with several threads in a rank: the master communicates, all compute each
//                        batch
//   hybrid-multiple      each thread has fields of its own, and communicates and computes them as flat-optimized does
//
// Source: Kristensen et al. (2011), §4 to §6.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/exchange.h"
#include "tessera/grid/kernel.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

struct Approach {
  std::string_view name;
  bool by_direction;  // instead of all faces at once
  bool is_double_buffered;
  bool threads_own_fields;  // instead of sharing each field
};

const std::vector<Approach>& approaches();
/// Throws InputError, which lists the names, if there is no such entry.
const Approach& find_approach(std::string_view name);

/// Is called with a field and some of its planes [first, last) of a rank's box that have just been computed, by the
/// thread that has computed them, while they are in its cache.
using AfterPlanes = std::function<void(std::int64_t field, std::int64_t first, std::int64_t last)>;

struct OperatorOptions {
  std::string approach = "flat-optimized";
  std::int64_t batch = 8;  // fields whose faces are in one message
  int slope = 1;           // how many smaller batches come first (batches.h)
  bool is_complex = false;
  /// in(r + edge d) = phases[d] · in(r): of Bloch waves, with complex numbers.
  std::array<std::complex<double>, 3> phases{1, 1, 1};
  bool uses_shared_memory = true;       // between ranks of a host, instead of messages
  std::array<bool, 3> copies_images{};  // ExchangeOptions::copies_images
  bool repeats_one = false;             // all fields are the first one, which alone is given: for trials
};

/// A stencil on one layout. References must outlive it. Memory: the surfaces of two batches, for each thread with
/// fields of its own.
template <class Real>
class StencilOperator {
 public:
  /// Throws InputError on all ranks for unknown approaches, phases of real fields or at edges that are not periodic,
  /// and where threads shall communicate and the MPI library was not started for that. Collective.
  StencilOperator(Stencil stencil, const GridLayout& layout, const OperatorOptions& options,
                  const comm::Communicator& comm, ThreadPool& threads);

  /// Applies it to `fields` fields of this rank's box, one after the other: (fields, nx, ny, nz), complex numbers as
  /// two reals; `to` gets factor · addend + the stencil's sums. `to` must not overlap `from`; it may be the addend.
  /// `after` may change what it is called with. Collective.
  void apply(std::span<const Real> from, std::span<Real> to, std::int64_t fields, const Addend<Real>& addend = {},
             const AfterPlanes& after = {});

  /// Does what apply() does without double buffering: the halo of a batch is sent when the batch before is computed.
  /// With an empty `to` halos are fetched and nothing is computed. It is for measurements of overlap. Collective.
  void apply_apart(std::span<const Real> from, std::span<Real> to, std::int64_t fields);
  /// Tells whether faces go to ranks of other hosts, or to any in messages.
  bool sends_messages() const { return workers_.front().exchange->sends_messages(); }

  /// Changes the phases of the fields to come. Throws InputError as the constructor does.
  void set_phases(const std::array<std::complex<double>, 3>& phases);

  const IndexBox& box() const { return box_; }
  std::int64_t values_of_field() const { return box_.size() * components_; }  // reals
  /// Returns what HaloExchange::values_of_images() does.
  std::int64_t values_of_images() const { return workers_.front().exchange->values_of_images(); }
  /// Returns the seconds of all calls so far, the mean of threads that communicate.
  std::array<double, n_grid_phases> seconds() const;

 private:
  /// What one thread with fields of its own needs, or all threads together.
  struct Worker {
    std::unique_ptr<HaloExchange<Real>> exchange;
    GridTimers timers;
  };
  struct Work {
    const Real* from;
    Real* to;
    std::int64_t fields;
    Addend<Real> addend;
    bool streams;
    const AfterPlanes& after;
    std::int64_t field = 0;  // the number of the first one

    void skip(std::int64_t n, std::int64_t values_of_field) {
      const auto values = n * values_of_field;
      field += n;
      from += values;
      to += values;
      if (addend.values != nullptr) addend.values += values;
    }
  };

  void check_phases(const std::array<std::complex<double>, 3>& phases) const;
  /// Calls work_on(worker, threads, its part of the fields) for all workers.
  template <class WorkOn>
  void divide(const Work& all, WorkOn&& work_on);
  std::int64_t stride() const { return options_.repeats_one ? 0 : values_of_field(); }
  void apply_one_by_one(Worker& worker, const Work& work);
  void apply_in_batches(Worker& worker, ThreadPool& threads, const Work& work);
  void compute(Worker& worker, ThreadPool& threads, int slot, const Work& batch, bool other_is_under_way);

  const GridLayout& layout_;
  OperatorOptions options_;
  const Approach& approach_;
  ThreadPool& threads_;
  ThreadPool alone_;
  std::int64_t components_;
  IndexBox box_;
  RowStencil<Real> kernel_;
  std::vector<Worker> workers_;
};

extern template class StencilOperator<float>;
extern template class StencilOperator<double>;

}  // namespace tessera::grid
