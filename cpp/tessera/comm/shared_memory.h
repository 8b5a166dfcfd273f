// Memory that the ranks of one host read from each other without messages.
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Each rank has some of its own to write to, and sees that of the ranks on its host. Where the system gives no shared
/// memory, every rank is alone.
class SharedMemory {
 public:
  struct Implementation;

  /// `bytes` that this rank writes, on a page's edge and zero. `is_alone`: no rank shall see another's. Collective.
  SharedMemory(const Communicator& comm, std::size_t bytes, bool is_alone = false);
  SharedMemory(SharedMemory&&) noexcept;
  ~SharedMemory();

  std::byte* mine() const;
  /// What a rank writes; nullptr where that rank is on another host.
  const std::byte* of(int rank) const;
  /// What any rank of the host wrote before, all of them see afterwards. Collective on the host.
  void synchronise() const;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tessera::comm
