#include "tessera/io/write/pieces.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

namespace fs = std::filesystem;

namespace {

constexpr const char* first_line = "tessera-pieces 2";

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

}  // namespace

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

Manifest read_manifest(const std::string& folder) {
  const auto path = (fs::path(folder) / manifest_name).string();
  std::istringstream lines(Descriptor::open_to_read(path).read_all());
  Manifest manifest;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto refuse = [&](const char* expected) {
      throw InputError(fmt::format("{}: line {} is \"{}\", expected {}", path, number, line, expected));
    };
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (number == 1) {
      if (line != first_line) refuse(first_line);
    } else if (key == "format") {
      words >> manifest.format;
    } else if (key == "order") {
      words >> manifest.order;
    } else if (key == "atoms") {
      words >> manifest.n_atoms;
    } else if (key == "piece") {
      Piece piece;
      words >> piece.name >> piece.first >> piece.n_atoms >> piece.bytes >> piece.checksum;
      if (piece.checksum == "-") piece.checksum.clear();
      if (piece.name.find('/') != std::string::npos) refuse("the name of a file in this folder");
      manifest.pieces.push_back(std::move(piece));
    } else {
      refuse("a line with format, atoms, order or piece");
    }
    if (words.fail()) refuse("more words");
  }
  return manifest;
}

std::string read_pieces(const std::string& folder) {
  std::string all;
  for (const auto& piece : read_manifest(folder).pieces) {
    const auto path = (fs::path(folder) / piece.name).string();
    const auto text = Descriptor::open_to_read(path).read_all();
    if (std::ssize(text) != piece.bytes)
      throw InputError(
          fmt::format("{}: has {} bytes, its manifest says {}; is it cut off?", path, text.size(), piece.bytes));
    Checksum checksum;
    checksum.add(std::as_bytes(std::span(text)));
    if (!piece.checksum.empty() && checksum.text() != piece.checksum)
      throw InputError(fmt::format("{}: its checksum is not that of its manifest; it was damaged or changed", path));
    all += text;
  }
  return all;
}

}  // namespace tessera::io::write
