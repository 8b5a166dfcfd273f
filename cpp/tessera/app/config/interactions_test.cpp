#include "tessera/app/config/interactions.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tessera/app/config/read_config.h"
#include "tessera/app/engine_settings.h"
#include "tessera/app/restart/checkpoint.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::app {
namespace {

using test::expect_says;

/// The truncation of each program where an input does not say.
const std::map<std::string, model::LjTruncation> usual = {{"charmm", {model::LjModifier::force_switch, 12, 10, false}},
                                                          {"amber", {model::LjModifier::cut, 9, 0, true}},
                                                          {"gromacs", {model::LjModifier::cut, 10, 0, false}},
                                                          {"openmm", {model::LjModifier::cut, 10, 0, true}}};

/// Returns eight atoms of one kind from this program, in a box that the longest cut-off here fits.
model::System atoms_from(const std::string& program) {
  model::System system;
  const double edge = 43.21;
  system.box = {{edge, 0, 0}, {0, edge, 0}, {0, 0, edge}};
  system.coulomb_source = program;
  system.lj_truncation = usual.at(program);
  system.force_field.coulomb_constant = 332;
  system.force_field.type_name = {"OT"};
  system.force_field.type_lj = {{3.15, 0.15}};
  model::Template atom;
  atom.name = "atom";
  atom.atom_name = {"O"};
  atom.type = {0};
  atom.charge = {0};
  atom.mass = {16};
  atom.atomic_number = {8};
  atom.residue = {0};
  atom.residue_name = atom.segment_name = {"O"};
  atom.residue_number = {1};
  atom.group = {0};
  system.templates = {atom};
  system.set_instances({{0, 8}});
  return system;
}

RunConfig parse(const std::string& text) {
  return parse_run_text("[input]\nsystem = \"a.tsr\"\n" + text, "run.toml", "");
}

model::LjTruncation resolved(const std::string& program, const std::string& interactions) {
  return resolve_lj(parse("[interactions]\n" + interactions), atoms_from(program));
}

std::string text_resolved(const std::string& program, const std::string& interactions) {
  return text_of(resolved(program, interactions));
}

std::string message_of(const model::System& system, const std::string& text) {
  return test::message_of<InputError>([&] { plan_settings(parse(text), system); });
}

TEST(Parallel, RefusesToReplicateMoreAtomsThanARankCanNumber) {
  const std::string replicated = "[parallel]\nmode = \"replicated\"\n";
  auto system = atoms_from("charmm");
  EXPECT_EQ(message_of(system, replicated), "");
  system.set_instances({{0, 150'000'001}});
  EXPECT_EQ(message_of(system, ""), "");
  expect_says(message_of(system, replicated),
              "at most 150000000; this system has 150000001: take parallel.mode = \"cells\"");
}

TEST(Interactions, DefaultsFollowTheSource) {
  EXPECT_EQ(text_resolved("charmm", ""), "force-switch from 10 to 12 Å, no tail");
  EXPECT_EQ(text_resolved("amber", ""), "cut at 9 Å, with tail");
  EXPECT_EQ(text_resolved("gromacs", ""), "cut at 10 Å, no tail");
  EXPECT_EQ(text_resolved("openmm", ""), "cut at 10 Å, with tail");
  auto own = atoms_from("openmm");
  own.lj_truncation = {LjModifier::quintic_switch, 11.5, 9.7, false};
  EXPECT_EQ(text_of(resolve_lj(parse(""), own)), "quintic-switch from 9.7 to 11.5 Å, no tail");
}

TEST(Interactions, TheSwitchFollowsTheCutoff) {
  EXPECT_EQ(text_resolved("charmm", "cutoff = 9\n"), "force-switch from 7 to 9 Å, no tail");
  EXPECT_EQ(text_resolved("charmm", "cutoff = 9\nswitch = 8\n"), "force-switch from 8 to 9 Å, no tail");
  EXPECT_EQ(text_resolved("charmm", "cutoff = 1.5\n"), "force-switch from 0 to 1.5 Å, no tail");
  EXPECT_EQ(text_resolved("charmm", "lj = \"cut\"\ncutoff = 8\n"), "cut at 8 Å, no tail");
  EXPECT_EQ(text_resolved("charmm", "lj = \"quintic-switch\"\n"), "quintic-switch from 10 to 12 Å, no tail");
  EXPECT_EQ(text_resolved("amber", "lj = \"force-switch\"\n"), "force-switch from 7 to 9 Å, with tail");
  auto narrow = atoms_from("openmm");
  narrow.lj_truncation = {LjModifier::quintic_switch, 10, 9, true};
  EXPECT_EQ(text_of(resolve_lj(parse("[interactions]\ncutoff = 12\n"), narrow)),
            "quintic-switch from 11 to 12 Å, with tail");
}

TEST(Interactions, WithoutABoxThereIsNoTail) {
  auto system = atoms_from("amber");
  system.is_periodic = false;
  EXPECT_EQ(text_of(resolve_lj(parse("[interactions]\nelectrostatics = \"cut\"\n"), system)), "cut at 9 Å, no tail");
  expect_says(message_of(system, "[interactions]\nelectrostatics = \"cut\"\nlj_tail = true\n"), "has no density");
  expect_says(message_of(system, ""), "a mesh can't act");
}

TEST(Interactions, ContradictionsAreRefused) {
  const auto charmm = atoms_from("charmm"), amber = atoms_from("amber");
  expect_says(message_of(charmm, "[interactions]\ncutoff = 9\nswitch = 10\n"),
              "interactions.switch = 10.0 Å must be less than interactions.cutoff = 9.0 Å;");
  expect_says(message_of(amber, "[interactions]\nlj = \"force-switch\"\nswitch = 10\n"),
              "interactions.switch = 10.0 Å must be less than interactions.cutoff = 9.0 Å (auto)");
  expect_says(message_of(amber, "[pme]\ncutoff = 8\n"),
              "pme.cutoff = 8.0 Å must be at least interactions.cutoff = 9.0 Å (auto)");
  const auto both =
      message_of(amber,
                 "[interactions]\nlj = \"force-switch\"\nswitch = 9.5\nelectrostatics = \"force-switch\"\n"
                 "coulomb_switch = 9.5\n");
  expect_says(both, "the settings in effect: 2 errors");
  expect_says(both, "interactions.coulomb_switch = 9.5 Å must be less than interactions.cutoff = 9.0 Å (auto)");
}

TEST(Interactions, ATailFromWithinAtomsIsRefused) {
  for (const auto* lj : {"force-switch", "potential-switch", "force-switch-gromacs", "quintic-switch"}) {
    const std::string text = "[interactions]\nlj_tail = true\nlj = \"" + std::string(lj) + "\"\nswitch = ";
    expect_says(message_of(atoms_from("charmm"), text + "0\n"), "beyond interactions.switch = 0.0 Å");
    expect_says(message_of(atoms_from("charmm"), text + "2.5\n"), "atoms of the types OT and OT still repel");
    EXPECT_EQ(message_of(atoms_from("charmm"), text + "3.2\n"), "");
  }
  EXPECT_EQ(message_of(atoms_from("charmm"), "[interactions]\nswitch = 0\n"), "");
  EXPECT_EQ(message_of(atoms_from("charmm"), "[interactions]\nlj = \"cut\"\nswitch = 0\nlj_tail = true\n"), "");
}

TEST(Interactions, TheNoteNamesWhatTheRunFileHasOtherwise) {
  const auto note = [](const std::string& program, const std::string& interactions) {
    return note_of_source(parse("[interactions]\n" + interactions), atoms_from(program));
  };
  EXPECT_EQ(note("charmm", ""), "");
  EXPECT_EQ(note("charmm", "lj = \"force-switch\"\ncutoff = 12\nswitch = 10\nlj_tail = false\n"), "");
  EXPECT_EQ(
      note("charmm", "lj = \"cut\"\n"),
      "interactions.lj = \"cut\" is set, and a.tsr comes from CHARMM, which has Lennard-Jones force-switch from 10 "
      "to 12 Å, no tail");
  EXPECT_EQ(note("charmm", "cutoff = 9\nswitch = 8\n"),
            "interactions.cutoff = 9.0, interactions.switch = 8.0 are set, and a.tsr comes from CHARMM, which has "
            "Lennard-Jones force-switch from 10 to 12 Å, no tail");
  EXPECT_EQ(note("amber", "lj_tail = false\n"),
            "interactions.lj_tail = false is set, and a.tsr comes from AMBER, which has Lennard-Jones cut at 9 Å, with "
            "tail");
  EXPECT_EQ(note("amber", "switch = 8\n"),
            "interactions.switch = 8.0 has no effect, as AMBER does not switch Lennard-Jones (set interactions.lj to "
            "switch it)");
  EXPECT_EQ(note("amber", "lj = \"cut\"\nswitch = 8\n"), "");
  const auto amber = atoms_from("amber");
  const auto written = to_toml(in_effect(parse(""), plan_settings(parse(""), amber)));
  EXPECT_EQ(note_of_source(parse_run_text(written, "settings.toml", ""), amber), "");
}

TEST(Interactions, WhatIsInEffectIsARunFileOfTheSameRun) {
  for (const auto* program : {"charmm", "amber", "gromacs", "openmm"})
    for (const auto* text : {"", "[pme]\ncutoff = 13.1\ntolerance = 3e-6\nspacing = 0.97\n[dynamics]\ntimestep = 1.1\n",
                             "[interactions]\nlj = \"potential-switch\"\nelectrostatics = \"shift\"\n"}) {
      const auto system = atoms_from(program);
      const auto settings = plan_settings(parse(text), system);
      const std::string written = to_toml(in_effect(parse(text), settings));
      EXPECT_EQ(written.find("[interactions]\ncutoff = \"auto\""), std::string::npos);
      const auto again = parse_run_text(written, "settings.toml", "");
      const auto system_known = fingerprint(system);
      EXPECT_EQ(bit_settings(again, plan_settings(again, system), system_known),
                bit_settings(parse(text), settings, system_known))
          << written;
      EXPECT_EQ(to_toml(in_effect(again, plan_settings(again, system))), written);
    }
}

}  // namespace
}  // namespace tessera::app
