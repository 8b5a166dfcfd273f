#include "tessera/comm/shared_memory.h"

#include <memory>
#include <vector>

#include "tessera/comm/threaded/job.h"

namespace tessera::comm {

struct alignas(64) SharedLine {
  std::byte bytes[64] = {};
};
/// Of all who see it, so that each may set it free when it likes.
using SharedLines = std::shared_ptr<std::vector<SharedLine>>;

struct SharedMemory::Implementation {
  std::shared_ptr<Job> job;
  SharedLines mine;
  std::vector<SharedLines> of;  // by rank
};

SharedMemory::SharedMemory(const Communicator& comm, std::size_t bytes, bool is_alone)
    : implementation_(new Implementation{
          comm.implementation_->job, std::make_shared<std::vector<SharedLine>>((bytes + 64) / 64), {}}) {
  const SharedLines* own = &implementation_->mine;
  const auto all = comm.all_gather(std::as_bytes(std::span(&own, 1)));
  const auto& hosts = implementation_->job->hosts;
  const auto rank = static_cast<std::size_t>(comm.rank());
  for (std::size_t other = 0; other < all.size(); ++other) {
    const bool is_seen = other == rank || (!is_alone && hosts[other] == hosts[rank]);
    implementation_->of.push_back(is_seen ? *values_of<const SharedLines*>(all[other])[0] : nullptr);
  }
  comm.barrier();
}
SharedMemory::SharedMemory(SharedMemory&&) noexcept = default;
SharedMemory::~SharedMemory() = default;

std::byte* SharedMemory::mine() const { return implementation_->mine->data()->bytes; }
const std::byte* SharedMemory::of(int rank) const {
  const auto& lines = implementation_->of[static_cast<std::size_t>(rank)];
  return lines ? lines->data()->bytes : nullptr;
}
/// Waits for all ranks of the job, as all threads are in one process.
void SharedMemory::synchronise() const { implementation_->job->barrier(); }

}  // namespace tessera::comm
