// Applies a stencil to fields that are distributed over ranks. The halo comes from other ranks by one of these
// approaches; each gives the same bits:
//
//   flat-original    one field at a time, one direction after the other, waiting for each
//   flat-optimized   faces of all directions at once; the faces of a batch of fields are in one message, and while they
//                    travel, the batch before is computed (double buffering)
//
// With several threads the master communicates and all compute, which the paper calls hybrid-master-only. Source:
// Kristensen et al. (2011), §4 and §5.1.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/halo.h"
#include "tessera/grid/kernel.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/stencil.h"

namespace tessera::grid {

struct Approach {
  std::string_view name;
  bool by_direction;  // instead of all faces at once
  bool is_double_buffered;
};

const std::vector<Approach>& approaches();
/// Throws InputError, which lists the names, if there is no such entry.
const Approach& find_approach(std::string_view name);

struct OperatorOptions {
  std::string approach = "flat-optimized";
  std::int64_t batch = 8;  // fields whose faces are in one message
  int slope = 1;           // how many smaller batches come first (batches.h)
  bool is_complex = false;
  /// in(r + edge d) = phases[d] · in(r): of Bloch waves, with complex numbers.
  std::array<std::complex<double>, 3> phases{1, 1, 1};
};

/// A stencil on one layout. References must outlive it. Memory: two batches of padded boxes and of faces.
template <class Real>
class StencilOperator {
 public:
  /// Throws InputError for unknown approaches, phases of real fields or at edges that are not periodic.
  StencilOperator(Stencil stencil, const GridLayout& layout, const OperatorOptions& options,
                  const comm::Communicator& comm, ThreadPool& threads);

  /// Applies it to `fields` fields of this rank's box, one after the other: (fields, nx, ny, nz), complex numbers as
  /// two reals. `to` must not overlap `from`. Collective.
  void apply(std::span<const Real> from, std::span<Real> to, std::int64_t fields);

  const IndexBox& box() const { return box_; }
  std::int64_t values_of_field() const { return box_.size() * components_; }  // reals

 private:
  /// A batch under way.
  struct Slot {
    std::vector<Real> memory;  // padded boxes of a batch; what is beyond edges that are not periodic stays zero
    std::vector<std::vector<Real>> outgoing, incoming;  // by peer
    std::vector<comm::Request> requests;
  };

  Real* padded_of(Slot& slot, std::int64_t field) const;
  void post(const HaloStage& stage, Slot& slot, const Real* from, std::int64_t fields);
  void complete(const HaloStage& stage, Slot& slot, const Real* from, std::int64_t fields);
  void copy_inside(Slot& slot, const Real* from, std::int64_t fields);
  void compute(Slot& slot, Real* to, std::int64_t fields, const Slot* under_way);
  void apply_one_by_one(const Real* from, Real* to, std::int64_t fields);
  void apply_in_batches(const Real* from, Real* to, std::int64_t fields);
  template <class Visit>
  void for_rows(const IndexBox& box, Visit&& visit) const;
  void place(const HaloPiece& piece, Real* padded, const Real* values) const;

  Stencil stencil_;
  const GridLayout& layout_;
  OperatorOptions options_;
  const Approach& approach_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  std::int64_t components_;
  IndexBox box_, padded_box_;
  Strides own_, strides_;  // of the box, and of the padded box
  std::int64_t padded_values_ = 0;
  std::int64_t origin_ = 0;  // of the box in the padded memory
  std::vector<HaloStage> stages_;
  MemoryStencil<Real> kernel_;
  std::array<Slot, 2> slots_;
};

extern template class StencilOperator<float>;
extern template class StencilOperator<double>;

}  // namespace tessera::grid
