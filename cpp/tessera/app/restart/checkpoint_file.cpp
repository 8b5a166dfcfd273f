#include "tessera/app/restart/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <numeric>
#include <span>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/io/checksum.h"
#include "tessera/io/large_pages.h"

namespace tessera::app {

namespace {

constexpr int version = 4;
constexpr std::string_view format_name = "tessera-checkpoint";

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw InputError(fmt::format("{} {}", path, problem));
}

[[noreturn]] void refuse_version(const std::string& path, int found) {
  refuse(path, fmt::format("is a checkpoint of version {}, this tessera reads version {}: {}", found, version,
                           found > version ? "use a newer tessera"
                                           : "begin the run anew with `tessera run RUN.toml --set "
                                             "output.overwrite=true`, which moves the earlier run's files away"));
}

/// Opens a checkpoint. One of a version before 4 begins with a line such as "tessera-checkpoint 3".
io::CheckedFile open_checkpoint(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string word;
  int found = 0;
  if (file >> std::setw(int{format_name.size()}) >> word >> found && word == format_name) refuse_version(path, found);
  std::error_code error;  // of a file that is not there, which open() says
  if (std::filesystem::file_size(path, error) > 0 && !error && !io::CheckedFile::is_one(path))
    refuse(path, "is no checkpoint, or its first bytes are damaged");
  return io::CheckedFile::open(path);
}

}  // namespace

std::string newest_checkpoint(const std::string& folder) { return folder + "/checkpoint.tck"; }
std::string previous_checkpoint(const std::string& folder) { return folder + "/checkpoint.previous.tck"; }
std::string unplaced_checkpoint(const std::string& folder) { return folder + "/checkpoint.next.tck"; }

std::int64_t bytes_of_checkpoints(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const auto& path : {newest_checkpoint(folder), previous_checkpoint(folder), unplaced_checkpoint(folder)}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::size_t values_of(std::span<const md::AtomField> fields) {
  return std::accumulate(fields.begin(), fields.end(), std::size_t{0},
                         [](std::size_t sum, const auto& field) { return sum + field.width; });
}

CheckpointLayout lay_out_checkpoint(std::int64_t json_bytes, std::int64_t n_atoms, std::size_t values_of_fields) {
  CheckpointLayout layout;
  layout.n_atoms = n_atoms;
  layout.row_bytes.assign(3, row_bytes_of_triples);
  if (values_of_fields > 0) layout.row_bytes.push_back(static_cast<std::int64_t>(values_of_fields * sizeof(double)));
  auto end = whole_pages(io::checked_header_bytes + json_bytes);
  layout.regions.push_back({io::checked_header_bytes, end, false});
  layout.atoms_in_group = 1;
  for (const auto bytes : layout.row_bytes) {
    const auto begin = end;
    end += whole_pages(n_atoms * bytes);
    layout.regions.push_back({begin, end, true});
    layout.atoms_in_group = std::lcm(layout.atoms_in_group, io::piece_bytes / std::gcd(io::piece_bytes, bytes));
  }
  return layout;
}

std::int64_t CheckpointLayout::n_pieces() const {
  return std::accumulate(regions.begin(), regions.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& region) { return sum + region.n_pieces(); });
}

std::int64_t CheckpointLayout::bytes_of_group() const {
  return atoms_in_group * std::accumulate(row_bytes.begin(), row_bytes.end(), std::int64_t{0});
}

std::int64_t CheckpointLayout::file_bytes() const { return end() + io::table_bytes(n_pieces()); }

std::string text_of_header(const Checkpoint& checkpoint, std::int64_t n_atoms) {
  auto json = to_json(checkpoint, n_atoms);
  json["format"] = format_name;
  json["version"] = version;
  nlohmann::json arrays = nlohmann::json::array();
  for (const auto* name : {"position", "velocity", "displacement"})
    arrays.push_back({{"name", name}, {"type", "int32"}, {"width", 3}});
  if (const auto width = values_of(checkpoint.state.fields); width > 0)
    arrays.push_back({{"name", "fields"}, {"type", "float64"}, {"width", width}});
  json["arrays"] = arrays;
  const auto text = json.dump();
  const auto bytes = whole_pages(io::checked_header_bytes + std::ssize(text)) - io::checked_header_bytes;
  return text + std::string(static_cast<std::size_t>(bytes) - text.size(), ' ');
}

namespace {

/// A checkpoint, open for reading. Everything throws InputError.
class CheckpointFile {
 public:
  explicit CheckpointFile(const std::string& path) : path_(path), file_(open_checkpoint(path)) {
    const auto& regions = file_.regions();
    if (regions.empty() || regions[0].is_bulk || regions[0].begin != io::checked_header_bytes) refuse_other_file();
    std::string text(static_cast<std::size_t>(regions[0].end - regions[0].begin), '\0');
    file_.read(regions[0].begin, std::as_writable_bytes(std::span(text)));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("format", nlohmann::json()) != format_name) refuse_other_file();
    try {
      if (json.at("version") != version) refuse_version(path_, json.at("version").get<int>());
      checkpoint_ = checkpoint_from(json);
    } catch (const nlohmann::json::exception&) {
      refuse(path_, "has a damaged header");
    }
    layout_ = lay_out_checkpoint(std::ssize(text), checkpoint_.n_atoms, values_of(checkpoint_.state.fields));
    const bool fits = std::equal(
        regions.begin(), regions.end(), layout_.regions.begin(), layout_.regions.end(),
        [](const auto& a, const auto& b) { return a.begin == b.begin && a.end == b.end && a.is_bulk == b.is_bulk; });
    if (checkpoint_.n_atoms < 0 || !fits) refuse(path_, "has other arrays than its header says");
    checkpoint_.checksum = io::Checksum().add(comm::bytes_of(text)).add(comm::bytes_of(file_.table())).finish();
  }

  const Checkpoint& checkpoint() const { return checkpoint_; }

  /// Reads the atoms of one of `size` about equal shares, by id. Together the shares check every byte.
  md::Particles read_share(int rank, int size) const {
    // Where there are many groups of atoms, shares are of whole ones, so that no piece is read by two ranks.
    constexpr std::int64_t many = 4;  // of a rank
    const auto group = layout_.atoms_in_group;
    const auto unit = layout_.n_groups() >= many * size ? group : 1;
    const auto n_units = (layout_.n_atoms + unit - 1) / unit;
    const auto first_of = [&](std::int64_t r) {
      return std::min(layout_.n_atoms, unit * (n_units / size * r + n_units % size * r / size));
    };
    const auto first = first_of(rank), last = first_of(rank + 1);
    md::Particles particles;
    const auto n = static_cast<std::size_t>(last - first);
    io::reserve_in_large_pages(particles.atoms, n);
    particles.fields = checkpoint_.state.fields;
    for (auto& field : particles.fields) field.values.resize(n * field.width);
    // Group by group, so that atoms are in the processor's caches when each array sets its part of them.
    std::vector<io::CheckedFile::Range> ranges;
    std::vector<std::pair<std::size_t, std::int64_t>> rows;  // array and first atom of each range
    for (auto begin = first; begin < last;) {
      const auto end = std::min(last, (begin / group + 1) * group);
      for (std::size_t array = 0; array < layout_.row_bytes.size(); ++array) {
        ranges.push_back({begin_of(array, begin), begin_of(array, end)});
        rows.emplace_back(array, begin - first);
      }
      begin = end;
    }
    file_.read(ranges, [&](std::size_t range, std::int64_t done, std::span<const std::byte> bytes) {
      const auto [array, begin] = rows[range];
      const auto from = static_cast<std::size_t>(begin);
      if (array == 3) return put_fields(bytes, from, static_cast<std::size_t>(done), particles.fields);
      put_triples(array, bytes, from + static_cast<std::size_t>(done / row_bytes_of_triples), first, particles.atoms);
    });
    return particles;
  }

 private:
  [[noreturn]] void refuse_other_file() const { refuse(path_, "is no checkpoint"); }

  /// Returns where the row of an atom is.
  std::int64_t begin_of(std::size_t array, std::int64_t atom) const {
    return layout_.regions[array + 1].begin + atom * layout_.row_bytes[array];
  }

  /// Puts rows of one of the first three arrays into the atoms from `at` on, of which there may be none yet.
  static void put_triples(std::size_t array, std::span<const std::byte> rows, std::size_t at, std::int64_t first_id,
                          std::vector<md::Particle>& atoms) {
    const auto n = rows.size() / row_bytes_of_triples;
    for (auto i = atoms.size(); i < at + n; ++i) atoms.push_back({first_id + static_cast<std::int64_t>(i), {}, {}, {}});
    const auto put = [&](auto member) {
      static_assert(sizeof(atoms[0].*member) == row_bytes_of_triples);
      for (std::size_t i = 0; i < n; ++i)
        std::memcpy(&(atoms[at + i].*member), rows.data() + i * row_bytes_of_triples, row_bytes_of_triples);
    };
    if (array == 0) put(&md::Particle::position);
    if (array == 1) put(&md::Particle::velocity);
    if (array == 2) put(&md::Particle::displacement);
  }

  /// Puts numbers of the fourth array into the fields of the atoms from `first` on, `done` bytes after the first of
  /// them: its pieces need not hold whole rows.
  static void put_fields(std::span<const std::byte> numbers, std::size_t first, std::size_t done,
                         std::vector<md::AtomField>& fields) {
    const auto width = values_of(fields);
    auto row = first + done / sizeof(double) / width, column = done / sizeof(double) % width;
    for (std::size_t at = 0; at < numbers.size(); at += sizeof(double)) {
      auto in_field = column;
      auto field = fields.begin();
      for (; in_field >= field->width; ++field) in_field -= field->width;
      std::memcpy(&field->values[row * field->width + in_field], numbers.data() + at, sizeof(double));
      if (++column == width) column = 0, ++row;
    }
  }

  std::string path_;
  io::CheckedFile file_;
  Checkpoint checkpoint_;  // without atoms
  CheckpointLayout layout_;
};

void add_problem(std::string& problems, const std::string& problem) {
  problems += fmt::format("{}{}", problems.empty() ? "" : "; ", problem);
}

std::optional<Checkpoint> header_if_any(const std::string& path, std::string* problems = nullptr) {
  try {
    return CheckpointFile(path).checkpoint();
  } catch (const InputError& error) {
    if (problems != nullptr) add_problem(*problems, error.what());
    return std::nullopt;
  }
}

/// Lists the files that may be the newest checkpoint, the newest first. A process that was killed before or between two
/// renames left it under its first name.
std::vector<std::string> candidates(const std::string& folder_or_file) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& path : {folder_or_file, newest_checkpoint(folder_or_file), unplaced_checkpoint(folder_or_file),
                           previous_checkpoint(folder_or_file)})
    if (std::filesystem::is_regular_file(path, ignored)) found.push_back(path);
  if (found.size() > 1 && found[0] == newest_checkpoint(folder_or_file) &&
      found[1] == unplaced_checkpoint(folder_or_file)) {
    const auto placed = header_if_any(found[0]), unplaced = header_if_any(found[1]);
    if (placed && unplaced && unplaced->state.step > placed->state.step) std::swap(found[0], found[1]);
  }
  return found;
}

/// Reads a checkpoint, of which each rank checks and keeps a share. Throws InputError on all ranks. Collective.
Checkpoint read_shares(const std::string& path, const comm::Communicator& comm) {
  Checkpoint checkpoint;
  std::string problem;
  try {
    const CheckpointFile file(path);
    checkpoint = file.checkpoint();
    static_cast<md::Particles&>(checkpoint.state) = file.read_share(comm.rank(), comm.size());
  } catch (const InputError& error) {
    problem = error.what();
  } catch (const RunError& error) {  // of the disk
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
  // A file that one rank sees and another does not, or not yet, is no checkpoint.
  auto first = checkpoint.checksum;
  comm::broadcast_resized(comm, first);
  comm::agree_on_input(comm, first == checkpoint.checksum ? "" : path + " is another file on other ranks' hosts");
  return checkpoint;
}

}  // namespace

std::optional<FoundCheckpoint> find_checkpoint(const std::string& folder_or_file, const comm::Communicator& comm) {
  std::string paths, problems;  // the paths end with zeros
  if (comm.is_root())
    for (const auto& path : candidates(folder_or_file)) paths += path + '\0';
  comm::broadcast_resized(comm, paths);
  for (std::size_t at = 0; at < paths.size(); at = paths.find('\0', at) + 1) {
    const std::string path = paths.c_str() + at;
    try {
      FoundCheckpoint found{read_shares(path, comm), path, ""};
      if (!problems.empty() || (path != folder_or_file && path != newest_checkpoint(folder_or_file)))
        found.note = fmt::format("continuing from {}{}", path, problems.empty() ? "" : " since " + problems);
      return found;
    } catch (const InputError& error) {
      add_problem(problems, error.what());
    }
  }
  if (problems.empty()) return std::nullopt;
  throw InputError(fmt::format("no good checkpoint in {}: {}", folder_or_file, problems));
}

std::optional<Checkpoint> find_checkpoint_header(const std::string& folder_or_file, std::string* problems) {
  for (const auto& path : candidates(folder_or_file))
    if (auto checkpoint = header_if_any(path, problems)) return checkpoint;
  return std::nullopt;
}

void join_groups(md::Particles& particles, const model::System& system, const comm::Communicator& comm) {
  if (comm.size() == 1) return;
  // Shares are in the order of ids.
  std::int64_t first = particles.size() == 0 ? system.n_atoms() : particles.atoms.front().id;
  std::vector<std::int64_t> firsts;
  for (const auto& block : comm.all_gather(std::as_bytes(std::span(&first, 1))))
    firsts.push_back(comm::values_of<std::int64_t>(block)[0]);
  // Ranks without atoms take the first id of the next that has some.
  for (std::size_t rank = firsts.size() - 1; rank-- > 0;)
    if (firsts[rank] == system.n_atoms()) firsts[rank] = firsts[rank + 1];
  const auto owner_of = [&](std::int64_t id) {
    const auto next = std::upper_bound(firsts.begin(), firsts.end(), id);
    return static_cast<std::size_t>(next - firsts.begin()) - 1;
  };
  const auto width = values_of(particles.fields);
  const auto bytes = sizeof(md::Particle) + width * sizeof(double);
  std::vector<std::vector<std::byte>> outgoing(static_cast<std::size_t>(comm.size()));
  md::Particles kept;
  for (const auto& field : particles.fields) kept.fields.push_back({field.name, field.width, {}});
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const auto& atom = particles.atoms[i];
    const auto reference = system.find(atom.id);
    const auto key =
        reference.first_id +
        system.templates[static_cast<std::size_t>(reference.molecule)].group[static_cast<std::size_t>(reference.local)];
    const auto owner = owner_of(key);
    const bool stays = owner == static_cast<std::size_t>(comm.rank());
    if (stays) kept.atoms.push_back(atom);
    auto& to = outgoing[owner];
    const auto put = [&](const void* data, std::size_t n) {
      const auto* from = static_cast<const std::byte*>(data);
      to.insert(to.end(), from, from + n);
    };
    if (!stays) put(&atom, sizeof atom);
    for (std::size_t f = 0; f < kept.fields.size(); ++f) {
      const auto* values = particles.fields[f].values.data() + i * kept.fields[f].width;
      if (stays)
        kept.fields[f].values.insert(kept.fields[f].values.end(), values, values + kept.fields[f].width);
      else
        put(values, kept.fields[f].width * sizeof(double));
    }
  }
  for (const auto& block : comm.all_to_all(outgoing))
    for (const auto* at = block.data(); at != block.data() + block.size();) {
      TESSERA_CHECK(block.data() + block.size() - at >= static_cast<std::ptrdiff_t>(bytes));
      md::Particle atom;
      std::memcpy(&atom, at, sizeof atom);
      kept.atoms.push_back(atom);
      at += sizeof atom;
      for (auto& field : kept.fields) {
        const auto n = field.values.size();
        field.values.resize(n + field.width);
        std::memcpy(field.values.data() + n, at, field.width * sizeof(double));
        at += field.width * sizeof(double);
      }
    }
  particles = std::move(kept);
}

}  // namespace tessera::app
