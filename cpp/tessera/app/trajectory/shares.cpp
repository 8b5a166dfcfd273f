#include "tessera/app/trajectory/shares.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::app {

namespace {

/// The run that an atom belongs to.
const model::InstanceRun& run_of(const model::System& system, std::int64_t id) {
  const auto& runs = system.instances();
  const auto after = std::upper_bound(runs.begin(), runs.end(), id,
                                      [](std::int64_t value, const auto& run) { return value < run.first_id; });
  return *std::prev(after);
}

}  // namespace

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
    const auto end = system.find(last);
    add(system.find(first).first_id, end.first_id + system.templates[at(end.molecule)].n_atoms() - 1);
  }
  cuts_ = {0};
  rows_ = {0};
  auto range_of_rows = atoms.ranges().begin();  // rows before it are counted
  std::int64_t rows = 0;
  for (std::int64_t share = 1; share < n_shares && n > 0; ++share) {
    const auto& range = range_of_number(share * n / n_shares);
    const auto id = range.first + share * n / n_shares - range.before;
    const auto first = whole ? system.find(id).first_id : id;
    const auto cut = range.before + first - range.first;
    if (cut <= cuts_.back()) continue;  // the molecule is larger than a share
    cuts_.push_back(cut);
    for (; range_of_rows != atoms.ranges().end() && range_of_rows->last < first; ++range_of_rows)
      rows += range_of_rows->last - range_of_rows->first + 1;
    const bool is_cut = range_of_rows != atoms.ranges().end() && range_of_rows->first < first;
    rows_.push_back(rows + (is_cut ? first - range_of_rows->first : 0));
  }
  cuts_.push_back(n);
  rows_.push_back(atoms.size());
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
    const auto& run = run_of(system_, id);
    const auto size = system_.templates[at(run.molecule)].n_atoms();
    const auto count = std::min(end - id, run.first_id + run.count * size - id) / size;
    found.push_back({run.molecule, id, count});
    number += count * size;
  }
  return found;
}

}  // namespace tessera::app
