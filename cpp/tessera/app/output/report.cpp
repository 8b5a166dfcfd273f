#include "tessera/app/output/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/app/config/schema.h"
#include "tessera/app/output/progress.h"
#include "tessera/base/atomic_file.h"

namespace tessera::app {

double Report::ns_per_day() const {
  return wall_seconds > 0 ? static_cast<double>(steps()) * timestep / 1000 * 86400 / wall_seconds : 0;
}

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

std::string report_text(const Report& report) {
  std::string text =
      fmt::format("{:<28} {:>10} {:>8} {:>12} {:>10}\n", "phase", "seconds", "share", "ms/step", "imbalance");
  const double steps = static_cast<double>(std::max<std::int64_t>(1, report.steps()));
  const auto row = [&](const std::string& name, double seconds, const std::string& imbalance) {
    const double share = report.wall_seconds > 0 ? 100 * seconds / report.wall_seconds : 0;
    text += fmt::format("{:<28} {:>10.3f} {:>6.1f} % {:>12.4f} {:>10}\n", name, seconds, share, 1000 * seconds / steps,
                        imbalance);
  };
  double sum = 0;
  for (const auto& phase : report.phases) {
    row(phase.name, phase.mean_seconds, fmt::format("{:.2f}", phase.imbalance()));
    sum += phase.mean_seconds;
  }
  if (report.wall_seconds > sum) row("rest", report.wall_seconds - sum, "");
  row("all", report.wall_seconds, "");
  text += fmt::format("\n{:.4g} ns/day, {:.4g} ms/step: {} atoms, {} steps on {} × {} ({}).\n", report.ns_per_day(),
                      report.ms_per_step(), grouped(report.n_atoms), grouped(report.steps()),
                      fmt::format("{} rank{}", report.ranks, report.ranks == 1 ? "" : "s"),
                      fmt::format("{} thread{}", report.threads, report.threads == 1 ? "" : "s"),
                      duration_text(report.wall_seconds));
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
  return {{"format", "tessera-report"},
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
          {"state_hash", report.state_hash.empty() ? nlohmann::json(nullptr) : nlohmann::json(report.state_hash)},
          {"versions", report.versions},
          {"machine", machine::to_json(report.machine)},
          {"settings", report.settings},
          {"results", report.results}};
}

void write_report(const std::string& path, const Report& report) {
  write_atomically(path, json_text(report_to_json(report), 2) + "\n");
}

}  // namespace tessera::app
