#include "tessera/fft/choice/wisdom.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"

namespace tessera::fft {

namespace {

constexpr const char* first_line =
    "# tessera fft trials, version 1: question, scheme, order of ranks, exchange, seconds";

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  std::string line;
  if (!std::getline(in, line) || line != first_line) return {};
  while (std::getline(in, line)) lines.push_back(line);
  return lines;
}

bool answers(const std::string& line, const std::string& question) { return line.starts_with(question + "\t"); }

}  // namespace

std::string default_wisdom_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/tessera/fft.tsv";
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/tessera/fft.tsv" : "";
}

std::optional<Wisdom> recall(const std::string& file, const std::string& question) {
  for (const auto& line : lines_of(file)) {
    if (!answers(line, question)) continue;
    std::istringstream rest(line.substr(question.size() + 1));
    Wisdom wisdom;
    std::getline(rest, wisdom.scheme, '\t');
    std::getline(rest, wisdom.order, '\t');
    std::getline(rest, wisdom.exchange, '\t');
    if (rest >> wisdom.seconds) return wisdom;
  }
  return {};
}

std::string keep(const std::string& file, const std::string& question, const Wisdom& wisdom) {
  if (file.empty()) return "there is no home directory";
  auto lines = lines_of(file);
  std::erase_if(lines, [&](const std::string& line) { return answers(line, question); });
  lines.push_back(
      fmt::format("{}\t{}\t{}\t{}\t{:.4g}", question, wisdom.scheme, wisdom.order, wisdom.exchange, wisdom.seconds));
  try {
    make_folder(std::filesystem::path(file).parent_path().string());
    write_atomically(file, fmt::format("{}\n{}\n", first_line, fmt::join(lines, "\n")));
  } catch (const std::runtime_error& error) {  // the folder or disk is not writable; the result is not kept
    return error.what();
  }
  return "";
}

}  // namespace tessera::fft
