#include "tessera/grid/levels/region_exchange.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::grid {

namespace {

std::int64_t fields_with_messages_in_caches(const GridLayout& layout, const std::vector<IndexBox>& regions,
                                            std::int64_t bytes) {
  constexpr std::int64_t most = 8, cache_bytes = 2 << 20;
  std::int64_t around = 1;  // values of a field
  for (std::size_t rank = 0; rank < regions.size(); ++rank)
    around = std::max(around, regions[rank].size() - layout.boxes[rank].size());
  return std::clamp<std::int64_t>(cache_bytes / (around * bytes), 1, most);
}

}  // namespace

template <class Real>
RegionExchange<Real>::RegionExchange(const GridLayout& layout, const std::vector<IndexBox>& regions, int components,
                                     bool leaves_own, const comm::Communicator& comm, ThreadPool& threads)
    : own_(dense(layout.boxes.at(static_cast<std::size_t>(comm.rank())), components)),
      around_(dense(regions.at(static_cast<std::size_t>(comm.rank())), components)),
      move_({layout.shape, layout.is_periodic, layout.boxes, regions}, own_, around_, leaves_own, comm, threads),
      fields_at_once_(fields_with_messages_in_caches(layout, regions, components * std::int64_t{sizeof(Real)})),
      memory_(static_cast<std::size_t>(around_.size())) {
  TESSERA_CHECK(layout.ranks() == comm.size() && regions.size() == layout.boxes.size());
  for (std::size_t d = 0; d < 3; ++d) {
    wraps_without_phase_[d] = layout.is_periodic[d];
    for (std::size_t rank = 0; rank < regions.size(); ++rank) {
      const auto &its = layout.boxes[rank], &region = regions[rank];
      if (!region.is_empty() && (its.lower[d] != 0 || its.upper[d] != layout.shape[d] || region.lower[d] > 0 ||
                                 region.upper[d] < layout.shape[d]))
        wraps_without_phase_[d] = false;
    }
  }
}

template <class Real>
std::array<bool, 3> RegionExchange<Real>::wraps(const Phases& phases) const {
  auto found = wraps_without_phase_;
  for (std::size_t d = 0; d < 3; ++d) found[d] = found[d] && phases[d] == 1.0;
  return found;
}

template class RegionExchange<float>;
template class RegionExchange<double>;

}  // namespace tessera::grid
