// The bodies of dihedrals and CMAP corrections, included once for each instruction set by dihedral.cpp.
#include "tessera/md/bonded/bonded.h"
#include "tessera/md/bonded/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::md::bonded {
namespace HWY_NAMESPACE {

/// The dihedral of atoms `first` to `first` + 3 of a term: cosine and sine of φ (IUPAC: trans is 180°, clockwise
/// positive) and what its gradient needs, without calling a trigonometric function.
///
/// Formula: F = rᵢ − rⱼ, G = rⱼ − r_k, H = r_l − r_k, A = F×G, B = H×G;
///   cos φ = A·B/|A||B|, sin φ = (B×A)·G/|A||B||G| = −|G|(F·B)/|A||B|; ∂φ/∂rᵢ = −|G|A/A², ∂φ/∂r_l = |G|B/B²
/// Source: Blondel, Karplus, J. Comput. Chem. 17, 1132 (1996),
///   10.1002/(SICI)1096-987X(19960715)17:9<1132::AID-JCC5>3.0.CO;2-T
/// Units: Å
struct Dihedral {
  std::size_t first;
  V3 f, g, h, a, b;
  V cosine, sine;
  V scale_a, scale_b;  // |G|/A², |G|/B², Å⁻¹; 0 where three atoms are in line and φ means nothing
  V along_f, along_h;  // F·G/G², H·G/G²

  template <int arity>
  HWY_INLINE Dihedral(const Places& places, const Batch<arity>& batch, std::size_t first_) : first(first_) {
    const auto j = places(batch, first + 1), k = places(batch, first + 2);
    f = places.displacement(j, places(batch, first));
    g = places.displacement(k, j);
    h = places.displacement(k, places(batch, first + 3));
    a = Cross(f, g);
    b = Cross(h, g);
    const V in_line = set(1e-16);  // Å⁴: three atoms within 1e-8 Å of a line, below what positions resolve
    const V a2 = Dot(a, a), b2 = Dot(b, b), g2 = Dot(g, g);
    const M defined = hn::And(hn::Gt(a2, in_line), hn::Gt(b2, in_line));  // also g2 > 0 where this is true
    const V length = hn::Sqrt(g2);
    const V x = Dot(a, b), y = hn::Neg(hn::Mul(length, Dot(f, b)));  // (B×A)·G = −G²(F·B)
    const V inverse =
        hn::Div(set(1), hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y))));  // cos² + sin² = 1 near 0 and 180° too
    cosine = hn::IfThenElse(defined, hn::Mul(x, inverse), set(1));
    sine = Where(defined, hn::Mul(y, inverse));
    // One division for 1/A², 1/B² and 1/G².
    const V a2b2 = hn::Mul(a2, b2), all = Where(defined, hn::Div(set(1), hn::Mul(a2b2, g2)));
    const V all_g3 = hn::Mul(all, hn::Mul(g2, length)), inverse_g2 = hn::Mul(all, a2b2);
    scale_a = hn::Mul(all_g3, b2);
    scale_b = hn::Mul(all_g3, a2);
    along_f = hn::Mul(Dot(f, g), inverse_g2);
    along_h = hn::Mul(Dot(h, g), inverse_g2);
  }

  HWY_INLINE V angle() const { return Atan2(sine, cosine); }

  /// Adds the forces of terms with dU/dφ = `slope` (kcal/mol/rad), and their virial.
  template <bool with_energy, int arity>
  HWY_INLINE void add(Accumulator& accumulator, const Batch<arity>& batch, V slope, TermVirial& virial) const {
    const V3 on_i = Mul(hn::Mul(slope, scale_a), a), on_l = Mul(hn::Neg(hn::Mul(slope, scale_b)), b);
    const V3 on_k = MulAdd(along_f, on_i, MulSub(along_h, on_l, on_l));
    AddBalanced(accumulator, batch, {first, first + 2, first + 3}, {on_i, on_k, on_l}, first + 1);
    if constexpr (with_energy) {
      // from atom j: r_i − r_j = F, r_k − r_j = −G, r_l − r_j = H − G
      virial.add(f, on_i);
      virial.add(Neg(g), on_k);
      virial.add(Sub(h, g), on_l);
    }
  }
};

struct EnergySlope {
  V energy;  // kcal/mol
  V slope;   // dU/dφ, kcal/mol/rad
};

HWY_INLINE EnergySlope Evaluate(const Dihedral& dihedral, std::span<const CosineTerm> parameters, VI rows) {
  const V k = Column(parameters, &CosineTerm::k, rows), n = Column(parameters, &CosineTerm::n, rows);
  const V cos_delta = Column(parameters, &CosineTerm::cos_delta, rows);
  const V sin_delta = Column(parameters, &CosineTerm::sin_delta, rows);
  // cos nφ and sin nφ: each lane keeps what it meets at its own n.
  V cosine = dihedral.cosine, sine = dihedral.sine;
  V cos_n = set(1), sin_n = set(0);
  const double highest = hn::GetLane(hn::MaxOfLanes(D(), n));
  for (double m = 1; m <= highest; ++m) {
    const M here = hn::Eq(n, set(m));
    cos_n = hn::IfThenElse(here, cosine, cos_n);
    sin_n = hn::IfThenElse(here, sine, sin_n);
    const V next = hn::MulSub(cosine, dihedral.cosine, hn::Mul(sine, dihedral.sine));
    sine = hn::MulAdd(sine, dihedral.cosine, hn::Mul(cosine, dihedral.sine));
    cosine = next;
  }
  const V wave = hn::MulAdd(cos_n, cos_delta, hn::Mul(sin_n, sin_delta));
  const V wave_slope = hn::MulSub(cos_n, sin_delta, hn::Mul(sin_n, cos_delta));
  return {hn::MulAdd(k, wave, k), hn::Mul(hn::Mul(k, n), wave_slope)};
}

HWY_INLINE EnergySlope Evaluate(const Dihedral& dihedral, std::span<const model::RyckaertBellemansParameter> parameters,
                                VI rows) {
  using P = model::RyckaertBellemansParameter;
  const V x = hn::Neg(dihedral.cosine);  // cos(φ − 180°), and dx/dφ = sin φ
  V energy = Column<P>(parameters[0].c[5], rows), slope = set(0);
  for (std::size_t n = 5; n-- > 0;) {
    slope = hn::MulAdd(slope, x, energy);
    energy = hn::MulAdd(energy, x, Column<P>(parameters[0].c[n], rows));
  }
  return {energy, hn::Mul(slope, dihedral.sine)};
}

HWY_INLINE EnergySlope Evaluate(const Dihedral& dihedral, std::span<const HarmonicDihedral> parameters, VI rows) {
  using P = HarmonicDihedral;
  const V k = Column(parameters, &P::k, rows);
  const V cos_phi0 = Column(parameters, &P::cos_phi0, rows), sin_phi0 = Column(parameters, &P::sin_phi0, rows);
  // the angle of φ turned back by φ₀: already in (−π, π], and exact near φ₀ wherever that is
  const V deviation = Atan2(hn::MulSub(dihedral.sine, cos_phi0, hn::Mul(dihedral.cosine, sin_phi0)),
                            hn::MulAdd(dihedral.cosine, cos_phi0, hn::Mul(dihedral.sine, sin_phi0)));
  const V half_slope = hn::Mul(k, deviation);
  return {hn::Mul(half_slope, deviation), hn::Add(half_slope, half_slope)};
}

template <bool with_energy, class Parameter>
void AddDihedralsLoop(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                      std::int64_t end, std::span<const Parameter> parameters, Accumulator& accumulator,
                      Term reported_as) {
  const Places places(lattice, position);
  ForBatches(terms, begin, end, [&](const Batch<4>& batch) HWY_ATTR {
    const Dihedral dihedral(places, batch, 0);
    const EnergySlope u = Evaluate(dihedral, parameters, batch.rows());
    TermVirial virial;
    dihedral.add<with_energy>(accumulator, batch, u.slope, virial);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, reported_as, u.energy, batch.count);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

template <class Parameter>
void AddDihedrals(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                  std::int64_t end, std::span<const Parameter> parameters, Accumulator& accumulator, Term reported_as) {
  const auto loop = accumulator.energies ? AddDihedralsLoop<true, Parameter> : AddDihedralsLoop<false, Parameter>;
  loop(lattice, position, terms, begin, end, parameters, accumulator, reported_as);
}

void AddCosines(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                std::int64_t end, std::span<const CosineTerm> parameters, Accumulator& accumulator, Term reported_as) {
  AddDihedrals(lattice, position, terms, begin, end, parameters, accumulator, reported_as);
}

void AddRyckaertBellemans(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                          std::int64_t end, std::span<const model::RyckaertBellemansParameter> parameters,
                          Accumulator& accumulator) {
  AddDihedrals(lattice, position, terms, begin, end, parameters, accumulator, Term::dihedral);
}

void AddHarmonics(const Lattice& lattice, Positions position, const TermList<4>& terms, std::int64_t begin,
                  std::int64_t end, std::span<const HarmonicDihedral> parameters, Accumulator& accumulator) {
  AddDihedrals(lattice, position, terms, begin, end, parameters, accumulator, Term::improper);
}

template <bool with_energy>
void AddCmapsLoop(const Lattice& lattice, Positions position, const TermList<8>& terms, std::int64_t begin,
                  std::int64_t end, std::span<const CmapTable> tables, Accumulator& accumulator) {
  const Places places(lattice, position);
  ForBatches(terms, begin, end, [&](const Batch<8>& batch) HWY_ATTR {
    const Dihedral phi(places, batch, 0), psi(places, batch, 4);
    // Each lane looks into its own square of its own table: one after the other.
    const D d;
    alignas(64) double angle_phi[lanes], angle_psi[lanes], slope_phi[lanes], slope_psi[lanes], energy[lanes];
    hn::Store(phi.angle(), d, angle_phi);
    hn::Store(psi.angle(), d, angle_psi);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto& table = tables[static_cast<std::size_t>(batch.parameter[lane])];
      const CmapTable::Value u = table.evaluate(angle_phi[lane], angle_psi[lane]);
      energy[lane] = u.energy;
      slope_phi[lane] = u.slope_phi;
      slope_psi[lane] = u.slope_psi;
    }
    TermVirial virial;
    phi.add<with_energy>(accumulator, batch, hn::Load(d, slope_phi), virial);
    psi.add<with_energy>(accumulator, batch, hn::Load(d, slope_psi), virial);
    if constexpr (with_energy) {
      AddEnergy(*accumulator.energies, Term::cmap, hn::Load(d, energy), batch.count);
      AddVirial(*accumulator.energies, virial, batch.count);
    }
  });
}

void AddCmaps(const Lattice& lattice, Positions position, const TermList<8>& terms, std::int64_t begin,
              std::int64_t end, std::span<const CmapTable> tables, Accumulator& accumulator) {
  const auto loop = accumulator.energies ? AddCmapsLoop<true> : AddCmapsLoop<false>;
  loop(lattice, position, terms, begin, end, tables, accumulator);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::bonded
HWY_AFTER_NAMESPACE();
