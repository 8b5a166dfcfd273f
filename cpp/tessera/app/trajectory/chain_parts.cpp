#include "tessera/app/trajectory/chain_parts.h"

#include "tessera/base/index.h"

namespace tessera::app {

namespace {

using Image = std::array<std::int32_t, 3>;

std::array<std::int32_t, 3> values_of(const Fraction& f) { return {f.x, f.y, f.z}; }

/// Returns how many box vectors further `b` is in the image that is nearest to `a`.
Image turns(const Fraction& a, const Fraction& b) {
  const auto from = values_of(a), to = values_of(b), nearest = values_of(b - a);
  Image image{};
  for (std::size_t d = 0; d < 3; ++d)
    image[d] = static_cast<std::int32_t>((std::int64_t{nearest[d]} - (std::int64_t{to[d]} - from[d])) >> 32);
  return image;
}

Image operator+(const Image& a, const Image& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Image operator-(const Image& a, const Image& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

/// What neighbours know of a share: its atoms of the bonds over its begin and its end, with their images.
struct Ends {
  static constexpr std::size_t size = 13;
  Fraction before, behind;
  Image image_before{}, image_behind{};
  bool is_one_part = false;

  void write(std::span<std::int64_t> to) const {
    std::size_t n = 0;
    for (const auto& three : {values_of(before), values_of(behind), image_before, image_behind})
      for (const auto value : three) to[n++] = value;
    to[n] = is_one_part ? 1 : 0;
  }
  static Ends read(std::span<const std::int64_t> from) {
    const auto three = [&](std::size_t i) {
      Image values{};
      for (std::size_t d = 0; d < 3; ++d) values[d] = static_cast<std::int32_t>(from[3 * i + d]);
      return values;
    };
    const auto p = three(0), q = three(1);
    return {{p[0], p[1], p[2]}, {q[0], q[1], q[2]}, three(2), three(3), from[12] != 0};
  }
};

}  // namespace

ChainParts::ChainParts(const model::System& system, const FrameShares& shares, int own) : own_(own) {
  if (own < 0) return;
  std::size_t first = 0;
  const auto molecules = shares.molecules(own);
  for (const auto& run : molecules) {
    if (run.is_chain) {
      const auto begin = system.find(run.first_id), last = system.find(run.first_id + run.n_atoms - 1);
      parts_.push_back({first, make_bond_tree(system.joined(begin.instance, last.instance - begin.instance + 1))});
    }
    first += at(run.n_atoms * run.count);
  }
  // The atoms of the bond to the unit before an atom: by distance from that atom.
  const auto link = [&](std::int64_t id) {
    const auto unit = system.find(id), previous = system.find(id - 1);
    return find_link(system.templates[at(previous.molecule)], system.templates[at(unit.molecule)]).value();
  };
  if (shares.begins_in_chain(own)) {
    before_ = link(molecules.front().first_id)[1];
    is_one_part_ = molecules.size() == 1;
  }
  if (own + 1 < shares.n_shares() && shares.begins_in_chain(own + 1)) {
    const auto& run = molecules.back();
    behind_ = static_cast<std::int64_t>(first) + link(run.first_id + run.n_atoms)[0];
  }
}

ChainParts::Images ChainParts::images(const FrameShares& shares, std::span<const Fraction> fractions,
                                      const comm::Communicator& comm) const {
  Images images;
  for (const auto& [first, tree] : parts_) {
    auto& of_part = images.emplace_back(tree.order.size());
    for (std::size_t k = 0; k < tree.order.size(); ++k) {
      const auto atom = at(tree.order[k]), parent = at(tree.parent[k]);
      if (atom != parent) of_part[atom] = of_part[parent] + turns(fractions[first + parent], fractions[first + atom]);
    }
  }
  if (!shares.cuts_chains()) return images;
  std::vector<std::int64_t> values(Ends::size * at(shares.n_shares()), 0);  // each share adds to the others' zeros
  const auto ends_of = [&](std::int64_t share) {
    return std::span(values).subspan(Ends::size * at(share), Ends::size);
  };
  Ends own;
  own.is_one_part = is_one_part_;
  if (before_ >= 0) own.before = fractions[at(before_)], own.image_before = images.front()[at(before_)];
  if (behind_ >= 0) {
    own.behind = fractions[at(behind_)];
    own.image_behind = images.back()[at(behind_) - parts_.back().first];
  }
  if (own_ >= 0) own.write(ends_of(own_));
  comm.all_reduce_sum(values);
  if (own_ < 0 || before_ < 0) return images;

  Image shift{};  // of the first part of a share
  for (int share = 1; share <= own_; ++share) {
    const auto previous = Ends::read(ends_of(share - 1)), here = Ends::read(ends_of(share));
    if (!previous.is_one_part) shift = {};
    if (shares.begins_in_chain(share))
      shift = shift + previous.image_behind + turns(previous.behind, here.before) - here.image_before;
  }
  for (auto& image : images.front()) image = image + shift;
  return images;
}

}  // namespace tessera::app
