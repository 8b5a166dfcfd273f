// Folders of pieces: aggregated segments of a few writers, one a host unless told otherwise, with checksums; and a file
// for each rank, the distributed dump of Todorov et al. Each writer writes its file from beginning to end. The manifest
// has lines of a key and its value, then a line for each piece.
//
//   tessera-pieces 2
//   format text
//   atoms 27000
//   order sorted
//   piece 00000 0 13500 1971365 4f2a…     name, first place, atoms, bytes, XXH3 (- where there is none)
//
// The pieces one after the other are the file that the methods of one file write: `cat FOLDER/0* > CONFIG`.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/programs/io/bench_methods.h"

namespace tessera::programs {

using namespace io::write;
namespace fs = std::filesystem;

namespace {

constexpr const char* first_line = "tessera-pieces 2";
constexpr const char* manifest_name = "manifest";

/// Returns the name of a piece: "00012".
std::string piece_name(int piece) { return fmt::format("{:05}", piece); }

/// Makes an empty folder beside `place`.
std::string make_temporary_folder(const std::string& place) {
  for (int number = 0;; ++number) {
    auto path = temporary_beside(place, number);
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error) throw RunError(fmt::format("{}: can't make the folder: {}", path, system_error_text(error.value())));
  }
}

/// Refuses to replace what was not written by a NewFolder.
void check_place_of_folder(const std::string& place) {
  std::error_code error;
  const auto status = fs::symlink_status(place, error);
  if (!fs::exists(status)) {
    const auto parent = fs::path(place).parent_path();
    if (!parent.empty() && !fs::is_directory(parent, error))
      throw InputError(
          fmt::format("{}: there is no folder {}; make it, or choose another place", place, parent.string()));
    return;
  }
  if (!fs::is_directory(status) || !fs::exists(fs::path(place) / manifest_name, error))
    throw InputError(
        fmt::format("{}: is there and is no folder of pieces, so it is not replaced; choose another name", place));
}

/// A folder of pieces that ranks write together, and that appears whole or not at all.
class NewFolder {
 public:
  explicit NewFolder(WriteJob& job);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  /// Makes the file of a piece in the new folder.
  Descriptor create(int piece) const;
  /// Writes the manifest and replaces the old folder by the new one. Collective.
  void commit(const std::string& manifest);

 private:
  WriteJob& job_;
  std::string place_, temporary_;
  bool is_open_ = true;
};

NewFolder::NewFolder(WriteJob& job) : job_(job), place_(job.path()) {
  while (place_.size() > 1 && place_.ends_with('/')) place_.pop_back();
  if (job.comm().is_root())
    job.attempt([&] {
      check_place_of_folder(place_);
      temporary_ = make_temporary_folder(place_);
    });
  try {
    job.agree();
  } catch (...) {
    is_open_ = false;
    throw;
  }
  comm::broadcast_resized(job.comm(), temporary_);
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (is_open_ && job_.comm().is_root()) fs::remove_all(temporary_, ignored);
}

Descriptor NewFolder::create(int piece) const {
  return Descriptor::create((fs::path(temporary_) / piece_name(piece)).string());
}

void NewFolder::commit(const std::string& manifest) {
  job_.agree();
  if (job_.comm().is_root())
    job_.attempt([&] {
      write_atomically((fs::path(temporary_) / manifest_name).string(), manifest);
      synchronize_folder(temporary_);
      std::error_code ignored;
      const bool is_there = fs::exists(place_, ignored);
      bool is_done = false;
#ifdef RENAME_EXCHANGE
      if (is_there) is_done = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) == 0;
#endif
      if (is_there && !is_done) {  // a file system without it: for a moment there is no folder of this name
        const auto old = make_temporary_folder(place_);
        if (::rename(place_.c_str(), old.c_str()) != 0 || ::rename(temporary_.c_str(), place_.c_str()) != 0)
          throw RunError(fmt::format("{}: can't replace the folder: {}", place_, system_error_text(errno)));
        temporary_ = old;
      } else if (!is_there && ::rename(temporary_.c_str(), place_.c_str()) != 0) {
        throw RunError(fmt::format("{}: can't name the folder: {}", place_, system_error_text(errno)));
      }
      is_open_ = false;
      synchronize_folder(fs::path(place_).parent_path().string());
      if (is_there) fs::remove_all(temporary_, ignored);
    });
  job_.agree();
  is_open_ = false;
}

/// XXH3, 64 bits, seed 0, of bytes that are added in parts.
class Checksum {
 public:
  Checksum() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::string text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

/// Writes the plan's pieces, each a file in a folder, with a checksum where wanted. Collective.
void write_pieces(WriteJob& job, bool has_checksums) {
  NewFolder folder(job);
  const auto* part = job.mine();
  std::optional<Descriptor> file;
  std::optional<Checksum> checksum;
  if (part) job.attempt([&] { file.emplace(folder.create(part->file)); });
  if (part && has_checksums) checksum.emplace();
  std::int64_t size = 0;
  job.write_batches([&](std::span<const std::byte> bytes, std::int64_t offset) {
    if (bytes.empty()) return;
    job.attempt([&] {
      file->write_at(bytes.data(), bytes.size(), offset);
      file->start_synchronizing(offset, std::ssize(bytes));
      if (checksum) checksum->add(bytes);
      size += std::ssize(bytes);
    });
  });
  std::string line;
  if (part) {
    job.attempt([&] { file->synchronize(); });
    line = fmt::format("piece {} {} {} {} {}\n", piece_name(part->file), part->first, part->n_atoms, size,
                       checksum ? checksum->text() : "-");
  }
  std::string manifest = fmt::format("{}\nformat {}\natoms {}\norder {}\n", first_line, job.format().name,
                                     job.n_atoms(), job.options().order == Order::sorted ? "sorted" : "owned");
  for (const auto& one : job.comm().gather(comm::bytes_of(line), 0))
    manifest.append(reinterpret_cast<const char*>(one.data()), one.size());
  folder.commit(manifest);
}

WritePlan plan_segments(const WriteProblem& problem, const WriteOptions& options) {
  auto writers = options.writers > 0 ? spread(problem.n_ranks(), options.writers) : one_of_each_host(problem);
  if (static_cast<int>(writers.size()) > options.most_files) {
    std::vector<int> fewer;
    for (const int i : spread(static_cast<int>(writers.size()), options.most_files))
      fewer.push_back(writers[static_cast<std::size_t>(i)]);
    writers = std::move(fewer);
  }
  return divide(problem, options, writers, true);
}

WritePlan plan_file_per_rank(const WriteProblem& problem, const WriteOptions& options) {
  return divide(problem, options, spread(problem.n_ranks(), problem.n_ranks()), true);
}

}  // namespace

const Method segments{"segments", "files of a few writers, one a host, with checksums", any_format, plan_segments,
                      [](WriteJob& job) { write_pieces(job, true); }};
const Method file_per_rank{"file-per-rank", "a file for each rank, in one folder", any_format, plan_file_per_rank,
                           [](WriteJob& job) { write_pieces(job, false); }};

}  // namespace tessera::programs
