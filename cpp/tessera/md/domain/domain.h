// A rank's atoms: those of the cells it owns, then those of the halo cells around them.
//
// Atoms stand in slots, four to a cluster, clusters in cells; a cell's last cluster is padded. Within a cell the order
// depends only on positions and ids, so that a cell looks the same on the rank that owns it and on every rank that has
// it in its halo. Hydrogen groups (and waters) belong to the cell of their key atom, so constraints never cross ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/domain/decomposition.h"
#include "tessera/md/domain/slot_map.h"
#include "tessera/md/domain/sort_cell.h"
#include "tessera/md/state.h"
#include "tessera/model/system.h"

namespace tessera::md::domain {

class Domain {
 public:
  /// Keeps the slots of `state`, which must outlive this; the decomposition is of the state's search_box.
  Domain(const model::System& system, Decomposition decomposition, State& state, const comm::Communicator& comm,
         ThreadPool& threads);

  /// Gives every rank the atoms of its cells, whoever has them now. Collective.
  void distribute(Particles particles);

  /// Moves groups to the cells (and ranks) they are in now, sorts cells, rebuilds the halo. Collective.
  void rebuild();

  /// After distribute(): puts every atom where it is now, leaving cells and order as they were at the search that the
  /// checkpoint remembers. Collective.
  void apply_displacements();

  /// Asks for halo positions from their owners; those of owned atoms stay as they are until it is finished. Collective.
  void start_halo_positions();
  /// Helps messages on whose library moves them within its calls only. For the thread that started them.
  void progress_halo_positions() { comm::Communicator::progress(requests_); }
  /// Halo positions are there after this. Nothing to do where none were asked for.
  void finish_halo_positions();

  /// Forces on halo atoms, (3·slots) in units of force_unit, leave for their owners; they may not change until they
  /// have arrived, those on owned atoms may. Collective.
  void start_return_of_forces(std::span<const std::int64_t> force);
  /// Adds what has come to forces on owned atoms and zeroes those on halo atoms.
  void finish_return_of_forces(std::span<std::int64_t> force);

  /// The greatest distance an owned atom has moved since the last rebuild, Å².
  double greatest_displacement2();

  const model::System& system() const { return system_; }
  const State& state() const { return state_; }
  const CellGrid& grid() const { return decomposition_.grid(); }
  /// In the box as it is, Å.
  std::array<double, 3> cell_edges() const {
    auto edges = state_.box.edges();
    for (std::size_t d = 0; d < 3; ++d) edges[d] /= static_cast<double>(grid().n[d]);
    return edges;
  }
  const Decomposition& decomposition() const { return decomposition_; }
  const IndexBox& brick() const { return brick_; }

  std::int32_t n_slots() const { return static_cast<std::int32_t>(state_.id.size()); }
  std::int32_t n_owned_slots() const { return n_owned_slots_; }
  std::int32_t n_clusters() const { return n_slots() / cluster_size; }
  std::int32_t n_owned_atoms() const { return n_owned_atoms_; }
  std::int32_t n_cells() const { return static_cast<std::int32_t>(cell.size()); }
  std::int32_t n_owned_cells() const { return n_owned_cells_; }
  bool is_padding(std::int32_t slot) const { return state_.id[static_cast<std::size_t>(slot)] < 0; }
  /// Local index of a cell of the grid (wrapped), or −1.
  std::int32_t local_cell(const Index3& wrapped) const;
  std::int32_t slot_of(std::int64_t atom) const {
    return slots_.find(atom, [&](std::int32_t slot) { return state_.id[static_cast<std::size_t>(slot)]; });
  }
  /// For loops over slots that look for atoms of their molecules: places in the map are far from each other, so what it
  /// has of an atom about a cell further on is asked for now.
  void prefetch_slot_of(std::int32_t slot) const {
    constexpr std::size_t ahead = 64;
    const auto later = static_cast<std::size_t>(slot) + ahead;
    if (later < state_.id.size() && state_.id[later] >= 0) slots_.prefetch(state_.id[later]);
  }
  const model::Template& molecule_of(std::int32_t slot) const {
    return system_.templates[static_cast<std::size_t>(state_.molecule[static_cast<std::size_t>(slot)])];
  }
  /// Beside those of the state.
  std::size_t bytes() const { return slots_.bytes(); }

  // By local cell: owned cells in columns of the brick, then halo cells.
  std::vector<Index3> cell;
  std::vector<std::int32_t> cell_begin;  // (cells+1) first cluster

 private:
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> send;                    // local cells
    std::int32_t first_receive_cell, n_receive_cells;  // local cells, consecutive
  };

  std::vector<Index3> cells_of(std::span<const Particle> particles);
  Particles exchange(const std::vector<std::vector<std::byte>>& leaving) const;
  void append(const Particles& particles, std::vector<std::int32_t>& cell_of);
  void sort_into_cells(std::vector<std::int32_t> cell_of);
  template <class Value>
  void gather(std::vector<Value>& values, const std::vector<std::int32_t>& source, std::size_t width = 1) const;
  void exchange_halo_structure();
  template <class Value>
  void start_halo(std::vector<Value>& values, int tag);
  void finish();
  void look_up_atoms(std::int32_t begin, std::int32_t end);
  std::int64_t group_key(std::int64_t atom) const;

  const model::System& system_;
  State& state_;
  Decomposition decomposition_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  IndexBox brick_;
  std::vector<Neighbour> neighbours_;
  std::vector<std::int32_t> cell_table_;  // over the brick grown by one layer
  Index3 table_lower_{}, table_extent_{};
  SlotMap slots_;
  std::int32_t n_owned_slots_ = 0, n_owned_atoms_ = 0, n_owned_cells_ = 0;
  std::vector<Fraction> displacement_;   // by owned slot, until applied
  std::vector<comm::Request> requests_;  // under way
  std::vector<std::vector<std::byte>> send_buffers_;
  std::vector<std::vector<std::int64_t>> receive_forces_;
};
}  // namespace tessera::md::domain
