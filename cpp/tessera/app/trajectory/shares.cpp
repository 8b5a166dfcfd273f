#include "tessera/app/trajectory/shares.h"

#include <algorithm>

#include "tessera/app/trajectory/whole.h"
#include "tessera/base/error.h"

namespace tessera::app {

FrameShares::FrameShares(const model::System& system, const model::AtomSet& atoms, bool whole, int n_shares)
    : system_(system), atoms_(atoms), whole_(whole) {
  std::int64_t n = 0;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    if (!needed_.empty() && first <= needed_.back().last + 1) {
      n += std::max<std::int64_t>(0, last - needed_.back().last);
      needed_.back().last = std::max(needed_.back().last, last);
      return;
    }
    needed_.push_back({first, last, n});
    n += last - first + 1;
  };
  for (const auto& [first, last] : atoms.ranges()) {
    if (!whole) {
      add(first, last);
      continue;
    }
    const auto end = system.molecule_of(last);
    add(system.molecule_of(first).first_id, end.first_id + end.n_atoms - 1);
  }
  if (whole)
    for (const auto& chain : system.chains()) is_strung_.push_back(is_strung(system, chain));
  cuts_ = {0};
  rows_ = {0};
  is_cut_in_chain_ = {false};
  auto range_of_rows = atoms.ranges().begin();  // rows before it are counted
  std::int64_t rows = 0;
  for (std::int64_t share = 1; share < n_shares && n > 0; ++share) {
    const auto& range = range_of_number(share * n / n_shares);
    const auto id = range.first + share * n / n_shares - range.before;
    const auto first = whole ? first_of_share(id) : id;
    const auto cut = range.before + first - range.first;
    if (cut <= cuts_.back()) continue;  // the molecule is larger than a share
    for (; range_of_rows != atoms.ranges().end() && range_of_rows->last < first; ++range_of_rows)
      rows += range_of_rows->last - range_of_rows->first + 1;
    const bool is_cut = range_of_rows != atoms.ranges().end() && range_of_rows->first < first;
    const auto row = rows + (is_cut ? first - range_of_rows->first : 0);
    if (row == rows_.back() || row == atoms.size()) continue;  // a share would be atoms that no frame holds
    cuts_.push_back(cut);
    rows_.push_back(row);
    is_cut_in_chain_.push_back(whole && system.molecule_of(first).first_id != first);
  }
  cuts_.push_back(n);
  rows_.push_back(atoms.size());
}

std::int64_t FrameShares::first_of_share(std::int64_t id) const {
  const auto molecule = system_.molecule_of(id);
  const auto n_templates = system_.templates.size();
  const bool is_divisible = molecule.kind >= n_templates && is_strung_[molecule.kind - n_templates];
  return is_divisible ? system_.find(id).first_id : molecule.first_id;
}

bool FrameShares::cuts_chains() const {
  return std::find(is_cut_in_chain_.begin(), is_cut_in_chain_.end(), true) != is_cut_in_chain_.end();
}

const FrameShares::Range& FrameShares::range_of_number(std::int64_t number) const {
  return *std::prev(std::upper_bound(needed_.begin(), needed_.end(), number,
                                     [](std::int64_t value, const Range& range) { return value < range.before; }));
}

FrameShares::Place FrameShares::find(std::int64_t id) const {
  if (needed_.empty() || id < needed_.front().first) return {-1, 0};
  const auto* range = &needed_.front();
  if (needed_.size() > 1)
    range = &*std::prev(std::upper_bound(needed_.begin(), needed_.end(), id,
                                         [](std::int64_t value, const Range& one) { return value < one.first; }));
  if (id > range->last) return {-1, 0};
  const auto number = range->before + id - range->first;
  std::ptrdiff_t share = 0;
  if (n_shares() > 1) share = std::upper_bound(cuts_.begin() + 1, cuts_.end() - 1, number) - cuts_.begin() - 1;
  return {static_cast<int>(share), static_cast<std::uint32_t>(number - cuts_[at(share)])};
}

std::vector<MoleculeRun> FrameShares::molecules(int share) const {
  TESSERA_CHECK(whole_);
  std::vector<MoleculeRun> found;
  for (auto number = cuts_[at(share)]; number < cuts_[at(share + 1)];) {
    const auto& range = range_of_number(number);
    const auto id = range.first + number - range.before;
    const auto end = std::min(range.last + 1, id + cuts_[at(share + 1)] - number);
    const auto molecule = system_.molecule_of(id);
    const bool is_chain = molecule.kind >= system_.templates.size();
    const auto n_atoms = is_chain ? std::min(end, molecule.first_id + molecule.n_atoms) - id : molecule.n_atoms;
    const auto count = is_chain ? 1 : std::min((end - id) / n_atoms, molecule.n_equal);
    found.push_back({molecule.kind, id, count, n_atoms, is_chain});
    number += count * n_atoms;
  }
  return found;
}

}  // namespace tessera::app
