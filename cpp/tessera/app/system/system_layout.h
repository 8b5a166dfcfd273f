// What a system file says about a system, each dataset once. Whoever goes through all of it does so here: the reader
// fills a system, the fingerprint adds one up, and the check of names learns which there may be. So a dataset that is
// not visited can't be read, and one that is read counts in the fingerprint.
//
// Not here, as a restart does not depend on them: coordinates, velocities and the order of blocks, which a checkpoint
// has itself, and the attributes that say where the system comes from.
//
// A visitor is called with the name of a dataset or attribute in its group, the member that holds it, and its layout.
#pragma once

#include <cstddef>
#include <string_view>

#include "tessera/model/system.h"

namespace tessera::app::layout {

struct Attribute {
  bool may_be_absent = false;
  std::string_view part = {};  // of the fingerprint, where it is not the attribute's own name
};
struct Mark {};  // an attribute that is there where it is 1: without it a fingerprint is as before there was one
struct Origin {
};  // an attribute of three numbers, absent where they are 0: without it a fingerprint is as before there was one
struct AnyRows {};  // a table with any number of rows
struct Scalars {    // one value a row
  std::size_t rows;
};
struct FirstColumn {  // as many indices below `bound` as there are rows in the others; at least one
  std::size_t bound;
};
struct Indices {  // one below `bound` a row
  std::size_t rows, bound;
};
struct AtomPairs {  // any number of them
  std::size_t n_atoms;
};
struct TermTable {  // a group with `atoms` and `parameter`
  std::size_t n_atoms, n_parameters;
};
struct Chains {};   // of runs
struct SiteTable {  // a group with `atom`, `frame`, `position`, `parents` and `weights`
  std::size_t n_atoms;
};
struct TypePairs {  // `_types` with either `_lj` or `_ab`
  std::size_t n_types;
};
struct PotentialPairs {  // `_types`, `_kind` and `_parameter`
  std::size_t n_types;
};
struct Runs {};
struct SettleLengths {};  // an attribute

template <class System, class Visitor>
void visit_root(System& system, Visitor&& visit) {
  visit("box", system.box, AnyRows{});
  visit("periodic", system.is_periodic, Attribute{});
  visit("origin", system.origin, Origin{});
  visit("coulomb_constant", system.force_field.coulomb_constant, Attribute{});
  visit("lj_rule", system.force_field.lj_rule, Attribute{});
}

/// Visits what is in /forcefield.
template <class ForceField, class Visitor>
void visit_force_field(ForceField& field, Visitor&& visit) {
  visit("type_lj", field.type_lj, AnyRows{});
  const std::size_t n_types = field.type_lj.size();
  visit("type_name", field.type_name, Scalars{n_types});
  visit("nbfix", field.nbfix, TypePairs{n_types});
  visit("pair_tables", field.pair_tables, AnyRows{});
  visit("pair_potential", field.pair_potentials, PotentialPairs{n_types});
  model::for_each_kind([&](auto kind) { visit(kind.name, field.parameters[kind], AnyRows{}); });
}

/// Visits what is in a group in /templates.
template <class Template, class Visitor>
void visit_template(Template& molecule, const model::ForceField& field, Visitor&& visit) {
  visit("name", molecule.name, Attribute{true});
  visit("type", molecule.type, FirstColumn{field.type_lj.size()});
  const std::size_t n = molecule.type.size();
  visit("atom_name", molecule.atom_name, Scalars{n});
  visit("charge", molecule.charge, Scalars{n});
  visit("mass", molecule.mass, Scalars{n});
  visit("atomic_number", molecule.atomic_number, Scalars{n});
  visit("residue_number", molecule.residue_number, AnyRows{});
  const std::size_t n_residues = molecule.residue_number.size();
  visit("residue", molecule.residue, Indices{n, n_residues});
  visit("residue_name", molecule.residue_name, Scalars{n_residues});
  visit("segment_name", molecule.segment_name, Scalars{n_residues});
  visit("group", molecule.group, Indices{n, n});
  model::for_each_kind([&](auto kind) {
    visit(kind.name, molecule.terms[kind], TermTable{n, field.parameters[kind].size()});
  });
  visit("exclusions", molecule.exclusions, AtomPairs{n});
  visit("virtual_site", molecule.virtual_sites, SiteTable{n});
  visit("rigid_water", molecule.rigid_water, Attribute{true});
  visit("always_rigid", molecule.always_rigid, Attribute{true, "rigid_water"});
  visit("flexible", molecule.is_flexible, Mark{});
  visit("settle", molecule, SettleLengths{});
}

/// Visits what is in /instances.
template <class System, class Visitor>
void visit_instances(System& system, Visitor&& visit) {
  visit("runs", system, Runs{});
  visit("chains", system, Chains{});
  visit("residue_numbers", system.residue_numbers, AnyRows{});
}

}  // namespace tessera::app::layout
