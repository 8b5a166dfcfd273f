#include "tessera/io/write/frame_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/write/write.h"

namespace tessera::io::write {

namespace {

std::string problem_with(const Format& format, const Method& method, const WriteOptions& options,
                         std::int64_t n_atoms) {
  if (!format.holds_frames())
    return fmt::format("the format {} holds one configuration, not frames; choose another", format.name);
  if (n_atoms == 0) return "a frame has no atoms";
  return problem_with_options(format, method, options);
}

}  // namespace

FrameFile::FrameFile(const comm::Communicator& comm, std::string path, const Frame& like, std::int64_t n_own,
                     const Format& format, const Method& method, const WriteOptions& options,
                     std::optional<std::int64_t> frames)
    : comm_(comm),
      path_(std::move(path)),
      like_(like),
      format_(format),
      method_(method),
      options_(options),
      problem_(problem_of(comm, like, n_own, format)),
      n_atoms_(problem_.n_atoms()) {
  comm::agree_on_input(comm, problem_with(format, method, options, n_atoms_));
  problem_.header_bytes = 0;  // of a frame, which the root writes
  if (format.has_blocks) {
    for (auto& n : problem_.owned) n = format.n_records(n);
    problem_.level = 0;
  }
  plan_ = method.plan(problem_, options_);
  file_header_bytes_ = std::ssize(format.file_header(like, n_atoms_, 0));
  frame_bytes_ = std::ssize(format.frame_header(like, n_atoms_)) + format.n_records(n_atoms_) * format.atom_bytes;
  comm::on_root(comm, [&] {
    std::error_code ignored;
    if (frames && std::filesystem::exists(path_, ignored)) {
      go_on(*frames);
    } else {
      file_.emplace(Descriptor::create(path_));
      write_file_header();
    }
  });
  comm::on_each_rank(comm, [&] {
    if (!file_ && n_own > 0) file_.emplace(Descriptor::open_to_change(path_));
  });
  n_frames_ = frames.value_or(0);
}

/// Cuts off what is behind the first frames of a file that holds such frames.
void FrameFile::go_on(std::int64_t n_frames) {
  file_.emplace(Descriptor::open_to_change(path_));
  const auto read = [&](std::int64_t begin, std::int64_t n) {
    std::string bytes(static_cast<std::size_t>(n), '\0');
    bytes.resize(file_->read_at(bytes.data(), bytes.size(), begin));
    return bytes;
  };
  TESSERA_CHECK(format_.is_of != nullptr);
  const auto head = read(0, file_header_bytes_);
  if (std::ssize(head) != file_header_bytes_ || head.back() != '\n' || !format_.is_of(head, like_, n_atoms_))
    throw InputError(
        fmt::format("{}: is not the trajectory of this run ({} atoms in the format {}); move it away to begin another "
                    "from the checkpoint on",
                    path_, n_atoms_, format_.name));
  std::int64_t whole = 0;
  while (whole < n_frames && read(begin_of(whole + 1) - 1, 1) == "\n") ++whole;
  if (whole < n_frames)
    throw InputError(
        fmt::format("{}: holds {} whole frames, the checkpoint says {}; put the trajectory back, or move it away "
                    "to begin another from the checkpoint on",
                    path_, whole, n_frames));
  file_->truncate(begin_of(n_frames));
  n_frames_ = n_frames;
  write_file_header();
}

void FrameFile::write_file_header() const {
  const auto header = format_.file_header(like_, n_atoms_, n_frames_);
  file_->write_at(header.data(), header.size(), 0);
}

/// Plans anew where ranks have other numbers of atoms than in the frame before.
void FrameFile::plan_for(const Atoms& atoms) {
  const auto n = format_.n_records(static_cast<std::int64_t>(atoms.size()));
  auto owned = problem_.owned;
  const std::vector<std::int64_t> sizes(owned.size(), sizeof n);
  comm_.all_gather(std::as_bytes(std::span(&n, 1)), sizes, comm::writable_bytes_of(owned));
  if (owned == problem_.owned) return;
  problem_.owned = std::move(owned);
  TESSERA_CHECK(problem_.n_atoms() == format_.n_records(n_atoms_));
  plan_ = method_.plan(problem_, options_);
}

/// Returns on all ranks what is_in_place() returns on the root. Collective.
bool FrameFile::is_in_place_on_root() const {
  bool is_in_place = !comm_.is_root() || file_->is_in_place();
  comm_.broadcast(std::as_writable_bytes(std::span(&is_in_place, 1)), 0);
  return is_in_place;
}

void FrameFile::write_rows(const Destination& destination, const Frame& frame, const Atoms& atoms) {
  comm::on_each_rank(comm_, [&] {
    if (!file_ && !atoms.empty()) file_.emplace(Descriptor::open_to_change(path_));
  });
  const auto records = format_.has_blocks ? in_blocks(atoms, format_.level, n_atoms_) : AtomRows(0);
  WriteJob job(comm_, destination, frame, format_.has_blocks ? Atoms(records) : atoms, format_, options_, problem_,
               plan_);
  method_.write(job);
}

void FrameFile::append(const Frame& frame, const Atoms& atoms) {
  plan_for(atoms);
  const auto begin = begin_of(n_frames_), end = begin_of(n_frames_ + 1);
  const auto header = format_.frame_header(frame, n_atoms_);
  TESSERA_CHECK(std::ssize(header) + format_.n_records(n_atoms_) * format_.atom_bytes == frame_bytes_);
  const bool is_gone_on_with = format_.is_of != nullptr;
  // Rows of a frame that has no header yet would be lines that nobody can read.
  comm::on_root(comm_, [&] {
    if (!file_->is_in_place()) return;
    file_->reserve(begin, end - begin);  // MPI-IO may drop what a full disk has no room for, and say nothing
    file_->write_at(header.data(), header.size(), begin);
  });
  ++n_frames_;
  if (!is_in_place_on_root()) return;  // who asks is_in_place() says so
  try {
    write_rows({path_, begin + std::ssize(header), is_gone_on_with}, frame, atoms);
  } catch (const RunError&) {  // the same on all ranks: methods find the file by its name, which may be gone by now
    if (is_in_place_on_root()) throw;
    return;
  }
  comm::on_root(comm_, [&] {
    if (is_gone_on_with) file_->write_at("\n", 1, end - 1);
    write_file_header();
  });
}

void FrameFile::synchronize() const {
  comm::on_each_rank(comm_, [&] {
    if (file_) file_->synchronize();
  });
}

}  // namespace tessera::io::write
