// MPI-IO: parallel direct access through the MPI library, each writer by itself or all at once.
#include "tessera/base/error.h"
#include "tessera/comm/shared_file.h"
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

namespace {

template <bool is_collective>
void write(WriteJob& job) {
  NewFile file(job);
  const auto shared = comm::open_shared_file(job.comm(), file.temporary_path());
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

const Method mpiw_independent{"mpiw-independent", "MPI-IO, each writer by itself", false, any_format, plan_all_ranks,
                              write<false>};
const Method mpiw_collective{"mpiw-collective", "MPI-IO, all ranks at once", false, any_format, plan_all_ranks,
                             write<true>};

}  // namespace tessera::io::write
