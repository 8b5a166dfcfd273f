// What the parts of the module tessera._grid_<mpi> share.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/distribute.h"

namespace tessera::bindings {

/// A layout on a communicator, and the threads that work on it.
class Grid {
 public:
  Grid(const Index3& shape, const std::array<bool, 3>& is_periodic, const std::optional<Index3>& processes,
       const std::string& machine_file, std::optional<int> fortran_handle, int threads)
      : comm_(fortran_handle ? comm::Communicator::duplicate_of(*fortran_handle) : comm::Communicator::world()),
        grid_(grid::distribute(comm_, shape, is_periodic, processes, machine_file)) {
    std::string fault;
    try {
      threads_ = std::make_unique<ThreadPool>(threads);
    } catch (const std::system_error& error) {
      fault = error.what();
    }
    comm::agree_on_input(comm_, fault);
  }

  const comm::Communicator& comm() const { return comm_; }
  ThreadPool& threads() const { return *threads_; }
  const grid::DistributedLayout& distributed() const { return grid_; }
  Index3 processes() const { return grid_.layout.processes; }
  /// Returns (begin, end) along each edge of this rank's points.
  std::vector<std::pair<std::int64_t, std::int64_t>> bounds() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    const auto& box = grid_.layout.boxes[static_cast<std::size_t>(comm_.rank())];
    for (std::size_t d = 0; d < 3; ++d) found.emplace_back(box.lower[d], box.upper[d]);
    return found;
  }
  void agree(const std::string& complaint) const {
    const nanobind::gil_scoped_release others;
    comm::agree_on_input(comm_, complaint);
  }

 private:
  comm::Communicator comm_;
  std::unique_ptr<ThreadPool> threads_;
  grid::DistributedLayout grid_;
};

void register_poisson(nanobind::module_& module);
void register_eigen(nanobind::module_& module);
void register_transfer(nanobind::module_& module);

}  // namespace tessera::bindings
