#include "tessera/programs/io/read.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/base/descriptor.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/text/share.h"
#include "tessera/programs/io/seconds_of.h"

namespace tessera::programs {

namespace {

void forget(const std::string& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return;
  ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
  ::close(handle);
}

void read_bytes(const comm::Communicator& comm, const std::string& path) {
  comm::on_each_rank(comm, [&] {
    const auto file = Descriptor::open_to_read(path);
    const auto size = file.size();
    auto at = size * comm.rank() / comm.size();
    const auto end = size * (comm.rank() + 1) / comm.size();
    std::vector<char> buffer(std::size_t{8} << 20);
    while (at < end) {
      const auto n = file.read_at(buffer.data(), static_cast<std::size_t>(std::min(end - at, std::ssize(buffer))), at);
      if (n == 0) break;
      at += static_cast<std::int64_t>(n);
    }
  });
}

}  // namespace

nlohmann::json time_reading(const ReadRequest& request, const comm::Communicator& comm) {
  std::vector<double> raw, text;
  std::int64_t n_atoms = 0, bytes = 0;
  comm::on_root(comm, [&] { bytes = Descriptor::open_to_read(request.path).size(); });
  const auto prepare = [&] {
    if (request.is_cold && comm.is_root()) forget(request.path);
  };
  for (int repeat = 0; repeat < request.repeats; ++repeat) {
    prepare();
    raw.push_back(seconds_of(comm, [&] { read_bytes(comm, request.path); }));
    prepare();
    text.push_back(seconds_of(comm, [&] { n_atoms = io::text::read_config_share(comm, request.path).n_all; }));
  }
  return {{"ranks", comm.size()}, {"bytes", bytes}, {"atoms", n_atoms}, {"raw", raw}, {"text", text}};
}

}  // namespace tessera::programs
