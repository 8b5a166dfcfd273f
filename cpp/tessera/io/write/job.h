// What write methods have in common: the formatter, its buffer, and one verdict for all ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/io/write/batches.h"
#include "tessera/io/write/format.h"
#include "tessera/io/write/plan.h"

namespace tessera::io::write {

/// Takes bytes for a place of a file. It may get none.
using TakeBytes = std::function<void(std::span<const std::byte> bytes, std::int64_t offset)>;

/// Where the bytes of a job go: a new file or folder, or a place of a file that is there.
struct Destination {
  std::string path;
  /// The byte with which the atoms begin in a file that is there; nothing: a new file with a header.
  std::optional<std::int64_t> begin = std::nullopt;
  bool leaves_last_byte = false;  // to others
};

class WriteJob {
 public:
  WriteJob(const comm::Communicator& comm, Destination destination, const Frame& frame, const Atoms& atoms,
           const Format& format, const WriteOptions& options, WriteProblem problem, WritePlan plan);

  const comm::Communicator& comm() const { return comm_; }
  const std::string& path() const { return destination_.path; }
  /// Returns whether the file is there and others bring it to the disk.
  bool is_part_of_file() const { return destination_.begin.has_value(); }
  const Frame& frame() const { return frame_; }
  const Format& format() const { return format_; }
  const WritePlan& plan() const { return plan_; }
  const WriteOptions& options() const { return options_; }
  const std::string& header() const { return header_; }
  std::int64_t n_atoms() const { return n_atoms_; }
  /// Returns the part that this rank writes; null where it writes none.
  const Part* mine() const { return plan_.of(comm_.rank()); }

  /// Runs work that may fail on this rank alone. After the first failure, which agree() tells to all, nothing is run.
  void attempt(const std::function<void()>& work);
  /// Runs work in which all ranks take part: those that have failed do, too, and must add nothing to it.
  void attempt_together(const std::function<void(bool has_failed)>& work);
  bool has_failed() const { return !input_problem_.empty() || !run_problem_.empty(); }
  /// Throws on all ranks what has failed on the lowest one. Collective.
  void agree() const;

  /// Formats the batches of this rank's part in pieces of the buffer's size and hands them to `take`, the header with
  /// the first of its file. It is called equally often on all ranks. Collective.
  void write_batches(const TakeBytes& take);
  /// Does the same with all atoms sent to one writer in turn; `take` is called there only. Collective.
  void write_in_turn(const TakeBytes& take);
  /// Passes on atoms as they are: those of this rank's part, batch by batch, equally often on all ranks, or all to one
  /// writer in turn. Collective.
  void take_batches(const TakeAtoms& take);
  void take_in_turn(const TakeAtoms& take);

 private:
  void note(const std::string& problem);
  /// Returns how many atoms fill the buffer.
  std::int64_t atoms_at_once() const { return std::max<std::int64_t>(1, options_.buffer / format_.atom_bytes); }
  void format_pieces(Atoms atoms, std::int64_t first, std::int64_t n_calls, const TakeBytes& take);

  const comm::Communicator& comm_;
  Destination destination_;
  const Frame& frame_;
  const Format& format_;
  const WriteOptions& options_;
  WriteProblem problem_;
  WritePlan plan_;
  Batches batches_;
  std::int64_t n_atoms_;
  std::string header_;
  bool is_header_written_ = false;
  std::vector<char> buffer_;
  std::string input_problem_, run_problem_;
};

}  // namespace tessera::io::write
