// Dihedrals, proper and improper, and CMAP corrections.
//
// Formula: k[1 + cos(nφ − δ)]; Σ Cₙ cosⁿ(φ − 180°); k(φ − φ₀)² with the difference in (−π, π]; U(φ, ψ) of a CmapTable.
//   cos nφ and sin nφ by adding φ again and again, so no trigonometric function is called for a cosine
// Source: geometry as Blondel and Karplus 1996 (geometry.h); Ryckaert, Bellemans, Chem. Phys. Lett. 30, 123 (1975),
//   10.1016/0009-2614(75)85513-8; CMAP in cmap_table.h
// Units: Å, kcal/mol, rad
// Cost: two square roots and four divisions an angle, however many cosines share it; one arctangent for a harmonic
//   improper, two for a CMAP
#include <cmath>
#include <type_traits>

#include "tessera/md/bonded/bonded.h"
#include "tessera/md/bonded/geometry.h"

namespace tessera::md::bonded {
namespace {

// cos nφ and sin nφ; rows come with rising n as a rule, so it goes on from where it stands.
class Harmonics {
 public:
  explicit Harmonics(const Dihedral& d) : cosine_1_(d.cosine), sine_1_(d.sine) {}

  void go_to(int n) {
    if (n < n_) {
      n_ = 0;
      cosine = 1;
      sine = 0;
    }
    for (; n_ < n; ++n_) {
      const double next = cosine * cosine_1_ - sine * sine_1_;
      sine = sine * cosine_1_ + cosine * sine_1_;
      cosine = next;
    }
  }

  double cosine = 1, sine = 0;

 private:
  double cosine_1_, sine_1_;
  int n_ = 0;
};

struct EnergySlope {
  double energy = 0;  // kcal/mol
  double slope = 0;   // dU/dφ, kcal/mol/rad
};

// The first row at or after `row` that begins a term.
std::size_t term_begin(const TermList<4>& terms, std::size_t row) {
  const std::size_t n = terms.slots.size();
  while (row > 0 && row < n && terms.slots[row] == terms.slots[row - 1]) ++row;
  return row;
}

// Calls evaluate(dihedral, parameter row, sum) for every row of the terms that begin in [begin, end).
template <bool WithEnergy, class Evaluate>
void add_range(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
               std::int64_t end, Accumulator& accumulator, Term reported_as, Evaluate&& evaluate) {
  const std::size_t n = terms.slots.size(), stop = static_cast<std::size_t>(end);
  std::size_t row = term_begin(terms, static_cast<std::size_t>(begin));
  while (row < stop) {
    const auto& s = terms.slots[row];
    const Dihedral dihedral(lattice, position, s);
    EnergySlope sum;
    Harmonics harmonics(dihedral);
    do {
      evaluate(dihedral, harmonics, at(terms.parameter[row]), sum);
      ++row;
    } while (row < n && terms.slots[row] == s);
    TermVirial virial;
    dihedral.add<WithEnergy>(accumulator, s, sum.slope, virial);
    if constexpr (WithEnergy) {
      accumulator.energies->add(reported_as, sum.energy);
      virial.add_to(*accumulator.energies);
    }
  }
}

void add_cosines(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                 std::int64_t end, std::span<const CosineTerm> parameters, Accumulator& accumulator, Term reported_as) {
  with_or_without_energies(accumulator, [&](auto with) {
    add_range<decltype(with)::value>(
        lattice, position, terms, begin, end, accumulator, reported_as,
        [parameters](const Dihedral&, Harmonics& harmonics, std::size_t row, EnergySlope& sum) {
          const CosineTerm& p = parameters[row];
          harmonics.go_to(p.n);
          sum.energy += p.k * (1 + harmonics.cosine * p.cos_delta + harmonics.sine * p.sin_delta);
          sum.slope -= p.k * p.n * (harmonics.sine * p.cos_delta - harmonics.cosine * p.sin_delta);
        });
  });
}

}  // namespace

void add_dihedrals(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                   std::int64_t end, std::span<const CosineTerm> parameters, Accumulator& accumulator) {
  add_cosines(lattice, position, terms, begin, end, parameters, accumulator, Term::dihedral);
}

void add_impropers_periodic(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                            std::int64_t end, std::span<const CosineTerm> parameters, Accumulator& accumulator) {
  add_cosines(lattice, position, terms, begin, end, parameters, accumulator, Term::improper);
}

void add_dihedrals_rb(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                      std::int64_t end, std::span<const model::RyckaertBellemansParameter> parameters,
                      Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    add_range<decltype(with)::value>(
        lattice, position, terms, begin, end, accumulator, Term::dihedral,
        [parameters](const Dihedral& dihedral, const Harmonics&, std::size_t row, EnergySlope& sum) {
          const auto& c = parameters[row].c;
          const double x = -dihedral.cosine;  // cos(φ − 180°), and dx/dφ = sin φ
          sum.energy += c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))));
          sum.slope += dihedral.sine * (c[1] + x * (2 * c[2] + x * (3 * c[3] + x * (4 * c[4] + x * 5 * c[5]))));
        });
  });
}

void add_impropers_harmonic(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                            std::int64_t end, std::span<const HarmonicDihedral> parameters, Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    add_range<decltype(with)::value>(
        lattice, position, terms, begin, end, accumulator, Term::improper,
        [parameters](const Dihedral& dihedral, const Harmonics&, std::size_t row, EnergySlope& sum) {
          const HarmonicDihedral& p = parameters[row];
          // the angle of φ turned back by φ₀: already in (−π, π], and exact near φ₀ wherever that is
          const double deviation = std::atan2(dihedral.sine * p.cos_phi0 - dihedral.cosine * p.sin_phi0,
                                              dihedral.cosine * p.cos_phi0 + dihedral.sine * p.sin_phi0);
          sum.energy += p.k * deviation * deviation;
          sum.slope += 2 * p.k * deviation;
        });
  });
}

void add_cmaps(const Lattice& lattice, Positions position, const TermList<8>& terms, std::int64_t begin,
               std::int64_t end, std::span<const CmapTable> tables, Accumulator& accumulator) {
  with_or_without_energies(accumulator, [&](auto with) {
    constexpr bool with_energy = decltype(with)::value;
    for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(end); ++t) {
      const auto& s = terms.slots[t];
      const std::array<std::int32_t, 4> first{s[0], s[1], s[2], s[3]}, second{s[4], s[5], s[6], s[7]};
      const Dihedral phi(lattice, position, first), psi(lattice, position, second);
      const CmapTable::Value u = tables[at(terms.parameter[t])].evaluate(phi.angle(), psi.angle());
      TermVirial virial;
      phi.add<with_energy>(accumulator, first, u.slope_phi, virial);
      psi.add<with_energy>(accumulator, second, u.slope_psi, virial);
      if constexpr (with_energy) {
        accumulator.energies->add(Term::cmap, u.energy);
        virial.add_to(*accumulator.energies);
      }
    }
  });
}

}  // namespace tessera::md::bonded
