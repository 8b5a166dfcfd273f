#include "tessera/fft/choice/wisdom.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

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
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  const auto own = fmt::format("{}.{}", file, getpid());
  {
    std::ofstream out(own);
    out << first_line << '\n';
    for (const auto& line : lines) out << line << '\n';
    if (!out.flush()) return "can't write " + own;
  }
  std::filesystem::rename(own, file, error);
  return error ? fmt::format("{}: {}", file, error.message()) : "";
}

}  // namespace tessera::fft
