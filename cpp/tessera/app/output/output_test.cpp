#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tessera/app/numbers_text.h"
#include "tessera/app/output/energy_table.h"
#include "tessera/app/output/progress.h"
#include "tessera/app/output/report.h"
#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::app {
namespace {

using tessera::test::expect_says, tessera::test::message_of;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(EnergyTable, GoesOnAfterACheckpoint) {
  const std::string path = testing::TempDir() + "tessera_energy_" + std::to_string(getpid()) + ".csv";
  const std::vector<Column> columns = {{"total", "kcal/mol"}, {"ratio", ""}};
  const auto row = [](EnergyTable& table, std::int64_t step) {
    table.append(step, 0.002 * static_cast<double>(step),
                 std::vector<double>{-0.1 * static_cast<double>(step), 1.0 / 3});
  };
  {
    auto table = EnergyTable::create(path, columns);
    for (const int step : {0, 10, 20, 30, 40}) row(table, step);
  }
  const std::string whole = content(path);
  EXPECT_EQ(whole.substr(0, whole.find('\n')), "step,time [ps],total [kcal/mol],ratio");
  expect_says(whole, "10,0.02,-1,0.3333333333333333\n");
  for (const char* rest : {"", "50,0.1", "gibberish\n"}) {
    std::ofstream(path, std::ios::app | std::ios::binary) << rest;
    auto table = EnergyTable::continue_after(path, columns, 25, 3);
    table.drop_later_rows();
    row(table, 30);
    row(table, 40);
    EXPECT_EQ(content(path), whole);
    EXPECT_EQ(table.n_rows(), 5);
  }
  // A row at the last step that the checkpoint does not count is one of the end of the run, and is dropped.
  auto short_one = EnergyTable::continue_after(path, columns, 40, 4);
  short_one.drop_later_rows();
  EXPECT_EQ(content(path), whole.substr(0, whole.find("40,")));
  row(short_one, 40);
  for (const char* damaged : {"20,0.04,-2,0.33x3333333333333", "20,0.04,-2", "20,0.04,-2,0.3,1", "20,0.04,-2,1e999",
                              "10,0.04,-2,0.3333333333333333", "2\0,0.04,-2,0.3", "20,0.04,,0.3", "20,0.04,-2,"}) {
    SCOPED_TRACE(damaged);
    auto text = whole;
    const auto begin = text.find("\n20,") + 1;
    text.replace(begin, text.find('\n', begin) - begin, damaged);
    std::ofstream(path, std::ios::binary) << text;
    expect_says(message_of<InputError>([&] { EnergyTable::continue_after(path, columns, 25, 3); }),
                path + ": line 4 is damaged, expected 4 numbers");
  }
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_THROW(EnergyTable::continue_after(path, columns, 45, 6), InputError);  // a row was cut off
  EXPECT_THROW(EnergyTable::continue_after(path, columns, 45, 4), InputError);
  EXPECT_THROW(EnergyTable::continue_after(path, {{"other", ""}}, 25, 3), InputError);
  EXPECT_THROW(EnergyTable::continue_after(path + ".none", columns, 25, 3), InputError);
  EXPECT_THROW(EnergyTable::create("/no/such/folder/energy.csv", columns), RunError);
  std::filesystem::remove(path);
}

TEST(Progress, OneLineSaysItAll) {
  std::string shown;
  ProgressLine line({StatusLine::Style::rewrite, [&](std::string_view text) { shown += text; }}, 0, 50000, 0.002);
  EXPECT_EQ(line.text({1200, 301.23, 1.2e-4}, 10),
            "step 1,200 of 50,000 (2 %)  20.7 ns/day  6 min 47 s left  301.2 K  drift 1.2e-04 kT/ns/dof");
  EXPECT_EQ(line.text({0, 300, NAN}, 0), "step 0 of 50,000 (0 %)  300.0 K");
  EXPECT_TRUE(line.is_due(0));
  line.show({1200, 300, 0.1}, 10);
  EXPECT_FALSE(line.is_due(10.1));
  EXPECT_TRUE(line.is_due(10.6));
  line.show({1300, 300, NAN}, 11);
  line.finish();
  EXPECT_EQ(shown.front(), '\r');
  EXPECT_EQ(shown.back(), '\n');

  shown.clear();
  ProgressLine log({StatusLine::Style::append, [&](std::string_view text) { shown += text; }}, 0, 10, 0.002);
  log.show({5, 300, 0}, 1);
  log.finish();
  EXPECT_FALSE(log.is_due(60.5));
  EXPECT_TRUE(log.is_due(61));
  EXPECT_EQ(shown.find('\r'), std::string::npos);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 1);
}

TEST(Progress, WordsOfTimeAndNumbers) {
  EXPECT_EQ(duration_text(12.4), "12 s");
  EXPECT_EQ(duration_text(80), "1 min 20 s");
  EXPECT_EQ(duration_text(11100), "3 h 05 min");
  EXPECT_EQ(duration_text(187200), "2 d 4 h");
  EXPECT_EQ(duration_text(NAN), "unknown time");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(Report, SpeedAndPhases) {
  Report report;
  report.n_atoms = 23558;
  report.ranks = 4;
  report.last_step = 1000;
  report.timestep = 0.002;
  report.wall_seconds = 20;
  report.phases = {{"pair forces", 12, 15}, {"halo", 3, 3}};
  report.memory = {{{"mesh", 2355800}, {"pairs: list", 7067400}}, 12000000, 4000000};
  report.state_hash = "ab";
  report.balance = BalanceHistory{1.34, 1.06, 2};
  report.averages = {{"temperature", "K", 300.12, 1.94}, {"total", "kcal/mol", -75000, 0.4}};
  report.drift = -0.006;
  report.folder = "first";
  report.files = {"energy.csv", "report.json"};
  report.to_go_on = restart_command("run.toml", {"dynamics.steps=1000"}, 4, 0, 2000);
  EXPECT_DOUBLE_EQ(report.ns_per_day(), 8.64);
  EXPECT_DOUBLE_EQ(report.ms_per_step(), 20);
  const std::string text = report_text(report);
  expect_says(text, "pair forces                      12.000   60.0 %      12.0000       1.25");
  EXPECT_TRUE(text.starts_with(
      "2 ps simulated in 1,000 steps: 23,558 atoms, 8.64 ns/day, 20 ms/step on 4 ranks × 1 thread (20 s).\n\n"
      "temperature           300.1 ± 1.9 K\n"
      "total              -75000.0 ± 0.4 kcal/mol\n"
      "drift                -0.006 kT/ns/dof\n"
      "(mean ± fluctuation of the last three quarters of the samples)\n\n"
      "Output in first: energy.csv, report.json\n"
      "To go on: tessera run run.toml -n 4 --restart --set dynamics.steps=2000\n\n"
      "phase "))
      << text;
  expect_says(text,
              "Memory: 400 bytes an atom: pairs: list 300, mesh 100; 12 MB at the peak of all ranks, 4 MB of the "
              "largest.");
  expect_says(text, "Imbalance of ranks' own work 1.34 -> 1.06, cells moved between ranks 2 times.");
  const auto json = report_to_json(report);
  EXPECT_EQ(json["balance"]["moves"], 2);
  EXPECT_EQ(json["phases"][0]["imbalance"], 1.25);
  EXPECT_EQ(json["state_hash"], "ab");
  EXPECT_EQ(json["memory"]["by_owner"]["mesh"], 2355800);
  EXPECT_EQ(json["memory"]["bytes"], 2355800 + 7067400);
  EXPECT_EQ(json["memory"]["peak_bytes_of_the_largest_rank"], 4000000);
  EXPECT_EQ(json["averages"]["temperature"]["mean"], 300.12);
  EXPECT_EQ(json["legs"].size(), 1u);
  EXPECT_THROW(write_report("/no/such/folder/report.json", report), InputError);
}

TEST(Report, SaysHowVmdReadsATrajectory) {
  Report report;
  report.files = {"trajectory.segments"};
  for (const auto& [folder, word] : {std::pair("out put", "'out put'"), {"-o", "./-o"}, {"/tmp/-o", "/tmp/-o"}}) {
    report.folder = folder;
    expect_says(report_text(report), fmt::format("For VMD: tessera traj convert {0} -o {0}/trajectory.dcd", word));
  }
}

TEST(Report, HoldsAllLegsOfARun) {
  const std::string path = testing::TempDir() + "tessera_report_" + std::to_string(getpid()) + ".json";
  std::string note;
  EXPECT_TRUE(read_legs(path, note).empty());
  expect_says(note, "is missing");
  Report report;
  report.timestep = 0.002;
  for (int leg = 0; leg < 3; ++leg) {
    report.first_step = report.last_step;
    report.last_step += 1000 * (leg + 1);
    report.ranks = leg + 1;
    report.wall_seconds = 10;
    note.clear();
    if (leg > 0) report.earlier_legs = read_legs(path, note);
    EXPECT_EQ(note, "");
    write_report(path, report);
  }
  const auto json = nlohmann::json::parse(content(path));
  ASSERT_EQ(json["legs"].size(), 3u);
  for (int leg = 0; leg < 3; ++leg) {
    EXPECT_EQ(json["legs"][leg]["ranks"], leg + 1);
    EXPECT_EQ(json["legs"][leg]["last_step"].get<int>() - json["legs"][leg]["first_step"].get<int>(), 1000 * (leg + 1));
  }
  expect_says(report_text(report), "The whole run is now 12 ps long, 6,000 steps.\n");
  for (const char* text : {"{", "[]", "{\"a\": 1}", "{\"legs\": [7]}", "{\"legs\": [{\"last_step\": null}]}"}) {
    std::ofstream(path) << text;
    note.clear();
    EXPECT_TRUE(read_legs(path, note).empty());
    expect_says(note, "can't be understood");
  }
  std::filesystem::remove(path);
}

TEST(Report, TheCommandToGoOnIsTheShells) {
  EXPECT_EQ(restart_command("run.toml", {}, 1, 0, 0), "tessera run run.toml --restart");
  EXPECT_EQ(restart_command("my run.toml", {"dynamics.steps=10", "output.folder=it's", "pme.grid=[8, 8, 8]"}, 2, 3, 20),
            "tessera run 'my run.toml' -n 2 -t 3 --restart --set 'output.folder=it'\\''s' --set 'pme.grid=[8, 8, 8]' "
            "--set dynamics.steps=20");
  EXPECT_EQ(restart_command("-run.toml", {}, 1, 0, 0), "tessera run ./-run.toml --restart");  // it is no option
  EXPECT_EQ(restart_command("run.toml", {"output.overwrite=true"}, 1, 0, 0), "tessera run run.toml --restart");
  EXPECT_EQ(restart_command("run.toml", {"dynamics.steps=10"}, 1, 0, 0),
            "tessera run run.toml --restart --set dynamics.steps=10");
  EXPECT_EQ(restart_command("run.toml", {"dynamics.steps=10", "stage.b.dynamics.steps=9"}, 1, 0, 20, "b"),
            "tessera run run.toml --restart --set dynamics.steps=10 --set stage.b.dynamics.steps=20");
}

TEST(Report, WhatDoesNotFluctuateHasItsDigits) {
  Report report;
  report.averages = {{"density", "g/cm³", 0.996999123, 0}, {"density", "g/cm³", 0.997, 1e-16}};
  const auto text = summary_text(report);
  expect_says(text, "density            0.996999 ± 0 g/cm³\n");
  expect_says(text, "density               0.997 ± 0 g/cm³\n");
}

}  // namespace
}  // namespace tessera::app
