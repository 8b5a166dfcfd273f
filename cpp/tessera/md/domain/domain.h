// Holds a rank's atoms: those of the cells it owns, then those of the halo cells around them, or of all other cells.
//
// Atoms are stored in slots, four to a cluster, and clusters in cells; a cell's last cluster is padded. Within a cell
// the order depends only on positions and ids, so that a cell looks the same on the rank that owns it and on every rank
// that has it in its halo. With replicated data all other cells are halo, in blocks by owner; positions are gathered
// from all, and forces summed so that each keeps its block (U. Borštnik et al. 2004, doi:10.1021/ci034261e). Of a
// vacuum only cells with atoms are there, found anew at every search, as most may be empty. Hydrogen groups (and
// waters) belong to the cell of their key atom, so constraints never cross ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/md/domain/decomposition.h"
#include "tessera/md/domain/slot_map.h"
#include "tessera/md/domain/sort_cell.h"
#include "tessera/md/state.h"
#include "tessera/model/system.h"

namespace tessera::md::domain {

/// Says where a device that sorts atoms into cells has put all of them, in the slots that rebuild() would give them.
struct SortedSlots {
  std::span<const std::int32_t> atom;           // by slot; −1: padding
  std::span<const Fraction> reference;          // by slot: where they were then
  std::span<const Fraction> position;           // by slot: where they are now
  std::span<const Velocity> velocity;           // by slot
  std::span<const std::int32_t> first_cluster;  // (cells+1)
};

class Domain {
 public:
  /// Keeps the slots of `state`, which must outlive this; the decomposition belongs to the state's search_box.
  Domain(const model::System& system, Decomposition decomposition, State& state, const comm::Communicator& comm,
         ThreadPool& threads);

  /// Sends the atoms of its cells to every rank, from whichever rank has them now. Collective.
  void distribute(Particles particles);

  /// Moves groups to the cells (and ranks) they are in now, sorts cells, and rebuilds the halo. Collective.
  void rebuild();

  /// Takes slots of which a device has found the order. There is no halo, and no atom has fields.
  void adopt(const SortedSlots& sorted);

  /// Moves every atom to its current position after distribute(), and keeps the cells and the order of the search that
  /// the checkpoint remembers. Collective.
  void apply_displacements();

  /// Starts to fetch halo positions from their owners; those of owned atoms must not change until that has finished.
  /// Replicated data arrive before it returns, as plans of collectives progress only within calls. Collective.
  void start_halo_positions();
  /// Progresses the messages of MPI libraries that only do so within calls. Only the thread that started them may call
  /// this.
  void progress_halo_positions() { comm::Communicator::progress(requests_); }
  /// Waits until halo positions have arrived; does nothing if none were requested.
  void finish_halo_positions();

  /// Starts to send the forces on halo atoms, (3·slots) in units of force_unit, to their owners. They must not change
  /// until they have arrived; those on owned atoms may. With replicated data all ranks wait for each other here.
  /// Collective.
  void start_return_of_forces(std::span<const std::int64_t> force);
  /// Adds the received forces to those on owned atoms and zeroes those on halo atoms.
  void finish_return_of_forces(std::span<std::int64_t> force);

  /// Returns the square of the greatest distance that an owned atom has moved since the last rebuild, Å².
  double greatest_displacement2();

  const model::System& system() const { return system_; }
  const State& state() const { return state_; }
  const CellGrid& grid() const { return decomposition_.grid(); }
  /// Returns a cell of the current box, Å.
  Box cell_box() const { return state_.box.divided(grid().whole()); }
  int rank() const { return comm_.rank(); }
  const Decomposition& decomposition() const { return decomposition_; }
  const IndexBox& brick() const { return brick_; }

  std::int32_t n_slots() const { return static_cast<std::int32_t>(state_.id.size()); }
  std::int32_t n_owned_slots() const { return n_owned_slots_; }
  std::int32_t n_clusters() const { return n_slots() / cluster_size; }
  std::int32_t n_owned_atoms() const { return n_owned_atoms_; }
  std::int32_t n_cells() const { return static_cast<std::int32_t>(cells_.size()); }
  std::int32_t n_owned_cells() const { return n_owned_cells_; }
  /// Returns where in the grid a local cell is. Owned cells come first, in columns, then halo cells.
  const Index3& cell(std::int32_t local) const { return cells_[static_cast<std::size_t>(local)]; }
  /// Returns the first cluster of a local cell, which is where the clusters of the one before end.
  std::int32_t first_cluster(std::int32_t local) const { return cell_begin_[static_cast<std::size_t>(local)]; }
  bool is_padding(std::int32_t slot) const { return state_.id[static_cast<std::size_t>(slot)] < 0; }
  /// Returns whether cells are found anew at every search.
  bool is_sparse() const { return !grid().is_periodic; }
  /// Tells whether the halo is all other cells, in blocks by owner; one rank has no halo.
  bool is_replicated() const { return decomposition_.is_replicated() && comm_.size() > 1; }
  /// Returns the local index of a cell of the grid (wrapped), or −1.
  std::int32_t local_cell(const Index3& wrapped) const;
  std::int32_t slot_of(std::int64_t atom) const {
    return slots_.find(atom, [&](std::int32_t slot) { return state_.id[static_cast<std::size_t>(slot)]; });
  }
  /// Prefetches the map entry of an atom about one cell ahead, for loops over slots that look up atoms of their
  /// molecules. The entries are scattered in memory.
  void prefetch_slot_of(std::int32_t slot) const {
    constexpr std::size_t ahead = 64;
    const auto later = static_cast<std::size_t>(slot) + ahead;
    if (later < state_.id.size() && state_.id[later] >= 0) slots_.prefetch(state_.id[later]);
  }
  const model::Template& molecule_of(std::int32_t slot) const {
    return system_.templates[static_cast<std::size_t>(state_.molecule[static_cast<std::size_t>(slot)])];
  }
  /// Counts the memory beside that of the state.
  std::size_t bytes() const { return slots_.bytes() + blocks_.capacity() * sizeof(std::int64_t); }

 private:
  struct Neighbour {
    int rank = 0;
    std::vector<std::int32_t> send{};                          // local cells
    std::int32_t first_receive_cell = 0, n_receive_cells = 0;  // local cells, consecutive
  };

  void enter(const Index3& c);
  void enter_halo(Neighbour& neighbour, std::span<const Index3> cells);
  std::int32_t own_cell(const Index3& c);
  void forget_cells();
  void put_cells_in_order(std::vector<std::int32_t>& cell_of);
  void exchange_halo_cells();
  std::vector<Index3> cells_of(std::span<const Particle> particles);
  Particles exchange(const std::vector<std::vector<std::byte>>& leaving) const;
  std::vector<std::vector<std::byte>> exchange_bytes(const std::vector<std::vector<std::byte>>& leaving) const;
  void append(const Particles& particles, std::vector<std::int32_t>& cell_of);
  void sort_into_cells(std::vector<std::int32_t> cell_of);
  template <class Value>
  void gather(std::vector<Value>& values, const std::vector<std::int32_t>& source, std::size_t width = 1) const;
  void exchange_halo_structure();
  template <class Value>
  void start_halo(std::vector<Value>& values, int tag);
  std::vector<std::int64_t> block_sizes(std::int64_t values_of_slot) const;
  std::vector<std::vector<std::int32_t>> clusters_of_all() const;
  void gather_blocks(std::span<std::byte> values, std::int64_t bytes_of_slot);
  void sum_blocks(std::span<const std::int64_t> force);
  void finish();
  void look_up_atoms();
  std::int64_t group_key(std::int64_t atom) const;

  const model::System& system_;
  State& state_;
  Decomposition decomposition_;
  const comm::Communicator& comm_;
  ThreadPool& threads_;
  IndexBox brick_;
  std::vector<Index3> cells_;             // by local index
  std::vector<std::int32_t> cell_begin_;  // (cells+1) first cluster of each
  std::vector<Neighbour> neighbours_;     // with replicated data all ranks by number, this one too
  std::vector<std::int32_t> cell_table_;  // over brick and halo; not of a vacuum
  std::unordered_map<std::int64_t, std::int32_t> sparse_cells_;  // by flat index; of a vacuum
  Index3 table_lower_{}, table_extent_{};
  SlotMap slots_;
  std::int32_t n_owned_slots_ = 0, n_owned_atoms_ = 0, n_owned_cells_ = 0;
  std::vector<Fraction> displacement_;   // by owned slot, until applied
  std::vector<comm::Request> requests_;  // in progress
  std::vector<std::vector<std::byte>> send_buffers_;
  std::vector<std::int64_t> blocks_;  // of replicated data, in the order of ranks
  std::vector<std::vector<std::int64_t>> receive_forces_;
};
}  // namespace tessera::md::domain
