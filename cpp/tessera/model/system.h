// The inert System says what is simulated, and not how: force-field tables, molecule templates, runs of instances and
// the box. It is small for any number of atoms; coordinates are kept elsewhere (docs/reference/system_file.md).
//
// Units: Å, amu, kcal/mol, elementary charge, radian.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/model/bonded_kinds.h"
#include "tessera/model/lj_truncation.h"
#include "tessera/model/pair_potential.h"
#include "tessera/model/virtual_site.h"

namespace tessera::model {

struct LennardJones {  // 4ε[(σ/r)¹² − (σ/r)⁶]
  double sigma, epsilon;
};
/// A/r¹² − B/r⁶, kcal/mol·Å¹² and kcal/mol·Å⁶.
struct LennardJonesAB {
  double a, b;
};
enum class LjRule { lorentz_berthelot, geometric };

struct NbfixPair {
  int type_a, type_b;
  LennardJonesAB ab;
};

/// The table of parameters of one kind of term.
template <class Kind>
using ParametersOf = std::vector<typename Kind::Parameter>;

struct ForceField {
  double coulomb_constant = 0;  // kcal Å mol⁻¹ e⁻²
  LjRule lj_rule = LjRule::lorentz_berthelot;
  std::vector<std::string> type_name;
  std::vector<LennardJones> type_lj;
  std::vector<NbfixPair> nbfix;
  std::vector<PairPotential> pair_potentials;  // in place of Lennard-Jones; each pair of types at most once
  std::vector<TabulatedPotential> pair_tables;
  ByKind<ParametersOf> parameters;

  /// Returns A and B of a pair of types, by the combination rule or by the exception listed for the pair.
  LennardJonesAB lj(int type_a, int type_b) const;
};

/// Terms of one kind: `Arity` local atom indices and a row of the parameter table each.
template <int Arity>
struct Terms {
  std::vector<std::array<std::int32_t, Arity>> atoms;
  std::vector<std::int32_t> parameter;
};

template <class Kind>
using TermsOf = Terms<Kind::arity>;

/// A kind of molecule, or a unit of chains: a run of whole hydrogen groups (a residue), whose terms and exclusions may
/// name atoms of the units before and behind it, by their distance in ids from the unit's first atom. The key atom of a
/// term is the unit's own; an excluded pair of two units is listed by both.
struct Template {
  std::string name;
  bool rigid_water = false;   // atoms 0, 1, 2 are O, H, H
  bool always_rigid = false;  // has no flexible form: bonds without a force, and a rigid water, are rigid in every run
  bool is_flexible = false;   // in the input: `h-bonds` leaves its bonds with a force alone
  double water_oh = 0, water_hh = 0;

  std::vector<std::string> atom_name;
  std::vector<std::int32_t> type;
  std::vector<double> charge;
  std::vector<double> mass;  // 0: a virtual site
  std::vector<std::int32_t> atomic_number;
  std::vector<std::int32_t> residue;
  std::vector<std::string> residue_name;
  std::vector<std::string> segment_name;
  std::vector<std::int32_t> residue_number;
  std::vector<std::int32_t> group;  // local index of the hydrogen group's key atom

  ByKind<TermsOf> terms;
  std::vector<std::array<std::int32_t, 2>> exclusions;  // i < j
  std::vector<VirtualSite> virtual_sites;               // by ascending atom

  bool is_virtual_site(std::int32_t atom) const {
    const auto place = std::lower_bound(virtual_sites.begin(), virtual_sites.end(), atom,
                                        [](const VirtualSite& site, std::int32_t value) { return site.atom < value; });
    return place != virtual_sites.end() && place->atom == atom;
  }
  /// Returns whether an index is one of the template's own atoms.
  bool has(std::int64_t atom) const { return atom >= 0 && atom < n_atoms(); }
  /// Returns the lowest and the highest index that a term, an exclusion or an atom of its own has.
  std::array<std::int64_t, 2> reach() const;
  std::int64_t n_atoms() const { return static_cast<std::int64_t>(type.size()); }
};

/// `count` molecules of one template, with consecutive atom ids from `first_id`.
struct InstanceRun {
  std::int64_t first_id;
  std::int64_t count;
  std::int32_t molecule;  // index of the template
  bool is_in_chain = false;
  std::int64_t first_instance = 0;

  std::int64_t last_instance() const { return first_instance + count - 1; }
};

/// Consecutive runs of units that together are one molecule.
struct Chain {
  std::int64_t first_run, n_runs;
  std::int64_t first_id = 0, n_atoms = 0;
};

/// A molecule: an instance of a template or a chain.
struct Molecule {
  std::int64_t first_id, n_atoms;
  std::int64_t n_equal;  // it and those of the same kind that follow
  std::size_t kind;      // index of the template, or behind all templates that of the chain
};

/// How the input numbers the residues of `count` molecules: molecule `first` + i, of all instances in order, begins
/// with residue `number` + i·`step`. Units of chains count as molecules here.
struct ResidueNumbers {
  std::int64_t first, count, number, step;
};

/// What an atom id refers to: a template, the index in it, the id of the molecule's first atom, and the number of the
/// molecule among all instances.
struct AtomReference {
  std::int32_t molecule;
  std::int32_t local;
  std::int64_t first_id;
  std::int64_t instance;
};

class System {
 public:
  ForceField force_field;
  std::vector<Template> templates;
  Box box;
  bool is_periodic = true;
  Vec3 origin;  // Å: of the input's coordinates, of which the middle of the box is this; 0 where the box repeats
  std::string coulomb_source, source;
  LjTruncation lj_truncation;  // of the source

  std::vector<ResidueNumbers> residue_numbers;  // in order, without overlap; of templates with several instances

  /// Sets the runs (first ids are counted here). Throws InputError if a template is out of range.
  void set_instances(const std::vector<std::pair<std::int32_t, std::int64_t>>& template_and_count);
  /// Joins runs to chains, of which `first_run` and `n_runs` are given, in order. Throws InputError where runs are
  /// missing or in two chains, and where an atom that a template names is in another molecule.
  void set_chains(const std::vector<Chain>& chains);

  const std::vector<InstanceRun>& instances() const { return instances_; }
  const std::vector<Chain>& chains() const { return chains_; }
  Molecule molecule_of(std::int64_t id) const;
  /// Returns the template of some consecutive instances as one molecule, without the terms that reach out of them.
  Template joined(std::int64_t first_instance, std::int64_t count) const;
  std::int64_t n_atoms() const { return n_atoms_; }
  AtomReference find(std::int64_t id) const;
  /// Returns the bytes of templates and instances, which every rank holds.
  std::int64_t bytes() const;
  std::int64_t n_virtual_sites() const;
  double net_charge() const;              // e
  double total_mass() const;              // amu
  double sum_of_squared_charges() const;  // e²
  /// Returns the number of atoms of each Lennard-Jones type.
  std::vector<std::int64_t> type_counts() const;
  /// Describes an atom for messages: "atom 4711 (TIP3 1203 H1)", with the input's residue number, or with the number of
  /// the molecule where that is not known ("atom 4711 (TIP3 H1, molecule 1203)"); all count from 1.
  std::string describe(std::int64_t id) const;

 private:
  const InstanceRun& run_of(std::int64_t id) const;
  /// Calls visit(template, count) for all runs; unit by unit in chains, so that sums are those of whole molecules.
  template <class Visit>
  void for_each_run(Visit&& visit) const;

  std::vector<InstanceRun> instances_;
  std::vector<Chain> chains_;
  std::int64_t n_atoms_ = 0;
};

}  // namespace tessera::model
