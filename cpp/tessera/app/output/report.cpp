#include "tessera/app/output/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tessera/app/config/schema.h"
#include "tessera/app/numbers_text.h"
#include "tessera/base/files/atomic_file.h"

namespace tessera::app {

double Report::ns_per_day() const { return app::ns_per_day(static_cast<double>(steps()) * timestep, wall_seconds); }

double Report::ms_per_step() const { return steps() > 0 ? 1000 * wall_seconds / static_cast<double>(steps()) : 0; }

std::int64_t Memory::bytes() const {
  std::int64_t sum = 0;
  for (const auto& owner : owners) sum += owner.bytes;
  return sum;
}

std::string memory_text(const Memory& memory, std::int64_t n_atoms) {
  const auto per_atom = [&](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, n_atoms));
  };
  auto owners = memory.owners;
  std::stable_sort(owners.begin(), owners.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::string text = fmt::format("{:.0f} bytes an atom", per_atom(memory.bytes()));
  for (std::size_t i = 0; i < owners.size(); ++i)
    text += fmt::format("{}{} {:.0f}", i == 0 ? ": " : ", ", owners[i].name, per_atom(owners[i].bytes));
  return text;
}

namespace {

std::string counted(std::int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string length_text(double ps) {
  return ps < 1000 ? fmt::format("{:.6g} ps", ps) : fmt::format("{:.6g} ns", ps / 1000);
}

/// Writes an average with the digits that the fluctuation leaves; what does not fluctuate, as the density of a constant
/// volume, has six.
std::string average_text(const std::string& name, const std::string& unit, double mean, double fluctuation) {
  constexpr double rounding = 1e-12;
  if (fluctuation <= rounding * std::abs(mean)) return fmt::format("{:<12} {:>14.6g} ± 0 {}\n", name, mean, unit);
  const int digits = fluctuation > 0 ? std::clamp(static_cast<int>(std::floor(-std::log10(fluctuation))) + 1, 1, 6) : 1;
  return fmt::format("{:<12} {:>14.{}f} ± {:.{}f} {}\n", name, mean, digits, fluctuation, digits, unit);
}

/// Writes what a plan was expected to gain.
std::string gain_text(const comm::PlanUse& plan) {
  if (!(plan.seconds > 0 && plan.native_seconds > 0)) return "";
  return fmt::format(", predicted {:.2g} times as fast as the MPI library", plan.native_seconds / plan.seconds);
}

/// Quotes a word of a shell's command.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-./=:,+@%", c);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Quotes a path, which must not look like an option.
std::string quoted_path(const std::string& path) { return quoted(path.starts_with('-') ? "./" + path : path); }

}  // namespace

std::string summary_text(const Report& report) {
  const auto ps = [&](std::int64_t steps) { return static_cast<double>(steps) * report.timestep; };
  std::string text = fmt::format("{} simulated in {} steps: {} atoms, {:.4g} ns/day, {:.4g} ms/step on {} × {} ({}).\n",
                                 length_text(ps(report.steps())), grouped(report.steps()), grouped(report.n_atoms),
                                 report.ns_per_day(), report.ms_per_step(), counted(report.ranks, "rank"),
                                 counted(report.threads, "thread"), duration_text(report.wall_seconds));
  if (report.first_step > 0)
    text += fmt::format("The whole run is now {} long, {} steps.\n", length_text(ps(report.last_step)),
                        grouped(report.last_step));
  text += '\n';
  for (const auto& [name, unit, mean, fluctuation] : report.averages)
    if (std::isfinite(mean)) text += average_text(name, unit, mean, fluctuation);
  if (std::isfinite(report.drift)) text += fmt::format("{:<12} {:>14.2g} kT/ns/dof\n", "drift", report.drift);
  if (!report.averages.empty()) text += "(mean ± fluctuation of the last three quarters of the samples)\n";
  if (!report.files.empty()) text += fmt::format("\nOutput in {}: {}\n", report.folder, fmt::join(report.files, ", "));
  if (std::find(report.files.begin(), report.files.end(), "trajectory.segments") != report.files.end())
    text += fmt::format("For VMD: tessera traj convert {0} -o {0}/trajectory.dcd\n", quoted_path(report.folder));
  if (!report.to_go_on.empty()) text += fmt::format("To go on: {}\n", report.to_go_on);
  return text + '\n';
}

namespace {

nlohmann::json leg_of(const nlohmann::json& report) {
  nlohmann::json leg;
  for (const auto* key :
       {"first_step", "last_step", "ranks", "threads", "wall_seconds", "ns_per_day", "ms_per_step", "state_hash"})
    leg[key] = report.at(key);
  return leg;
}

}  // namespace

std::string restart_command(const std::string& run_file, const std::vector<std::string>& overrides, int ranks,
                            int threads, std::int64_t steps, const std::string& stage) {
  const auto key = (stage.empty() ? "" : fmt::format("stage.{}.", stage)) + "dynamics.steps";
  std::string text = fmt::format("tessera run {}", quoted_path(run_file));
  if (ranks > 1) text += fmt::format(" -n {}", ranks);
  if (threads > 0) text += fmt::format(" -t {}", threads);
  text += " --restart";
  for (const auto& word : overrides) {
    const bool is_replaced = steps > 0 && word.starts_with(key);
    if (!is_replaced && !word.starts_with("output.overwrite")) text += fmt::format(" --set {}", quoted(word));
  }
  if (steps > 0) text += fmt::format(" --set {}={}", key, steps);
  return text;
}

nlohmann::json read_legs(const std::string& path, std::string& note) {
  std::error_code ignored;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path);
  if (!file.is_open()) {
    note = fmt::format("{} is missing, as after a kill: the report holds this leg of the run alone", path);
    return nlohmann::json::array();
  }
  try {
    const auto report = nlohmann::json::parse(file);
    const auto& found = report.at("legs").get_ref<const nlohmann::json::array_t&>();
    for (const auto& leg : found)
      for (const auto* key : {"first_step", "last_step", "wall_seconds"}) (void)leg.at(key).get<double>();
    return found;
  } catch (const nlohmann::json::exception&) {
    note = fmt::format("{} can't be understood: the new report holds this leg of the run alone", path);
    return nlohmann::json::array();
  }
}

std::string report_text(const Report& report) {
  std::string text = summary_text(report);
  text += fmt::format("{:<28} {:>10} {:>8} {:>12} {:>10}\n", "phase", "seconds", "share", "ms/step", "imbalance");
  const double steps = static_cast<double>(std::max<std::int64_t>(1, report.steps()));
  const auto row = [&](const std::string& name, double seconds, const std::string& imbalance) {
    const double share = report.wall_seconds > 0 ? 100 * seconds / report.wall_seconds : 0;
    text += fmt::format("{:<28} {:>10.3f} {:>6.1f} % {:>12.4f} {:>10}\n", name, seconds, share, 1000 * seconds / steps,
                        imbalance);
  };
  double sum = 0;
  for (const auto& phase : report.phases) {
    if (phase.mean_seconds == 0) continue;  // the run has none of it
    row(phase.name, phase.mean_seconds, fmt::format("{:.2f}", phase.imbalance()));
    sum += phase.mean_seconds;
  }
  if (report.wall_seconds > sum) row("rest", report.wall_seconds - sum, "");
  row("all", report.wall_seconds, "");
  text += '\n';
  if (!report.memory.owners.empty())
    text += fmt::format("Memory: {}; {:.0f} MB at the peak{}.\n", memory_text(report.memory, report.n_atoms),
                        static_cast<double>(report.memory.peak) / 1e6,
                        report.ranks == 1 ? ""
                                          : fmt::format(" of all ranks, {:.0f} MB of the largest",
                                                        static_cast<double>(report.memory.most_peak) / 1e6));
  if (report.balance)
    text += fmt::format("Imbalance of ranks' own work {:.2f} -> {:.2f}, cells moved between ranks {} time{}.\n",
                        report.balance->first, report.balance->last, report.balance->moves,
                        report.balance->moves == 1 ? "" : "s");
  if (report.halo)
    text += fmt::format("Halo: {} of {} cells come from another of {} hosts; {} would, were ranks taken as numbered.\n",
                        grouped(report.halo->between_hosts), grouped(report.halo->cells), report.halo->hosts,
                        grouped(report.halo->as_numbered));
  for (const auto& plan : report.plans)
    text += fmt::format("Collective operations by the map: {} of about {}, {}, by {}{}.\n", plan.operation,
                        plan.bytes < 1000 ? counted(plan.bytes, "byte") : size_text(plan.bytes),
                        counted(plan.calls, "call"), plan.plan, gain_text(plan));
  return text;
}

nlohmann::json report_to_json(const Report& report) {
  nlohmann::json phases = nlohmann::json::array();
  for (const auto& phase : report.phases)
    phases.push_back({{"name", phase.name},
                      {"seconds", phase.mean_seconds},
                      {"max_seconds", phase.max_seconds},
                      {"imbalance", phase.imbalance()}});
  nlohmann::json owners = nlohmann::json::object();
  for (const auto& owner : report.memory.owners) owners[owner.name] = owner.bytes;
  nlohmann::json balance = nullptr;
  if (report.balance)
    balance = {{"first", report.balance->first}, {"last", report.balance->last}, {"moves", report.balance->moves}};
  nlohmann::json halo = nullptr;
  if (report.halo)
    halo = {{"hosts", report.halo->hosts},
            {"cells", report.halo->cells},
            {"cells_between_hosts", report.halo->between_hosts},
            {"cells_between_hosts_as_numbered", report.halo->as_numbered}};
  nlohmann::json plans = nlohmann::json::array();
  for (const auto& plan : report.plans)
    plans.push_back({{"operation", plan.operation},
                     {"bytes", plan.bytes},
                     {"plan", plan.plan},
                     {"calls", plan.calls},
                     {"predicted_seconds", plan.seconds},
                     {"predicted_seconds_of_the_library", plan.native_seconds}});
  nlohmann::json averages = nlohmann::json::object();
  for (const auto& [name, unit, mean, fluctuation] : report.averages)
    averages[name] = {{"mean", mean}, {"fluctuation", fluctuation}, {"unit", unit}};
  nlohmann::json json = {
      {"format", "tessera-report"},
      {"version", 1},
      {"n_atoms", report.n_atoms},
      {"ranks", report.ranks},
      {"threads", report.threads},
      {"first_step", report.first_step},
      {"last_step", report.last_step},
      {"steps", report.steps()},
      {"wall_seconds", report.wall_seconds},
      {"ns_per_day", report.ns_per_day()},
      {"ms_per_step", report.ms_per_step()},
      {"memory",
       {{"bytes", report.memory.bytes()},
        {"by_owner", std::move(owners)},
        {"peak_bytes", report.memory.peak},
        {"peak_bytes_of_the_largest_rank", report.memory.most_peak}}},
      {"phases", std::move(phases)},
      {"balance", std::move(balance)},
      {"halo", std::move(halo)},
      {"collectives", std::move(plans)},
      {"state_hash", report.state_hash.empty() ? nlohmann::json(nullptr) : nlohmann::json(report.state_hash)},
      {"versions", report.versions},
      {"machine", machine::to_json(report.machine)},
      {"settings", report.settings},
      {"averages", std::move(averages)},
      {"results", report.results}};
  json["legs"] = report.earlier_legs;
  json["legs"].push_back(leg_of(json));
  return json;
}

void write_report(const std::string& path, const Report& report) {
  write_atomically(path, json_text(report_to_json(report), 2) + "\n");
}

}  // namespace tessera::app
