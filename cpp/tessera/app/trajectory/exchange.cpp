#include "tessera/app/trajectory/exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/index.h"

namespace tessera::app {

namespace {

void store(std::vector<float>& rows, std::size_t row, const Vec3& r) {
  rows[3 * row] = static_cast<float>(r.x);
  rows[3 * row + 1] = static_cast<float>(r.y);
  rows[3 * row + 2] = static_cast<float>(r.z);
}

/// Calls visit(id) for the atoms of a set from `first` to `last`. `range` is where the set's ranges have been gone
/// through, from call to call with rising ids.
template <class Iterator, class Visit>
void for_each_between(Iterator& range, Iterator end, std::int64_t first, std::int64_t last, Visit&& visit) {
  for (; range != end && range->first <= last; ++range) {
    for (auto id = std::max(first, range->first); id <= std::min(last, range->last); ++id) visit(id);
    if (range->last > last) return;
  }
}

/// Finds the first range of a set that ends at or behind an id.
auto range_from(const model::AtomSet& atoms, std::int64_t id) {
  return std::lower_bound(atoms.ranges().begin(), atoms.ranges().end(), id,
                          [](const auto& range, std::int64_t value) { return range.last < value; });
}

using Triple = std::array<float, 3>;

/// Returns a frame without atoms. A vacuum has no box; its frame says no more than where its middle is.
Frame empty_frame(const md::Engine& engine, double time) {
  return {
      engine.current_step(), time, engine.system().is_periodic ? engine.global().box : Box({}, {}, {}), {}, {}, {}, {}};
}

}  // namespace

FrameExchange::FrameExchange(const model::System& system, FrameShares shares, std::vector<int> writers,
                             FrameContents contents, const comm::Communicator& comm)
    : shares_(std::move(shares)), writers_(std::move(writers)), contents_(contents), comm_(comm) {
  TESSERA_CHECK(std::ssize(writers_) == shares_.n_shares() || shares_.n_shares() == 1);
  const auto own = std::find(writers_.begin(), writers_.end(), comm.rank());
  if (own != writers_.end()) own_ = shares_.n_shares() == 1 ? 0 : static_cast<int>(own - writers_.begin());
  if (!shares_.is_whole()) return;
  chains_ = ChainParts(system, shares_, own_);
  if (own_ < 0) return;
  molecules_ = shares_.molecules(own_);
  for (const auto& run : molecules_)
    if (!run.is_chain && trees_[run.kind].order.empty()) trees_[run.kind] = make_bond_tree(system.templates[run.kind]);
}

Frame FrameExchange::owned(const md::Engine& engine, double time) const {
  TESSERA_CHECK(!shares_.is_whole());
  const auto own = engine.atoms();
  auto frame = empty_frame(engine, time);
  const auto n = at(own.n_atoms);
  frame.owned.reserve(n);
  const auto add = [n](std::vector<float>& rows, const Vec3& value) {
    if (rows.empty()) rows.reserve(3 * n);
    rows.resize(rows.size() + 3);
    store(rows, rows.size() / 3 - 1, value);
  };
  for (std::size_t slot = 0; slot < own.id.size(); ++slot) {
    const auto id = own.id[slot];
    if (id < 0) continue;
    const auto place = shares_.find(id);
    if (place.share < 0) continue;
    frame.owned.push_back({shares_.first_row(place.share) + place.index, id});
    add(frame.positions, engine.system().origin + engine.global().box.cartesian(own.position[slot]));
    if (contents_.velocities) {
      const auto& v = own.velocity[slot];
      add(frame.velocities, {v.x * md::velocity_unit, v.y * md::velocity_unit, v.z * md::velocity_unit});
    }
    if (contents_.forces) add(frame.forces, own.force_on(slot));
  }
  return frame;
}

Frame FrameExchange::collect(const md::Engine& engine, double time) {
  const auto own = engine.atoms();
  auto frame = empty_frame(engine, time);
  // Atoms travel as the index in the share, the position, and what else frames hold.
  const auto bytes = at(4 + 12 * contents_.n_quantities());
  const auto write_record = [&](std::byte* to, std::uint32_t index, std::size_t slot) {
    std::memcpy(to, &index, 4);
    std::memcpy(to += 4, &own.position[slot], 12);
    if (contents_.velocities) std::memcpy(to += 12, &own.velocity[slot], 12);
    if (!contents_.forces) return;
    const auto force = own.force_on(slot);
    const Triple rounded = {static_cast<float>(force.x), static_cast<float>(force.y), static_cast<float>(force.z)};
    std::memcpy(to + 12, rounded.data(), 12);
  };
  std::vector<std::vector<std::byte>> outgoing(at(comm_.size()));
  const auto first_writer = turn_;
  if (shares_.n_shares() == 1) {
    turn_ = (turn_ + 1) % writers_.size();
    outgoing[at(writers_[first_writer])].reserve(at(own.n_atoms) * bytes);
  }
  const auto writer_of = [&](int share) { return writers_[first_writer + at(share)]; };
  for (std::size_t slot = 0; slot < own.id.size(); ++slot) {
    if (own.id[slot] < 0) continue;
    const auto place = shares_.find(own.id[slot]);
    if (place.share < 0) continue;
    auto& records = outgoing[at(writer_of(place.share))];
    records.resize(records.size() + bytes);
    write_record(records.data() + records.size() - bytes, place.index, slot);
  }
  const auto incoming = comm_.size() == 1 ? std::move(outgoing) : comm_.all_to_all(outgoing);
  if (own_ < 0) {
    if (chains_) chains_->images(shares_, {}, comm_);
    return frame;
  }
  if (writer_of(own_) != comm_.rank()) return frame;

  const auto n = at(shares_.n_needed(own_));
  std::vector<Fraction> fractions(n);
  std::vector<float> velocities(contents_.velocities ? 3 * n : 0), forces(contents_.forces ? 3 * n : 0);
  std::size_t received = 0;
  for (const auto& records : incoming)
    for (const auto* from = records.data(); from != records.data() + records.size(); from += bytes, ++received) {
      std::uint32_t index = 0;
      std::memcpy(&index, from, 4);
      TESSERA_CHECK(index < n);
      std::memcpy(&fractions[index], from + 4, 12);
      if (contents_.velocities) {
        md::Velocity v;
        std::memcpy(&v, from + 16, 12);
        store(velocities, index, {v.x * md::velocity_unit, v.y * md::velocity_unit, v.z * md::velocity_unit});
      }
      if (contents_.forces) std::memcpy(&forces[3 * index], from + bytes - 12, 12);
    }
  TESSERA_CHECK(received == n);
  frame.positions = positions_of(engine.global().box, engine.system().origin, fractions);
  frame.velocities = rows_of(std::move(velocities));
  frame.forces = rows_of(std::move(forces));
  return frame;
}

std::vector<float> FrameExchange::positions_of(const Box& box, const Vec3& origin,
                                               const std::vector<Fraction>& fractions) const {
  std::vector<float> rows(3 * at(shares_.n_rows(own_)));
  if (!shares_.is_whole()) {
    for (std::size_t i = 0; i < fractions.size(); ++i) store(rows, i, origin + box.cartesian(fractions[i]));
    return rows;
  }
  const auto& atoms = shares_.atoms();
  const auto images = chains_->images(shares_, fractions, comm_);
  auto image = images.begin();
  std::vector<Vec3> placed;
  std::size_t first = 0, row = 0;  // of the molecule in the share; of the frame's rows
  for (const auto& run : molecules_) {
    if (run.is_chain) {
      auto range = range_from(atoms, run.first_id);
      for_each_between(range, atoms.ranges().end(), run.first_id, run.first_id + run.n_atoms - 1, [&](std::int64_t id) {
        const auto atom = at(id - run.first_id);
        const auto& [x, y, z] = (*image)[atom];
        store(rows, row++, origin + box.cartesian(fractions[first + atom]) + x * box.a() + y * box.b() + z * box.c());
      });
      first += at(run.n_atoms);
      ++image;
      continue;
    }
    const auto& tree = trees_.at(run.kind);
    const auto size = tree.order.size();
    placed.resize(size);
    auto range = range_from(atoms, run.first_id);
    for (std::int64_t molecule = 0; molecule < run.count; ++molecule, first += size) {
      for (std::size_t k = 0; k < size; ++k) {
        const auto atom = at(tree.order[k]), parent = at(tree.parent[k]);
        placed[atom] = atom == parent
                           ? box.cartesian(fractions[first + atom])
                           : placed[parent] + box.displacement(fractions[first + parent], fractions[first + atom]);
      }
      const auto id = run.first_id + molecule * static_cast<std::int64_t>(size);
      for_each_between(range, atoms.ranges().end(), id, id + static_cast<std::int64_t>(size) - 1,
                       [&](std::int64_t one) { store(rows, row++, origin + placed[at(one - id)]); });
    }
  }
  TESSERA_CHECK(row == at(shares_.n_rows(own_)));
  return rows;
}

/// Returns the rows that frames hold, of (n,3) for all atoms that the share needs.
std::vector<float> FrameExchange::rows_of(std::vector<float> values) const {
  if (std::ssize(values) == 3 * shares_.n_rows(own_) || values.empty()) return values;
  std::vector<float> rows;
  rows.reserve(3 * at(shares_.n_rows(own_)));
  std::int64_t first = 0;
  for (const auto& run : molecules_) {
    const auto n = run.count * run.n_atoms;
    auto range = range_from(shares_.atoms(), run.first_id);
    for_each_between(range, shares_.atoms().ranges().end(), run.first_id, run.first_id + n - 1, [&](std::int64_t id) {
      const auto from = values.begin() + 3 * (first + id - run.first_id);
      rows.insert(rows.end(), from, from + 3);
    });
    first += n;
  }
  return rows;
}

}  // namespace tessera::app
