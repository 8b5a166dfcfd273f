// Parallel direct access: every writer writes its own range of one file by pwrite.
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

namespace {

void write(WriteJob& job) {
  NewFile file(job);
  std::optional<Descriptor> open;
  if (job.mine()) job.attempt([&] { open.emplace(file.open()); });
  job.write_batches([&](std::span<const std::byte> bytes, std::int64_t offset) {
    if (bytes.empty()) return;
    job.attempt([&] {
      open->write_at(bytes.data(), bytes.size(), offset);
      open->start_synchronizing(offset, std::ssize(bytes));
    });
  });
  if (open) job.attempt([&] { open->synchronize(); });
  file.commit();
}

}  // namespace

const Method pdaw{"pdaw",         "parallel direct access: writers write ranges of one file by pwrite",
                  false,          any_format,
                  plan_all_ranks, write};

}  // namespace tessera::io::write
