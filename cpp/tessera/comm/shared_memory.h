// Memory that the ranks of one host read from each other without messages.
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Each rank has memory of its own to write to, and reads that of the ranks on its host. Where the system gives no
/// shared memory, every rank is alone.
class SharedMemory {
 public:
  struct Implementation;

  /// Reserves `bytes` for this rank, zero and aligned to a page. Where `is_alone`, no rank reads another's memory.
  /// Collective.
  SharedMemory(const Communicator& comm, std::size_t bytes, bool is_alone = false);
  SharedMemory(SharedMemory&&) noexcept;
  ~SharedMemory();

  std::byte* mine() const;
  /// Returns the memory that a rank writes to; nullptr where that rank is on another host.
  const std::byte* of(int rank) const;
  /// Waits for all ranks of the host; what any of them wrote before, all of them see afterwards. Collective on the
  /// host.
  void synchronise() const;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tessera::comm
