#include "tessera/io/segments/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "tessera/base/error.h"
#include "tessera/io/checked_file.h"

namespace tessera::io::segments {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "segments are little-endian");

constexpr std::string_view magic = "tessera segment 1\n";

/// The first 64 bytes, as they are in the file.
struct Start {
  std::array<char, 32> magic{};
  std::uint64_t json_bytes = 0, json_checksum = 0, entry_bytes = 0, checksum = 0;
};
static_assert(sizeof(Start) == 64);

std::uint64_t checksum_of(const Start& start) {
  return piece_checksum(std::as_bytes(std::span(&start, 1)).first(sizeof start - sizeof start.checksum));
}

std::uint64_t checksum_of(std::string_view text) {
  return piece_checksum(std::as_bytes(std::span(text.data(), text.size())));
}

/// What an entry has before its payloads.
struct EntryStart {
  std::int64_t number = 0, step = 0;
  double time = 0;
  std::array<double, 9> box{};
};
static_assert(sizeof(EntryStart) == 96);

std::int64_t entry_bytes(std::size_t n_payloads) {
  return static_cast<std::int64_t>(sizeof(EntryStart) + n_payloads * sizeof(Payload) + 8);
}

nlohmann::json to_json(const Header& header) {
  nlohmann::json json = {{"atoms", header.n_atoms},
                         {"system_atoms", header.system_atoms},
                         {"ids", header.ids},
                         {"quantities", header.quantities},
                         {"encodings", nlohmann::json::array()},
                         {"parts", nlohmann::json::array()},
                         {"after_step", header.after_step},
                         {"every", header.every},
                         {"timestep", header.timestep},
                         {"whole", header.is_whole},
                         {"periodic", header.is_periodic},
                         {"program", header.program}};
  for (const auto& encoding : header.encodings) json["encodings"].push_back(segments::to_json(encoding));
  for (const auto& part : header.parts)
    json["parts"].push_back({{"file", part.file}, {"first", part.first}, {"atoms", part.n_atoms}});
  return json;
}

/// What a restart asks of an earlier segment.
struct Summary {
  std::int64_t after_step = 0;
  std::vector<std::int64_t> steps;  // of whole frames
};

/// Throws InputError without the path.
Summary read_summary(const std::string& folder, const std::string& name) {
  const auto file = Descriptor::open_to_read(folder + "/" + name);
  Start start;
  const auto refuse = [](const char* what) {
    throw InputError(fmt::format("{} is not what was written; tessera traj verify says more", what));
  };
  if (file.read_at(&start, sizeof start, 0) != sizeof start || start.checksum != checksum_of(start) ||
      std::string_view(start.magic.data(), magic.size()) != magic)
    refuse("its beginning");
  if (start.json_bytes > static_cast<std::uint64_t>(file.size())) refuse("its description");
  std::string text(start.json_bytes, ' ');
  if (file.read_at(text.data(), text.size(), sizeof start) != text.size() || checksum_of(text) != start.json_checksum)
    refuse("its description");
  Summary summary;
  std::vector<std::int64_t> sizes;  // of the parts
  const auto json = nlohmann::json::parse(text);
  summary.after_step = json.at("after_step").get<std::int64_t>();
  for (const auto& part : json.at("parts")) {
    std::error_code error;
    const auto size = fs::file_size(fs::path(folder) / part.at("file").get<std::string>(), error);
    sizes.push_back(error ? 0 : static_cast<std::int64_t>(size));
  }
  const auto n_quantities = json.at("quantities").size();
  const auto n_payloads = n_quantities * sizes.size();
  if (start.entry_bytes != static_cast<std::uint64_t>(entry_bytes(n_payloads))) refuse("its description");
  std::vector<std::byte> entry(start.entry_bytes);
  for (auto at = static_cast<std::int64_t>(sizeof start + start.json_bytes);
       file.read_at(entry.data(), entry.size(), at) == entry.size(); at += std::ssize(entry)) {
    const auto content = std::span(entry).first(entry.size() - 8);
    std::uint64_t sum = 0;
    std::memcpy(&sum, entry.data() + content.size(), 8);
    if (sum != piece_checksum(content)) continue;
    EntryStart head;
    std::memcpy(&head, entry.data(), sizeof head);
    std::vector<Payload> payloads(n_payloads);
    std::memcpy(payloads.data(), entry.data() + sizeof head, n_payloads * sizeof(Payload));
    bool is_whole = true;
    for (std::size_t p = 0; p < n_payloads; ++p)
      is_whole = is_whole && payloads[p].offset + payloads[p].bytes <= sizes[p / n_quantities];
    if (is_whole) summary.steps.push_back(head.step);
  }
  return summary;
}

/// Returns the number of the segment that a file belongs to, by its name.
std::optional<int> number_of(const std::string& name) {
  int number = 0;
  char next = 0;
  if (std::sscanf(name.c_str(), "segment-%d%c", &number, &next) != 2 || next != '.' || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::string manifest_name(int segment) { return fmt::format("segment-{:04}.manifest", segment); }
std::string part_name(int segment, int part) { return fmt::format("segment-{:04}.part-{:04}", segment, part); }

ManifestWriter ManifestWriter::create(const std::string& path, const Header& header) {
  auto text = to_json(header).dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  Start start;
  std::copy(magic.begin(), magic.end(), start.magic.begin());
  start.json_bytes = text.size();
  start.json_checksum = checksum_of(text);
  start.entry_bytes = static_cast<std::uint64_t>(entry_bytes(header.parts.size() * header.quantities.size()));
  start.checksum = checksum_of(start);
  std::string content(reinterpret_cast<const char*>(&start), sizeof start);
  content += text;
  auto file = Descriptor::create(path);
  file.write_at(content.data(), content.size(), 0);
  return {std::move(file), std::ssize(content)};
}

void ManifestWriter::append(const Entry& entry) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry_bytes(entry.payloads.size())));
  const EntryStart start{n_entries_, entry.step, entry.time, entry.box};
  std::memcpy(bytes.data(), &start, sizeof start);
  std::memcpy(bytes.data() + sizeof start, entry.payloads.data(), entry.payloads.size() * sizeof(Payload));
  const auto sum = piece_checksum(std::span(bytes).first(bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
  file_.write_at(bytes.data(), bytes.size(), end_);
  end_ += std::ssize(bytes);
  ++n_entries_;
}

FolderContent read_folder(const std::string& folder) {
  FolderContent content;
  std::error_code ignored;
  std::map<int, Summary> found;
  for (fs::directory_iterator one(folder, ignored), end; !ignored && one != end; one.increment(ignored)) {
    const auto name = one->path().filename().string();
    const auto number = number_of(name);
    if (!number) continue;
    content.next_number = std::max(content.next_number, *number + 1);
    if (name != manifest_name(*number)) continue;
    try {
      found[*number] = read_summary(folder, name);
    } catch (const InputError& error) {
      content.problems.push_back(fmt::format("{}/{}: {}", folder, name, error.what()));
    } catch (const nlohmann::json::exception&) {  // of a description whose checksum is right
      content.problems.push_back(fmt::format("{}/{}: its description makes no sense", folder, name));
    }
  }
  // From the newest to the oldest: a leg takes the place of what earlier legs hold of its steps.
  auto last = std::numeric_limits<std::int64_t>::max();
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    for (auto step = one->second.steps.rbegin(); step != one->second.steps.rend(); ++step)
      if (*step <= last) content.steps.push_back(*step);
    last = std::min(last, one->second.after_step);
  }
  std::reverse(content.steps.begin(), content.steps.end());
  return content;
}

}  // namespace tessera::io::segments
