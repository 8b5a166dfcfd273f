#include "tessera/io/write/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/comm/on_root.h"
#include "tessera/machine/survey/machine_file.h"

namespace tessera::io::write {

namespace {

constexpr double nearest_ranks = 4;  // factor within which a measurement with other ranks is taken

/// Returns the factor between the numbers of ranks.
double distance(const machine::WriteTrial& trial, int n_ranks) {
  const double ratio = static_cast<double>(trial.n_ranks) / n_ranks;
  return ratio < 1 ? 1 / ratio : ratio;
}

double rate(const machine::WriteTrial& trial) { return static_cast<double>(trial.bytes) / trial.seconds; }

/// Returns the fastest of the measurements for which `does` is true and whose number of ranks is nearest; null where
/// none is near enough.
template <class Does>
const machine::WriteTrial* best_trial(const machine::FileSystem& system, int n_ranks, Does&& does) {
  const machine::WriteTrial* best = nullptr;
  for (const auto& trial : system.trials) {
    if (distance(trial, n_ranks) > nearest_ranks || !does(trial)) continue;
    const double nearer = best ? distance(*best, n_ranks) - distance(trial, n_ranks) : 1;
    if (nearer > 0 || (nearer == 0 && rate(trial) > rate(*best))) best = &trial;
  }
  return best;
}

/// Returns as many writers in relation to the ranks as were measured.
int writers_for(const machine::WriteTrial& trial, int n_ranks) {
  return std::max(1, static_cast<int>(std::lround(static_cast<double>(trial.n_writers) * n_ranks / trial.n_ranks)));
}

const Method* find(std::span<const Method> methods, const std::string& name) {
  for (const auto& one : methods)
    if (name == one.name) return &one;
  return nullptr;  // of a bench, or of a later version
}

}  // namespace

Choice choose(std::span<const Method> methods, const WriteProblem& problem, const Format& format, Order order,
              const machine::FileSystem* system) {
  Choice choice;
  choice.options.order = order;
  if (system == nullptr) {
    choice.method = &methods.front();
    choice.reason = "nothing was measured on this file system; `tessera io bench` does it";
    return choice;
  }
  choice.options.most_files = system->most_files;
  const auto bytes = static_cast<double>(problem.header_bytes + problem.n_atoms() * problem.atom_bytes);

  const auto* best = best_trial(*system, problem.n_ranks(), [&](const machine::WriteTrial& trial) {
    const auto* entry = find(methods, trial.method);
    const bool is_of_format = trial.format == format.name || (format.measured_as && trial.format == format.measured_as);
    if (!entry || !entry->can(format) || !is_of_format || trial.order != (order == Order::sorted ? "sorted" : "owned"))
      return false;
    // Where every rank has a file, it is this job's ranks that count.
    return std::max(trial.n_files, entry->plan(problem, choice.options).n_files) <= system->most_files;
  });
  if (best) {
    choice.method = find(methods, best->method);
    choice.options.writers = writers_for(*best, problem.n_ranks());
    choice.options.batch = std::max<std::int64_t>(1, best->batch);
    choice.options.buffer = std::max<std::int64_t>(1, best->buffer);
    choice.seconds = bytes / rate(*best);
    choice.reason = fmt::format("{:.0f} MB/s were measured with it, {} ranks and {} writers", rate(*best) / 1e6,
                                best->n_ranks, best->n_writers);
    return choice;
  }
  for (const auto& one : methods) {
    if (!one.can(format)) continue;
    const auto plan = one.plan(problem, choice.options);
    if (plan.n_files > system->most_files) continue;
    const double seconds = predicted_seconds(one, problem, plan, *system);
    if (choice.method && seconds >= choice.seconds) continue;
    choice.method = &one;
    choice.seconds = seconds;
  }
  choice.reason = fmt::format("{:.3g} s are predicted, the least; nothing of this kind was measured", choice.seconds);
  return choice;
}

int writers_of_segments(const machine::FileSystem& system, int n_ranks) {
  const auto* best = best_trial(system, n_ranks, [](const auto& trial) { return trial.method == "segments"; });
  return best ? std::clamp(writers_for(*best, n_ranks), 1, std::max(1, system.most_files)) : system.most_files;
}

const machine::FileSystem* file_system_of(std::span<const machine::FileSystem> systems, const std::string& path) {
  const machine::FileSystem* found = nullptr;
  for (const auto& system : systems) {
    const bool holds = system.folder == "/" || path == system.folder || path.starts_with(system.folder + "/");
    if (holds && (!found || system.folder.size() > found->folder.size())) found = &system;
  }
  return found;
}

std::optional<machine::FileSystem> file_system_of(const std::string& machine_file, const std::string& path) {
  if (machine_file.empty()) return std::nullopt;
  const auto map = machine::read_machine_file(machine_file);
  const auto* system = file_system_of(map.file_systems, path);
  return system ? std::optional(*system) : std::nullopt;
}

Choice agree_on_choice(const comm::Communicator& comm, const std::function<Choice()>& choose_on_root) {
  Choice choice;
  std::string name;
  std::array<std::int64_t, 3> sizes{};
  comm::on_root(comm, [&] {
    choice = choose_on_root();
    name = choice.method->name;
    sizes = {choice.options.writers, choice.options.batch, choice.options.buffer};
  });
  comm::broadcast_resized(comm, name);
  comm.broadcast(std::as_writable_bytes(std::span(sizes)), 0);
  choice.method = &method(name);
  choice.options.writers = static_cast<int>(sizes[0]);
  choice.options.batch = sizes[1];
  choice.options.buffer = sizes[2];
  return choice;
}

}  // namespace tessera::io::write
