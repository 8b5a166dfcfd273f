// Which ranks make which atoms of a frame: a pure function of the system, the atoms of a frame and the number of
// writers, the same on all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/index.h"
#include "tessera/model/atom_set.h"
#include "tessera/model/system.h"

namespace tessera::app {

/// Molecules of one kind with consecutive ids, or a chain's units that a share has.
struct MoleculeRun {
  std::size_t kind;  // of model::Molecule
  std::int64_t first_id, count;
  std::int64_t n_atoms;  // of each
  bool is_chain;
};

/// Divides the atoms of a frame into consecutive shares. Where molecules are put together, a share has whole molecules,
/// or whole units of chains of which each part can be put together by itself, and gets all atoms of each molecule of
/// which a frame holds any.
class FrameShares {
 public:
  /// Divides `atoms`, those of a frame. There are fewer shares than asked for where molecules are larger than a share,
  /// and one at least. References must outlive it.
  FrameShares(const model::System& system, const model::AtomSet& atoms, bool whole, int n_shares);

  int n_shares() const { return static_cast<int>(cuts_.size()) - 1; }
  bool is_whole() const { return whole_; }
  const model::AtomSet& atoms() const { return atoms_; }

  /// Where an atom is needed: a share and the atom's index in it; share −1 where no frame needs it.
  struct Place {
    int share;
    std::uint32_t index;
  };
  Place find(std::int64_t id) const;

  std::int64_t n_needed(int share) const { return cuts_[at(share + 1)] - cuts_[at(share)]; }
  /// Returns the first row of frames that a share makes; n_rows() their number.
  std::int64_t first_row(int share) const { return rows_[at(share)]; }
  std::int64_t n_rows(int share) const { return rows_[at(share + 1)] - rows_[at(share)]; }
  /// Returns whether a share's first atom is within a chain that an earlier share begins with; cuts_chains() whether
  /// any share's is.
  bool begins_in_chain(int share) const { return is_cut_in_chain_[at(share)]; }
  bool cuts_chains() const;
  /// Lists the molecules of a share, in the order of their atoms' indices; used where they are put together.
  std::vector<MoleculeRun> molecules(int share) const;

 private:
  /// Consecutive ids that are needed, of which the first has number `before` among all.
  struct Range {
    std::int64_t first, last, before;
  };

  const Range& range_of_number(std::int64_t number) const;
  /// Returns the first atom with which a share may begin, at or before an atom.
  std::int64_t first_of_share(std::int64_t id) const;

  const model::System& system_;
  const model::AtomSet& atoms_;
  bool whole_;
  std::vector<bool> is_strung_;        // by chain
  std::vector<bool> is_cut_in_chain_;  // by share
  std::vector<Range> needed_;
  std::vector<std::int64_t> cuts_;  // share s has the numbers from cuts_[s] to cuts_[s+1] of what is needed
  std::vector<std::int64_t> rows_;  // and the rows from rows_[s] on
};

}  // namespace tessera::app
