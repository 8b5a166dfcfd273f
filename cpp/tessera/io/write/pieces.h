// A folder of pieces, and its manifest: lines of a key and its value, then a line for each piece.
//
//   tessera-pieces 2
//   format text
//   atoms 27000
//   order sorted
//   piece 00000 0 13500 1971365 4f2a…     name, first place, atoms, bytes, XXH3 (- where there is none)
//
// The pieces one after the other are the file that the methods of one file write: `cat FOLDER/0* > CONFIG`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/io/write/job.h"

namespace tessera::io::write {

/// Writes the plan's pieces, each a file in a folder, with a checksum where wanted. Collective.
void write_pieces(WriteJob& job, bool has_checksums);

struct Piece {
  std::string name;
  std::int64_t first = 0, n_atoms = 0, bytes = 0;
  std::string checksum;  // empty: none
};

struct Manifest {
  std::string format, order;
  std::int64_t n_atoms = 0;
  std::vector<Piece> pieces;
};

/// Throws InputError naming the file and line.
Manifest read_manifest(const std::string& folder);

/// Returns the bytes of all pieces. Throws InputError where one is missing, or has another size or checksum.
std::string read_pieces(const std::string& folder);

}  // namespace tessera::io::write
