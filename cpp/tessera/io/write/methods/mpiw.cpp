// MPI-IO: parallel direct access through the MPI library, each writer by itself or all at once.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/comm/shared_file.h"
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

namespace {

/// Returns what MPI-IO is told where a job is tuned; where nobody asked for a number of writers, it goes by its own
/// defaults. ROMIO has one aggregator a host, whatever their number, unless it is told that hosts may have more.
std::vector<comm::Hint> hints_of(const WriteJob& job, bool is_collective) {
  const auto& options = job.options();
  if (options.writers == 0) return {};
  return {{"cb_nodes", fmt::format("{}", std::min(options.writers, job.comm().size()))},
          {"cb_buffer_size", fmt::format("{}", options.buffer)},
          {"cb_config_list", "*:*"},
          {"collective_buffering", is_collective ? "true" : "false"},
          {"romio_cb_write", is_collective ? "enable" : "disable"}};
}

template <bool is_collective>
void write(WriteJob& job) {
  NewFile file(job);
  const auto shared = comm::open_shared_file(job.comm(), file.temporary_path(), hints_of(job, is_collective));
  job.write_batches([&](std::span<const std::byte> bytes, std::int64_t offset) {
    if constexpr (is_collective) {
      job.attempt_together([&](bool has_failed) { shared->write_at_all(has_failed ? bytes.first(0) : bytes, offset); });
    } else if (!bytes.empty()) {
      job.attempt([&] { shared->write_at(bytes, offset); });
    }
  });
  job.agree();
  file.synchronize(*shared);
  file.commit();
}

}  // namespace

const Method mpiw_independent{"mpiw-independent", "MPI-IO, each writer by itself", any_format, plan_all_ranks,
                              write<false>};
const Method mpiw_collective{"mpiw-collective", "MPI-IO, all ranks at once", any_format, plan_all_ranks, write<true>};

}  // namespace tessera::io::write
