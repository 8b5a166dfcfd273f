// Brings the values around a rank's box from the ranks that have them, and the rank's own ones that are periodic
// images.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/levels/move.h"

namespace tessera::grid {

/// The surroundings of a box: one region for each rank, which may leave the grid. Values beyond edges that are not
/// periodic are zero. References must outlive it.
template <class Real>
class RegionExchange {
 public:
  /// Makes an exchange with the region of each rank. Values have one or two (complex) components. With `leaves_own`,
  /// those of the rank's own box are not copied.
  RegionExchange(const GridLayout& layout, const std::vector<IndexBox>& regions, int components, bool leaves_own,
                 const comm::Communicator& comm, ThreadPool& threads);

  /// Fetches other ranks' values around `fields` fields of the rank's box, one after the other. in(r + edge d) =
  /// phases[d] · in(r). Along directions that `leaves_out` names, values beyond an edge are not fetched. Collective.
  void bring(const Real* from, std::int64_t fields, const Phases& phases, const std::array<bool, 3>& leaves_out = {}) {
    move_.send(from, fields, phases, leaves_out);
  }
  /// Writes the values around one of these fields into their places in the region. Each field is to be filled before
  /// the next are fetched.
  void fill(std::int64_t field) { move_.place(field, memory_.data()); }

  /// Returns how many fields are best brought together: with more, messages are fewer, but no longer stay in caches.
  /// The same on all ranks.
  std::int64_t fields_at_once() const { return fields_at_once_; }
  /// Tells along which directions the values beyond an edge of every rank's region are just its own on the other side.
  std::array<bool, 3> wraps(const Phases& phases) const;

  const IndexBox& box() const { return own_.box; }
  const IndexBox& region() const { return around_.box; }
  int components() const { return own_.components; }
  std::int64_t values_of_field() const { return own_.size(); }

  /// Returns where the values at a point are in the region, and their offset in a field of the box.
  Real* around(const Index3& at) { return memory_.data() + around_.at(at); }
  std::int64_t offset_in_box(const Index3& at) const { return own_.at(at); }
  /// Returns the place of the region.
  const Place& place() const { return around_; }

 private:
  std::array<bool, 3> wraps_without_phase_{};
  Place own_, around_;
  Move<Real> move_;
  std::int64_t fields_at_once_;
  std::vector<Real> memory_;  // the region of one field
};

extern template class RegionExchange<float>;
extern template class RegionExchange<double>;

}  // namespace tessera::grid
