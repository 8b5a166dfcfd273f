#include "tessera/comm/shared_file.h"

namespace tessera::comm {

std::unique_ptr<SharedFile> open_shared_file(const Communicator& comm, const std::string& path,
                                             const std::vector<Hint>& /*hints*/) {
  return open_posix_file(comm, path);
}

}  // namespace tessera::comm
