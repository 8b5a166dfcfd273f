// Files of checkpoints, `*.tck`. A checkpoint is a checked file (io/checked_file.h): JSON with all but the atoms, then
// an array of each quantity by atom id (docs/reference/checkpoint.md). Every rank writes and reads a share of the rows,
// and no rank has all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/app/restart/checkpoint.h"
#include "tessera/comm/communicator.h"
#include "tessera/io/checked_file.h"

namespace tessera::app {

/// Returns the names of the two generations that a folder keeps, and of one that is complete but not in its place yet.
std::string newest_checkpoint(const std::string& folder);
std::string previous_checkpoint(const std::string& folder);
std::string unplaced_checkpoint(const std::string& folder);

/// Returns the bytes of the checkpoints in a folder.
std::int64_t bytes_of_checkpoints(const std::string& folder);

/// The bytes of a row of the first three arrays; the fourth has the values of all fields.
constexpr std::int64_t row_bytes_of_triples = 12;

/// Where a checkpoint has what. Everything begins at a multiple of 4096 bytes, so that no two ranks write to one page.
struct CheckpointLayout {
  std::int64_t n_atoms = 0;
  std::vector<std::int64_t> row_bytes;  // of each array
  std::vector<io::Region> regions;      // the JSON, then the arrays
  std::int64_t atoms_in_group = 0;      // so many atoms fill whole pieces of each array

  std::int64_t end() const { return regions.back().end; }
  std::int64_t n_pieces() const;
  std::int64_t n_groups() const { return (n_atoms + atoms_in_group - 1) / atoms_in_group; }
  /// Returns the bytes of a group in all arrays.
  std::int64_t bytes_of_group() const;
  /// Returns the bytes of the whole file, with its table.
  std::int64_t file_bytes() const;
};
/// Returns how many values an atom has in all fields.
std::size_t values_of(std::span<const md::AtomField> fields);
/// Lays out a file. `values_of_fields`: of an atom, in all fields.
CheckpointLayout lay_out_checkpoint(std::int64_t json_bytes, std::int64_t n_atoms, std::size_t values_of_fields);

/// Returns the JSON of a checkpoint, as it stands in the file.
std::string text_of_header(const Checkpoint& checkpoint, std::int64_t n_atoms);

struct FoundCheckpoint {
  Checkpoint checkpoint;
  std::string path;
  std::string note;  // why it is not the newest; empty where it is
};
/// Reads the newest checkpoint of a folder, or that of a file, of which every byte is right: all ranks check it, each
/// its share of the rows, of which it keeps whole hydrogen groups of no particular ids. Nothing where there is none.
/// Throws InputError where none is intact. Collective.
std::optional<FoundCheckpoint> find_checkpoint(const std::string& folder_or_file, const comm::Communicator& comm);

/// Reads all but the atoms of the newest that has a header, without checking what follows; nothing where there is none.
/// `problems` gets what is wrong with those that are passed over. A rank may call it alone.
std::optional<Checkpoint> find_checkpoint_header(const std::string& folder_or_file, std::string* problems = nullptr);

/// Gathers the atoms of each hydrogen group on one rank. Collective.
void join_groups(md::Particles& particles, const model::System& system, const comm::Communicator& comm);

}  // namespace tessera::app
