#include "tessera/md/pair/exact_pairs.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/index.h"

namespace tessera::md::pair {

namespace {

/// Atoms closer than this are treated as 10⁻⁸ Å apart, so that every function of distance is finite.
constexpr double least_r2 = 1e-16;

bool is_limited(double force_over_r, double r) { return !(std::abs(force_over_r) * r < force_limit); }

/// Returns the limited force along d; atoms at the same place are pushed apart along x.
Vec3 limited(double force_over_r, double r, const Vec3& d) {
  if (!is_limited(force_over_r, r)) return force_over_r * d;
  const double length = norm(d), sign = force_over_r < 0 ? -1 : 1;
  return length > 0 ? (sign * force_limit / length) * d : Vec3{sign * force_limit, 0, 0};
}

}  // namespace

ExactPairs::ExactPairs(const PairData& data)
    : data_(data),
      domain_(data.domain),
      settings_(data.settings),
      cell_(at(data.domain.n_clusters())),
      to_length_(domain_.state().box.unit_vectors()),
      shift_(half_shell_vectors(domain_)) {
  if (settings_.lj == LjModifier::pme)
    dispersion_at_cutoff_ = dispersion_without_mesh(settings_.lj_alpha, settings_.cutoff * settings_.cutoff).energy;
  for (std::int32_t c = 0; c < domain_.n_cells(); ++c)
    std::fill(cell_.begin() + domain_.first_cluster(c), cell_.begin() + domain_.first_cluster(c + 1), c);
}

/// Returns the position of an atom relative to the centre of its cell, Å.
Vec3 ExactPairs::relative(std::int32_t slot) const {
  const auto cell = domain_.cell(cell_[at(slot / cluster_size)]);
  return to_length_ * (domain_.state().position[at(slot)] - domain_.grid().centre(cell)).units();
}

/// Returns cᵢcⱼ of the dispersion that a mesh computes: √(BᵢᵢBⱼⱼ).
double ExactPairs::dispersion_of(std::int32_t i, std::int32_t j) const {
  const auto of_type = [&](std::int32_t slot) {
    return data_.short_range.lj(data_.type[at(slot)], data_.type[at(slot)]).b;
  };
  return std::sqrt(of_type(i) * of_type(j));
}

void ExactPairs::add_pair(std::int32_t i, std::int32_t j, const Vec3& d, bool excluded,
                          ExclusionEnergy exclusion_energy, Accumulator& accumulator) const {
  const double r2 = std::max(norm2(d), least_r2);
  if (r2 >= settings_.range() * settings_.range()) return;
  const double qq = settings_.coulomb_constant * data_.charge[at(i)] * data_.charge[at(j)];
  const bool has_lj_mesh = settings_.lj == LjModifier::pme;
  const double c = has_lj_mesh ? dispersion_of(i, j) : 0;
  const auto dispersion = has_lj_mesh ? dispersion_without_mesh(settings_.lj_alpha, r2) : ForceEnergy{};
  ForceEnergy lj, real, exclusion;
  if (!excluded) {
    lj = data_.short_range(data_.type[at(i)], data_.type[at(j)], r2);
    if (has_lj_mesh && r2 < settings_.cutoff * settings_.cutoff) {
      lj.force_over_r += c * dispersion.force_over_r;
      lj.energy += c * (dispersion.energy - dispersion_at_cutoff_);
    }
    real = coulomb(settings_, r2);
  } else if (settings_.electrostatics == Electrostatics::pme) {
    exclusion = ewald_exclusion(settings_.alpha, r2);
    if (has_lj_mesh) lj.force_over_r = c * dispersion.force_over_r;
  }
  const double force_over_r = lj.force_over_r + qq * (real.force_over_r + exclusion.force_over_r);
  const Vec3 f = limited(force_over_r, std::sqrt(r2), d);
  accumulator.add_force(i, f);
  accumulator.add_force(j, -f);
  if (accumulator.energies == nullptr) return;
  accumulator.energies->add(Term::lj, lj.energy);
  accumulator.energies->add(Term::coulomb_real, qq * real.energy);
  if (excluded && exclusion_energy == ExclusionEnergy::add) {
    accumulator.energies->add(Term::coulomb_exclusion, qq * exclusion.energy);
    if (has_lj_mesh) accumulator.energies->add(Term::lj_mesh, c * dispersion.energy);
  }
  // The virial uses the unlimited force; only sums that many atoms share must be limited.
  accumulator.energies->add_virial(d, force_over_r * d);
  const bool is_in_core = !excluded && data_.short_range.is_in_core(data_.type[at(i)], data_.type[at(j)], r2);
  if (is_in_core || is_limited(force_over_r, std::sqrt(r2))) {
    const auto [id, other] = std::minmax(domain_.state().id[at(i)], domain_.state().id[at(j)]);
    accumulator.energies->clashes.add({norm(d), id, other});
  }
}

void ExactPairs::add(std::int32_t i_cluster, const MaskedEntry& entry, ExclusionEnergy exclusion_energy,
                     Accumulator& accumulator) const {
  const Vec3& shift = shift_[cell_of(entry.j)];
  for (int j = 0; j < cluster_size; ++j) {
    const auto sj = cluster_of(entry.j) * cluster_size + j;
    if (domain_.is_padding(sj)) continue;
    const Vec3 rj = relative(sj) + shift;
    for (int i = 0; i < cluster_size; ++i) {
      const auto si = i_cluster * cluster_size + i;
      const auto bit = 1u << (4 * i + j);
      if (domain_.is_padding(si) || !((entry.interact | entry.excluded) & bit)) continue;
      add_pair(si, sj, relative(si) - rj, (entry.excluded & bit) != 0, exclusion_energy, accumulator);
    }
  }
}

void ExactPairs::add(std::int32_t i, std::int32_t j, std::size_t offset, bool excluded,
                     ExclusionEnergy exclusion_energy, Accumulator& accumulator) const {
  add_pair(i, j, relative(i) - relative(j) - shift_[offset], excluded, exclusion_energy, accumulator);
}

void ExactPairs::add_exclusion_energies(std::int32_t i_cluster, const MaskedEntry& entry,
                                        EnergyVirial& energies) const {
  for (int i = 0; i < cluster_size; ++i)
    for (int j = 0; j < cluster_size; ++j)
      if (entry.excluded & (1u << (4 * i + j)))
        add_exclusion_energy(i_cluster * cluster_size + i, cluster_of(entry.j) * cluster_size + j, cell_of(entry.j),
                             energies);
}

void ExactPairs::add_exclusion_energy(std::int32_t i, std::int32_t j, std::size_t offset,
                                      EnergyVirial& energies) const {
  if (settings_.electrostatics != Electrostatics::pme) return;
  const double r2 = norm2(relative(i) - relative(j) - shift_[offset]);
  if (r2 >= settings_.range() * settings_.range()) return;
  energies.add(Term::coulomb_exclusion, settings_.coulomb_constant * data_.charge[at(i)] * data_.charge[at(j)] *
                                            ewald_exclusion_energy(settings_.alpha, r2));
  if (settings_.lj == LjModifier::pme)
    energies.add(Term::lj_mesh, dispersion_of(i, j) * dispersion_without_mesh(settings_.lj_alpha, r2).energy);
}

}  // namespace tessera::md::pair
