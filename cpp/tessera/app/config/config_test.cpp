#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "tessera/app/config/apply.h"
#include "tessera/app/config/read_config.h"
#include "tessera/app/config/removed_keys.h"
#include "tessera/app/config/schema.h"
#include "tessera/app/config/schema_builder.h"
#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::app {
namespace {

using test::expect_says;

constexpr const char* minimal = "[input]\nsystem = \"a.tsr\"\n";

RunConfig parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_run_text(minimal + text, "run.toml", "folder", overrides);
}

std::string message_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return test::message_of<InputError>([&] { parse(text, overrides); });
}

TEST(Config, KeysAreUniqueAndDocumented) {
  std::set<std::string> names;
  for (const auto& section : run_schema().sections) {
    EXPECT_FALSE(section.documentation.empty()) << section.name;
    for (const auto& key : section.keys) {
      EXPECT_TRUE(names.insert(key.full_name()).second) << key.full_name();
      EXPECT_FALSE(key.documentation.empty()) << key.full_name();
    }
  }
  EXPECT_EQ(names.size(), 101U);
}

TEST(Config, DefaultsAreAdmittedAndComeBackFromToml) {
  const RunConfig config = parse("");
  EXPECT_EQ(config.input.system, "folder/a.tsr");
  EXPECT_EQ(config.output.folder, "folder/output");
  EXPECT_EQ(config.dynamics.timestep, 0.002);
  const RunConfig again = parse_run_text(to_toml(config), "effective", "");
  EXPECT_EQ(to_json(again), to_json(config));
  const RunConfig printed = parse_run_text(print_defaults(), "defaults", "");
  EXPECT_EQ(printed.input.system, "system.tsr");
  EXPECT_FALSE(printed.interactions.lj || printed.interactions.cutoff || printed.interactions.lj_tail);
}

TEST(Config, ReadsEveryType) {
  const RunConfig config = parse(
      "[interactions]\ncutoff = 9\nswitch = 8.5\nlj = \"quintic-switch\"\nlj_tail = true\n"
      "[pme]\ngrid = [64, 72, 80]\norder = 6\n[dynamics]\nsteps = 1e6\ntimestep = 0.5\nseed = 9_000_000_000\n");
  EXPECT_EQ(config.interactions.cutoff, 9.0);
  EXPECT_EQ(config.interactions.lj, LjModifier::quintic_switch);
  EXPECT_EQ(config.interactions.lj_tail, true);
  EXPECT_EQ(config.pme.grid, (std::vector<std::int64_t>{64, 72, 80}));
  EXPECT_EQ(config.dynamics.steps, 1000000);
  EXPECT_DOUBLE_EQ(config.dynamics.timestep, 0.0005);
  EXPECT_EQ(config.dynamics.seed, 9000000000);
}

TEST(Config, NumbersAndChoicesMayBeLeftToAuto) {
  const RunConfig config = parse("[interactions]\ncutoff = \"auto\"\nlj = \"auto\"\nlj_tail = \"auto\"\nswitch = 8\n",
                                 {"interactions.switch=auto"});
  const auto& n = config.interactions;
  EXPECT_FALSE(n.cutoff || n.switch_distance || n.lj || n.lj_tail);
  expect_says(to_toml(config), "cutoff = \"auto\"\nswitch = \"auto\"\nlj = \"auto\"\nlj_tail = \"auto\"\n");
  EXPECT_EQ(to_json(config)["interactions"]["cutoff"], "auto");
  EXPECT_EQ(schema_to_json()["sections"][1]["keys"][0]["default"], "auto");
  EXPECT_EQ(schema_to_json()["sections"][1]["keys"][2]["allowed"][0], "auto");
  expect_says(message_of("[interactions]\ncutoff = \"ato\"\n"),
              "interactions.cutoff = 'ato', expected a number more than 0 and at most 1000000 (Å) or \"auto\"");
  expect_says(message_of("[interactions]\nlj_tail = 1\n"), "expected true or false or \"auto\"");
  expect_says(message_of("[interactions]\nlj = \"ct\"\n"), "\"pme\" or \"auto\"; did you mean \"cut\"?");
  expect_says(message_of("[dynamics]\ntimestep = \"auto\"\n"), "expected a number more than 0 and at most 100 (fs)");
}

TEST(Config, NumbersComeBackToTheLastBit) {
  RunConfig config = parse("[pme]\nalpha = 0.1\n[dynamics]\ntimestep = 1.1\n");
  config.pme.alpha = 0.1 + 1e-16 / 3 + 1.0 / 7;
  const RunConfig again = parse_run_text(to_toml(config), "effective", "");
  EXPECT_EQ(again.pme.alpha, config.pme.alpha);
  EXPECT_EQ(again.dynamics.timestep, config.dynamics.timestep);
  expect_says(to_toml(config), "timestep = 1.1\n");
}

TEST(Config, AbsurdNestingIsRefused) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  const std::string deep = repeated("a.", 50000) + "a";
  for (const auto& text : {deep + " = 1\n", "[" + deep + "]\n", "[[" + deep + "]]\n", "x = {" + deep + " = 1}\n",
                           "[dynamics]\nsteps = {" + deep + " = 1}\n"})
    expect_says(message_of(text), "dots, expected at most 2000");
  expect_says(message_of("", {"dynamics.steps={" + deep + "=1}"}), "dots, expected at most 2000");
  const std::string message = message_of("", {deep + "=1"});
  expect_says(message, "unknown section [a]");
  EXPECT_LT(message.size(), 500U);
  // The same by lists and tables within each other, on many lines too.
  EXPECT_NE(message_of("x = " + repeated("[", 100000) + "\n"), "");
  EXPECT_NE(message_of("x = " + repeated("{a = [\n", 100000) + "\n"), "");
  EXPECT_NE(message_of("[dynamics]\nsteps = " + repeated("[\n{" + repeated("a.", 130) + "a = ", 15) + "1" +
                       repeated("}\n]", 15) + "\n"),
            "");
  EXPECT_NE(message_of("", {"pme.grid=" + repeated("[", 100000)}), "");
}

TEST(Config, LongNamesAndManyErrorsMakeShortMessages) {
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "key" + std::to_string(i) + " = 1\n";
  EXPECT_LT(message_of("[dynamics]\n" + many).size(), 10000U);
  const std::string name(100000, 'x');
  EXPECT_LT(message_of("[dynamics]\n" + name + " = 1\n").size(), 1000U);
  EXPECT_LT(message_of("[" + name + "]\n").size(), 1000U);
  EXPECT_LT(message_of("[dynamics]\nsteps = \"" + name + "\"\n").size(), 1000U);
}

TEST(Config, PathsNeedNotBeUtf8) {
  const RunConfig config = parse("", {"output.folder=a\xff"});
  EXPECT_EQ(config.output.folder, "a\xff");
  expect_says(to_toml(config), "folder = \"a\uFFFD\"");
}

TEST(Config, AnOverrideHoldsOneValue) {
  expect_says(message_of("", {"dynamics.steps=5\nother = 3"}), "expected an integer");
}

TEST(Config, FilesOfAbsurdSizeAreRefused) {
  const std::string path = testing::TempDir() + "large.toml";
  std::ofstream(path) << minimal << std::string(2'000'000, '\n');
  EXPECT_THROW(text_of_run_file(path), InputError);
  EXPECT_THROW(text_of_run_file("/dev/zero"), InputError);
  std::filesystem::remove(path);
}

TEST(Config, OverridesWinAndTextNeedsNoQuotes) {
  const RunConfig config = parse("[dynamics]\nsteps = 5\n", {"dynamics.steps=7", "interactions.lj = potential-switch",
                                                             "output.folder=\"else where\"", "pme.grid=[8, 8, 8]"});
  EXPECT_EQ(config.dynamics.steps, 7);
  EXPECT_EQ(config.interactions.lj, LjModifier::potential_switch);
  EXPECT_EQ(config.output.folder, "else where");
  EXPECT_EQ(config.pme.grid.size(), 3U);
  EXPECT_EQ(config_of_system("x.tsr", {"parallel.precision=double"}).parallel.precision, Precision::double_precision);
}

TEST(Config, SyntaxErrorNamesLineAndColumn) { expect_says(message_of("[dynamics\n"), "run.toml:3:10: not TOML"); }

TEST(Config, UnknownNamesAreRefusedWithTheNearest) {
  expect_says(message_of("[dynamics]\nstep = 3\n"),
              "run.toml:4: unknown key dynamics.step; did you mean dynamics.steps?");
  expect_says(message_of("[dynamic]\nsteps = 3\n"), "unknown section [dynamic]; did you mean dynamics?");
  expect_says(message_of("[pme]\nswitch = 3\n"), "did you mean interactions.switch?");
  expect_says(message_of("", {"steps=3"}), "dynamics.steps=…");
  expect_says(message_of("", {"dynamics.stepz=3"}), "did you mean dynamics.steps?");
  expect_says(message_of("", {"rubbish"}), "expected section.key=value");
  expect_says(message_of("[interactions]\nlj = \"force-swich\"\n"), "did you mean \"force-switch\"?");
}

TEST(Config, WrongTypesAndRangesAreRefused) {
  expect_says(message_of("[dynamics]\nsteps = \"many\"\n"), "expected an integer at least 0");
  for (const auto* many : {"9223372036854775807", "1e30", "\"99999999999999999999\""})
    expect_says(message_of(fmt::format("[dynamics]\nsteps = {}\n", many)),
                "expected an integer at least 0 and at most 9000000000000000");
  expect_says(message_of("[dynamics]\nsteps = 1.5\n"), "expected an integer");
  expect_says(message_of("[dynamics]\ntimestep = 0\n"), "expected a number more than 0 and at most 100 (fs)");
  expect_says(message_of("[dynamics]\ntimestep = nan\n"), "dynamics.timestep = nan");
  expect_says(message_of("[interactions]\ncutoff = inf\n"), "interactions.cutoff = inf");
  expect_says(message_of("[interactions]\ncutoff = -1\n"), "expected a number more than 0");
  expect_says(message_of("[pme]\norder = 5\n"), "expected one of 4, 6, 8");
  expect_says(message_of("[pme]\ngrid = [8, 8]\n"), "three integers");
  expect_says(message_of("[output]\nwrap = 1\n"), "expected true or false");
  expect_says(message_of("dynamics = 3\n"), "input.dynamics");
  expect_says(message_of("", {"dynamics.steps=many"}), "expected an integer");
  expect_says(message_of("", {"output.folder="}), "is empty");
}

TEST(Config, ErrorsAreCollected) {
  const std::string message = message_of("[dynamics]\nsteps = -1\nseeed = 2\n[interactions]\nlj = 3\n");
  expect_says(message, "run.toml: 3 errors: (1) run.toml:");
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  expect_says(message, "run.toml:4: dynamics.steps = -1");
  expect_says(message, "run.toml:5: unknown key dynamics.seeed; did you mean dynamics.seed?");
  expect_says(message, "run.toml:7: interactions.lj = 3");
}

TEST(Config, ContradictionsAreRefused) {
  expect_says(message_of("[pme]\norder = 8\ngrid = [6, 16, 16]\n"), "at least pme.order = 8");
  EXPECT_THROW(parse_run_text("", "run.toml", ""), InputError);  // no system
  EXPECT_THROW(text_of_run_file("/no/such/run.toml"), InputError);
  EXPECT_THROW(text_of_run_file("/tmp"), InputError);
}

TEST(Config, SchemaAsJsonHoldsEveryKey) {
  const auto json = schema_to_json();
  ASSERT_EQ(json["sections"].size(), run_schema().sections.size());
  for (std::size_t i = 0; i < json["sections"].size(); ++i) {
    EXPECT_EQ(json["sections"][i]["keys"].size(), run_schema().sections[i].keys.size());
    EXPECT_EQ(json["sections"][i]["repeated"], run_schema().sections[i].is_repeated());
  }
  EXPECT_EQ(json["sections"][1]["keys"][0]["unit"], "Å");
  EXPECT_EQ(json["sections"][4]["keys"][1]["default"], 2.0);
  EXPECT_EQ(json["sections"][0]["keys"][0]["default"], nullptr);
  EXPECT_EQ(json["sections"][1]["keys"][0]["decides"], "bits");
  const auto& seed = run_schema().key("dynamics.seed");
  RunConfig config;
  EXPECT_EQ(seed.decides_with(config), Decides::start);
  config.dynamics.ensemble = Ensemble::nvt;
  EXPECT_EQ(seed.decides_with(config), Decides::bits);
  config.dynamics.thermostat = "nose-hoover";
  EXPECT_EQ(seed.decides_with(config), Decides::start);
  EXPECT_EQ(run_schema().key("dynamics.steps").decides, Decides::nothing);
}

TEST(Config, SchedulesAndListsOfTexts) {
  const std::string head = "[[restraint]]\nkind = \"distance\"\n";
  const auto config = parse(head + "groups = [\"index 1\", \"name CA\"]\nk = [[0, 10], [5.5, 0]]\ntarget = 3\n");
  ASSERT_EQ(config.restraints.size(), 1U);
  const auto& restraint = config.restraints[0];
  EXPECT_EQ(restraint.k, TimeSchedule({{0, 10}, {5.5, 0}}));
  EXPECT_EQ(restraint.target, TimeSchedule(3));
  EXPECT_EQ(restraint.groups, (std::vector<std::string>{"index 1", "name CA"}));
  EXPECT_EQ(to_json(parse_run_text(to_toml(config), "effective", "")), to_json(config));
  const auto selections = selections_of(config);
  ASSERT_EQ(selections.size(), 2U);
  EXPECT_EQ(selections[1].key, "restraint.0.groups");
  EXPECT_EQ(selections[1].text, "name CA");
  for (const auto* wrong : {"[]", "[[0, 1], [0, 2]]", "[[-1, 1]]", "[[0, 1, 2]]", "[[0, -1]]", "\"1\"", "[1, 2]"})
    expect_says(message_of(head + "k = " + wrong), "points [time in ps, number]");
  expect_says(message_of(head + "k = 1\ngroups = \"index 1\""), "texts in quotes");
  expect_says(message_of(head), "restraint.k is missing");
}

enum class Shape { flat, round };
constexpr std::array<std::string_view, 2> shape_names = {"flat", "round"};
constexpr const auto& names_of(Shape) { return shape_names; }

struct Wall {
  std::string atoms;
  double k = 10;
  Shape shape = Shape::flat;
  std::optional<std::int64_t> every;
};

struct ConfigWithWalls : RunConfig {
  std::vector<Wall> wall;
};

Schema schema_with_walls() {
  Schema schema;
  auto pme = add_section(schema, "pme", "Of this schema too.", &ConfigWithWalls::pme);
  pme.key("alpha", &PmeConfig::alpha, "splitting parameter").range(0, 10);
  auto wall = add_repeated_section(schema, "wall", "Keeps atoms on one side.", &ConfigWithWalls::wall);
  wall.key("atoms", &Wall::atoms, "which").must_be_given("\"all\"");
  wall.key("k", &Wall::k, "force constant").unit("kcal/mol/Å²").above(0, 1e6).decides_bits();
  wall.key("shape", &Wall::shape, "of the surface");
  wall.key("every", &Wall::every, "steps between looks").range(1, 100);
  return schema;
}

ConfigWithWalls parse_walls(const std::string& text, const std::vector<std::string>& overrides = {}) {
  ConfigWithWalls config;
  read_run_text(config, schema_with_walls(), text, "run.toml", "", overrides);
  return config;
}

std::string message_of_walls(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return test::message_of<InputError>([&] { parse_walls(text, overrides); });
}

constexpr const char* two_walls =
    "[[wall]]\natoms = \"C1\"\n[pme]\nalpha = 0.5\n[[wall]]\nk = 3\nshape = \"round\"\natoms = \"C2\"\nevery = 7\n";

TEST(RepeatedSection, RowsAreReadInOrderAndComeBackFromToml) {
  EXPECT_TRUE(parse_walls("").wall.empty());
  const auto config = parse_walls(two_walls, {"wall.1.k=4.5", "wall.0.shape = round"});
  ASSERT_EQ(config.wall.size(), 2U);
  EXPECT_EQ(config.pme.alpha, 0.5);
  EXPECT_EQ(config.wall[0].atoms, "C1");
  EXPECT_EQ(config.wall[0].k, 10);
  EXPECT_EQ(config.wall[0].shape, Shape::round);
  EXPECT_EQ(config.wall[0].every, std::nullopt);
  EXPECT_EQ(config.wall[1].k, 4.5);
  EXPECT_EQ(config.wall[1].every, 7);
  const auto schema = schema_with_walls();
  const auto again = parse_walls(to_toml(config, schema));
  EXPECT_EQ(to_json(again, schema), to_json(config, schema));
  EXPECT_EQ(to_json(config, schema)["wall"][1]["atoms"], "C2");
  EXPECT_EQ(to_json(parse_walls(""), schema)["wall"], nlohmann::json::array());
}

TEST(RepeatedSection, MistakesAreRefusedWithTheirLine) {
  expect_says(message_of_walls("[[wall]]\natoms = \"a\"\n[[wall]]\natoms = \"b\"\nk = -1\n"),
              "run.toml:5: wall.k = -1, expected a number more than 0");
  expect_says(message_of_walls("[[wall]]\natoms = \"a\"\nshap = \"flat\"\n"),
              "run.toml:3: unknown key wall.shap; did you mean wall.shape?");
  expect_says(message_of_walls("[[wall]]\natoms = \"a\"\nshape = \"flt\"\n"), "did you mean \"flat\"?");
  expect_says(message_of_walls("\n[[wall]]\nk = 1\n"),
              "run.toml:2: wall.atoms is missing; write for example atoms = \"all\"");
  expect_says(message_of_walls("[wall]\natoms = \"a\"\n"),
              "wall is the section [wall], expected [[wall]], once for each");
  expect_says(message_of_walls("wall = [1, 2]\n"), "wall is a value, expected [[wall]]");
  expect_says(message_of_walls("[[wal]]\nk = 1\n"), "did you mean wall?");
  expect_says(message_of_walls("[[pme]]\nalpha = 1\n"), "pme is a value, expected the section [pme]");
  expect_says(message_of_walls("k = 1\n"), "k stands in no section; write it below [[wall]]");
}

TEST(RepeatedSection, OverridesNameARow) {
  expect_says(message_of_walls(two_walls, {"wall.k=1"}), "expected wall.NUMBER.key=value");
  expect_says(message_of_walls(two_walls, {"wall.2.k=1"}),
              "there is no [[wall]] number 2: the run file has 2, which count from 0");
  expect_says(message_of_walls(two_walls, {"wall.0.kk=1"}), "did you mean wall.k?");
  expect_says(message_of_walls(two_walls, {"wall.0.k=-1"}), "expected a number more than 0");
}

TEST(RepeatedSection, IsDescribed) {
  const auto json = schema_to_json(schema_with_walls());
  EXPECT_EQ(json["sections"][1]["repeated"], true);
  EXPECT_EQ(json["sections"][1]["keys"][0]["default"], nullptr);
  EXPECT_EQ(json["sections"][1]["keys"][1]["default"], 10.0);
  const auto text = print_defaults(schema_with_walls());
  expect_says(text, "# [[wall]]  # Keeps atoms on one side. Any number of times.\n# atoms = \"all\"");
  EXPECT_TRUE(parse_walls(text).wall.empty());
}

/// Returns the keys of a run file that name a pair scheme.
std::string scheme(const std::string& name, const std::string& precision = "mixed") {
  return "[parallel]\nprecision = \"" + precision + "\"\npair_scheme = \"" + name + "\"\n";
}

TEST(RemovedKeys, AreIgnoredWithANoteWhereTheySayWhatIsDoneAnyway) {
  EXPECT_EQ(notes_of_removed(parse(scheme("cluster") + "[interactions]\npair_function = \"analytic\"\n"
                                                       "table_density = 100.0\n"))
                .size(),
            3U);
  for (const auto& text : {scheme("auto"), scheme("auto", "double"), scheme("reference", "double")}) {
    const auto notes = notes_of_removed(parse(text));
    ASSERT_EQ(notes.size(), 1U) << text;
    expect_says(*notes.begin(), "run.toml:5: parallel.pair_scheme = ");
    expect_says(*notes.begin(), "is ignored");
  }
  EXPECT_EQ(notes_of_removed(parse("", {"interactions.pair_function=auto"})).size(), 1U);
  EXPECT_EQ(message_of(scheme("list_soa"), {"parallel.pair_scheme=auto"}), "");
  EXPECT_TRUE(notes_of_removed(parse("")).empty());
}

TEST(RemovedKeys, AreRefusedByNameWhereTheyAskForMore) {
  expect_says(message_of(scheme("list_soa")), "run.toml:5: parallel.pair_scheme = list_soa: this key has been removed");
  for (const auto& text : {scheme("reference"), scheme("cluster", "double"), scheme("")})
    expect_says(message_of(text), "parallel.precision, which may be \"mixed\" or \"double\"; leave it out");
  expect_says(message_of("[interactions]\npair_function = \"table\"\ntable_density = 20\n"), "2 errors");
  expect_says(message_of("", {"parallel.pair_scheme=\"cell_flag_aos\""}), "parallel.pair_scheme = cell_flag_aos");
}

TEST(RemovedKeys, OfCheckpoints) {
  const nlohmann::json defaults = {{"interactions.pair_function", "analytic"},
                                   {"interactions.table_density", 100.0},
                                   {"parallel.precision", "double"},
                                   {"parallel.pair_scheme", "reference"}};
  EXPECT_EQ(describe_removed(defaults), "");
  auto others = defaults;
  others["parallel.precision"] = "mixed";
  others["interactions.pair_function"] = "table";
  expect_says(describe_removed(others), "interactions.pair_function was table, which has been removed");
  expect_says(describe_removed(others), "parallel.pair_scheme was reference, which has been removed");
}

}  // namespace
}  // namespace tessera::app
