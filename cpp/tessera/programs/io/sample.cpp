#include "tessera/programs/io/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::programs {

namespace {

/// Returns the length of the box at the density of molten sodium chloride, Å.
double edge(std::int64_t n_atoms) { return std::cbrt(static_cast<double>(n_atoms) / 0.028); }

/// Returns the mixing of bits of the generator SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

io::write::Frame sample_frame(std::int64_t n_atoms) {
  io::write::Frame frame;
  frame.title = "a configuration of tessera io bench";
  frame.periodicity = 1;
  frame.moment = {1000, 0.001, 1.0};
  for (const std::size_t i : {0, 4, 8}) frame.cell[i] = edge(n_atoms);
  frame.species = {{io::text::name_of("Na+"), 22.9898, 1}, {io::text::name_of("Cl-"), 35.453, -1}};
  return frame;
}

std::vector<io::write::Atom> sample_atoms(std::int64_t n_atoms, int rank, int n_ranks) {
  const auto bound = [&](std::int64_t r) {
    return n_atoms / n_ranks * r + std::min<std::int64_t>(r, n_atoms % n_ranks);
  };
  std::int64_t stride = 7919;  // from one number to the next; every number comes once
  while (std::gcd(stride, n_atoms) != 1) stride += 2;
  const double length = edge(n_atoms);
  std::vector<io::write::Atom> atoms;
  for (auto i = bound(rank); i < bound(rank + 1); ++i) {
    const auto id = static_cast<std::int64_t>(i % n_atoms * (stride % n_atoms) % n_atoms) + 1;
    io::write::Atom atom{id, id % 2, {}};
    for (std::size_t k = 0; k < 3; ++k)
      atom.position[k] = (static_cast<double>(mixed(static_cast<std::uint64_t>(3 * id) + k)) * 0x1p-64 - 0.5) * length;
    atoms.push_back(atom);
  }
  return atoms;
}

}  // namespace tessera::programs
