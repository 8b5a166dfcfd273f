// Serial direct access: the master alone writes, all others send to it in turn.
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

namespace {

void write(WriteJob& job) {
  NewFile file(job);
  std::optional<Descriptor> open;
  if (job.mine()) job.attempt([&] { open.emplace(file.open()); });
  job.write_in_turn([&](std::span<const std::byte> bytes, std::int64_t offset) {
    job.attempt([&] {
      open->write_at(bytes.data(), bytes.size(), offset);
      open->start_synchronizing(offset, std::ssize(bytes));
    });
  });
  if (open) job.attempt([&] { open->synchronize(); });
  file.commit();
}

}  // namespace

const Method sdaw{
    "sdaw", "serial direct access: the master writes, others send to it in turn", false, any_format, plan_root, write};

}  // namespace tessera::io::write
