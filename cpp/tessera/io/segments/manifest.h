// The manifest of a segment: what its frames hold, and an entry for each frame that is whole
// (docs/reference/trajectory.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/io/segments/encoding.h"

namespace tessera::io::segments {

/// A file with some rows of each frame.
struct Part {
  std::string file;  // its name in the folder
  std::int64_t first = 0, n_atoms = 0;
};

struct Header {
  using Ids = std::array<std::int64_t, 4>;  // first, length, stride, count

  std::int64_t n_atoms = 0, system_atoms = 0;
  std::vector<Ids> ids;
  std::vector<std::string> quantities;
  std::vector<Encoding> encodings;  // of each quantity
  std::vector<Part> parts;
  std::int64_t after_step = 0;  // frames have steps above
  std::int64_t every = 0;
  double timestep = 0;  // ps
  bool is_whole = true, is_periodic = true;
  std::string program;
};

/// Where the numbers of one quantity stand in a part.
struct Payload {
  std::int64_t offset = 0, bytes = 0;
  std::uint64_t checksum = 0;
};

struct Entry {
  std::int64_t step = 0;
  double time = 0;                // ps
  std::array<double, 9> box{};    // rows a, b, c, Å
  std::vector<Payload> payloads;  // of each part, in it of each quantity
};

class ManifestWriter {
 public:
  /// Creates a manifest; nothing may have the name. Throws RunError.
  static ManifestWriter create(const std::string& path, const Header& header);
  void append(const Entry& entry);
  bool is_in_place() const { return file_.is_in_place(); }
  void synchronize() const { file_.synchronize(); }

 private:
  ManifestWriter(Descriptor file, std::int64_t end) : file_(std::move(file)), end_(end) {}

  Descriptor file_;
  std::int64_t end_, n_entries_ = 0;
};

/// The segments in a folder as far as their manifests tell.
struct FolderContent {
  int next_number = 0;                // no file has a name with this number or a greater one
  std::vector<std::int64_t> steps;    // of the frames of all legs, joined
  std::vector<std::string> problems;  // of files that are not what was written
};
/// Lists what a folder holds: nothing if it is not there.
FolderContent read_folder(const std::string& folder);

/// Returns the names of files: "segment-0003.manifest", "segment-0003.part-0012".
std::string manifest_name(int segment);
std::string part_name(int segment, int part);

}  // namespace tessera::io::segments
