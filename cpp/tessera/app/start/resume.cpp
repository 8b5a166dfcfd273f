#include "tessera/app/start/resume.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/app/config/removed_keys.h"
#include "tessera/app/restart/checkpoint_file.h"
#include "tessera/app/restart/fingerprint.h"
#include "tessera/app/trial.h"
#include "tessera/comm/on_root.h"

namespace tessera::app {

namespace {

/// Returns whether the direct sum of the run goes beyond the cut-off of its Lennard-Jones.
bool was_split_tuned(const Checkpoint& checkpoint) {
  return checkpoint.settings.value("pme.cutoff", 0.0) > checkpoint.settings.value("interactions.cutoff", 0.0);
}

/// Returns the split of Ewald's sum that the run of the checkpoint chose by trial; cut-off 0: none.
md::pme::Split tuned_split(const Checkpoint& checkpoint, const RunConfig& config) {
  if (!may_choose_split(config) || !was_split_tuned(checkpoint)) return {};
  return {checkpoint.settings.at("pme.cutoff"), checkpoint.settings.at("pme.grid")};
}

}  // namespace

std::string compare_settings(const Checkpoint& checkpoint, const RunConfig& config, const model::System& system,
                             md::EngineSettings& settings) {
  if (const auto split = tuned_split(checkpoint, config); split.cutoff > 0)
    settings = with_split(config, system, split);
  if (auto removed = describe_removed(checkpoint.settings); !removed.empty()) return removed;
  return describe_differences(checkpoint.settings, bit_settings(config, settings, fingerprint(system)));
}

Checkpoint resume(const std::string& folder, const RunConfig& config, const model::System& system,
                  const comm::Communicator& comm, md::EngineSettings& settings, std::string& note) {
  auto found = find_checkpoint(folder, comm);
  if (!found)
    throw InputError(fmt::format(
        "{} holds no checkpoint to go on from, expected the folder of a run that has written one: begin the "
        "run first",
        folder));
  auto& checkpoint = found->checkpoint;
  md::pme::Split split;  // cut-off 0: as configured
  on_root(comm, [&] {
    note = found->note;
    split = tuned_split(checkpoint, config);
    const auto differences = compare_settings(checkpoint, config, system, settings);
    if (!differences.empty())
      throw InputError(
          fmt::format("the checkpoint in {} is of another run: {}; a restart goes on with the same settings, "
                      "start a new run to change them",
                      folder, differences));
    TESSERA_CHECK(checkpoint.n_atoms == system.n_atoms());
    const auto unheeded = describe_differences(checkpoint.start, start_settings(config));
    if (!unheeded.empty())
      note += fmt::format("{}{}; that decides how a run begins, and a restart goes on as it is",
                          note.empty() ? "" : "; ", unheeded);
  });
  join_groups(checkpoint.state, system, comm);
  comm.broadcast(std::as_writable_bytes(std::span(&split, 1)), 0);
  if (split.cutoff > 0) settings = with_split(config, system, split);
  return std::move(checkpoint);
}

}  // namespace tessera::app
