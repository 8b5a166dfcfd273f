#include "tessera/base/files/descriptor.h"
#include "tessera/comm/on_root.h"
#include "tessera/comm/shared_file.h"

namespace tessera::comm {

namespace {

class PosixFile : public SharedFile {
 public:
  explicit PosixFile(const std::string& path) : file_(Descriptor::open_to_change(path)) {}

  void write_at(std::span<const std::byte> data, std::int64_t offset) override {
    file_.write_at(data.data(), data.size(), offset);
  }
  void write_at_all(std::span<const std::byte> data, std::int64_t offset) override { write_at(data, offset); }
  void synchronize() override { file_.synchronize(); }

 private:
  Descriptor file_;
};

}  // namespace

std::unique_ptr<SharedFile> open_posix_file(const Communicator& comm, const std::string& path) {
  std::unique_ptr<SharedFile> file;
  on_each_rank(comm, [&] { file = std::make_unique<PosixFile>(path); });
  return file;
}

}  // namespace tessera::comm
