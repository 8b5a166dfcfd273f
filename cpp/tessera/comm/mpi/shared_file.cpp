// The shared file by MPI-IO (MPI 4.0, chapter 14).
#include "tessera/comm/shared_file.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/comm/mpi/communicator.h"
#include "tessera/comm/on_root.h"

namespace tessera::comm {

namespace {

/// Describes an error of MPI-IO. Open MPI has classes for errors of the system that users can mend; MPICH often has
/// only the system's own words at the end of a text of several lines.
std::string text_of(int code) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  char buffer[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, buffer, &length);
  std::string text(buffer, static_cast<std::size_t>(length));
  constexpr std::pair<int, int> known[] = {{MPI_ERR_NO_SPACE, ENOSPC},     {MPI_ERR_QUOTA, EDQUOT},
                                           {MPI_ERR_ACCESS, EACCES},       {MPI_ERR_READ_ONLY, EROFS},
                                           {MPI_ERR_NO_SUCH_FILE, ENOENT}, {MPI_ERR_OTHER, EFBIG}};
  for (const auto& [its_class, error] : known)
    if (text.find(std::strerror(error)) != std::string::npos) return system_error_text(error);
  for (const auto& [its_class, error] : known)
    if (error_class == its_class && its_class != MPI_ERR_OTHER) return system_error_text(error);
  std::ranges::replace(text, '\n', ' ');
  return fmt::format("{} (MPI-IO); another write method may tell more", text);
}

class Info {
 public:
  explicit Info(const std::vector<Hint>& hints) {
    if (hints.empty()) return;
    MPI_Info_create(&info_);
    for (const auto& hint : hints) MPI_Info_set(info_, hint.name.c_str(), hint.value.c_str());
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

class MpiFile : public SharedFile {
 public:
  MpiFile(MPI_Comm comm, std::string path, const Info& info) : path_(std::move(path)) {
    check(MPI_File_open(comm, path_.c_str(), MPI_MODE_WRONLY, info.get(), &file_), "open the file for writing");
    MPI_File_set_errhandler(file_, MPI_ERRORS_RETURN);
  }
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() override {
    int ended = 0;
    MPI_Finalized(&ended);
    if (file_ != MPI_FILE_NULL && !ended) MPI_File_close(&file_);
  }

  void write_at(std::span<const std::byte> data, std::int64_t offset) override {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (std::size_t done = 0; done < data.size(); done += most) {
      const auto piece = data.subspan(done, std::min(most, data.size() - done));
      MPI_Status status;
      check(MPI_File_write_at(file_, offset + static_cast<std::int64_t>(done), piece.data(),
                              static_cast<int>(piece.size()), MPI_BYTE, &status),
            "write");
      check_count(status, piece.size());
    }
  }

  void write_at_all(std::span<const std::byte> data, std::int64_t offset) override {
    TESSERA_CHECK(data.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
    MPI_Status status;
    check(MPI_File_write_at_all(file_, offset, data.data(), static_cast<int>(data.size()), MPI_BYTE, &status), "write");
    if (!data.empty()) check_count(status, data.size());
  }

  void synchronize() override { check(MPI_File_sync(file_), "bring the file to the disk"); }

 private:
  void check(int code, const char* what) const {
    if (code != MPI_SUCCESS) throw RunError(fmt::format("{}: can't {}: {}", path_, what, text_of(code)));
  }
  /// Throws RunError where less than expected was written, which may be all that shows a full disk.
  void check_count(const MPI_Status& status, std::size_t expected) const {
    int n = 0;
    MPI_Get_count(&status, MPI_BYTE, &n);
    if (static_cast<std::size_t>(n) != expected)
      throw RunError(fmt::format("{}: can't write: {}", path_, system_error_text(ENOSPC)));
  }

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<SharedFile> open_shared_file(const Communicator& comm, const std::string& path,
                                             const std::vector<Hint>& hints) {
  std::unique_ptr<SharedFile> file;
  on_each_rank(comm, [&] { file = std::make_unique<MpiFile>(comm.implementation_->comm, path, Info(hints)); });
  return file;
}

}  // namespace tessera::comm
