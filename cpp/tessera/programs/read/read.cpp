#include "tessera/programs/read/read.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/app/restart/checkpoint_file.h"
#include "tessera/app/system/system_file.h"
#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/large_pages.h"
#include "tessera/io/text/share.h"
#include "tessera/programs/io/seconds_of.h"

namespace tessera::programs {

namespace {

constexpr std::int64_t block = std::int64_t{8} << 20;  // bytes that are read at once

/// An open file of which the handle is known.
class Handle {
 public:
  Handle(const std::string& path, int flags) : id_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)) {
    if (id_ < 0) throw InputError(fmt::format("{}: can't read the file: {}", path, system_error_text(errno)));
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { ::close(id_); }
  int id() const { return id_; }

 private:
  int id_;
};

void forget(const std::string& path) { ::posix_fadvise(Handle(path, 0).id(), 0, 0, POSIX_FADV_DONTNEED); }

/// Reads this rank's share of the bytes, in whole blocks.
void read_bytes(const comm::Communicator& comm, const std::string& path, int flags) {
  comm::on_each_rank(comm, [&] {
    const auto n_blocks = (Descriptor::open_to_read(path).size() + block - 1) / block;
    const Handle file(path, flags);
    io::DirectBytes buffer(block);
    for (auto at = n_blocks * comm.rank() / comm.size(); at < n_blocks * (comm.rank() + 1) / comm.size(); ++at)
      if (::pread(file.id(), buffer.data(), block, at * block) < 0)
        throw RunError(fmt::format("{}: can't read: {}", path, system_error_text(errno)));
  });
}

std::int64_t read_system(const comm::Communicator& comm, const std::string& path) {
  std::int64_t n_atoms = 0;
  comm::on_each_rank(comm, [&] { n_atoms = std::ssize(app::read_coordinates(path, comm.rank(), comm.size()).id); });
  return comm::all_reduce_sum(comm, n_atoms);
}

std::int64_t read_checkpoint(const comm::Communicator& comm, const std::string& path) {
  const auto found = app::find_checkpoint(path, comm);
  if (!found || !found->note.empty())
    throw InputError(fmt::format("{}: expected a checkpoint{}", path, found ? ", " + found->note : ""));
  return found->checkpoint.n_atoms;
}

}  // namespace

nlohmann::json time_reading(const ReadRequest& request, const comm::Communicator& comm) {
  const auto& path = request.path;
  const std::function<std::int64_t()> parse = [&] {
    if (request.kind == "system") return read_system(comm, path);
    if (request.kind == "checkpoint") return read_checkpoint(comm, path);
    return io::text::read_config_share(comm, path).n_all;
  };
  std::int64_t n_atoms = 0, bytes = 0;
  comm::on_root(comm, [&] { bytes = Descriptor::open_to_read(path).size(); });
  const auto timed = [&](auto&& work) {
    comm::on_root(comm, [&] {
      if (request.is_cold) forget(path);
    });
    return seconds_of(comm, work);
  };
  std::vector<double> raw, direct, parsed;
  for (int repeat = 0; repeat < request.repeats; ++repeat) {
    raw.push_back(timed([&] { read_bytes(comm, path, 0); }));
    if (request.is_cold) direct.push_back(timed([&] { read_bytes(comm, path, O_DIRECT); }));
    parsed.push_back(timed([&] { n_atoms = parse(); }));
  }
  return {{"ranks", comm.size()}, {"bytes", bytes},   {"atoms", n_atoms},
          {"raw", raw},           {"direct", direct}, {"parsed", parsed}};
}

}  // namespace tessera::programs
