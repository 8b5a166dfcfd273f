#include "tessera/io/text/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/io/text/lines.h"

namespace tessera::io::text {

namespace {

constexpr std::string_view frame_word = "timestep";

/// Returns the end of the last complete line.
std::int64_t end_of_lines(const Descriptor& file) {
  constexpr std::int64_t block = 65'536;
  std::string piece;
  for (auto end = file.size(); end > 0; end -= std::ssize(piece)) {
    piece.resize(static_cast<std::size_t>(std::min(end, block)));
    piece.resize(file.read_at(piece.data(), piece.size(), end - std::ssize(piece)));
    if (piece.empty()) break;
    if (const auto last = piece.rfind('\n'); last != std::string::npos)
      return end - std::ssize(piece) + static_cast<std::int64_t>(last) + 1;
  }
  return 0;
}

/// Returns whether a frame may begin at this byte, or the file ends there.
bool is_frame_at(const Descriptor& file, std::int64_t begin, std::int64_t end) {
  if (begin == end) return true;
  std::array<char, 1 + frame_word.size()> text{};
  const auto n = file.read_at(text.data(), text.size(), begin - 1);
  return begin < end && n == text.size() && text[0] == '\n' && std::string_view(text.data() + 1, n - 1) == frame_word;
}

int read_level(Lines& lines, const char* expected) {
  const auto level = lines.number<int>(expected);
  if (level < 0 || level > 2) lines.refuse(fmt::format("keytrj is {}, expected 0 to 2", level));
  return level;
}

/// Returns whether the next line is a vector of a cell. DL_POLY_4 writes cells where imcon is 0, too, and other
/// programs leave them out there; an atom's line has a mass and a charge behind name and number, so it has more than
/// three words.
bool is_vector_next(const Descriptor& file, const Lines& lines, std::int64_t end) {
  Lines ahead(file, lines.place(), end, lines.number());
  if (!ahead.has_next()) return false;
  ahead.next("a vector of the cell");
  for (int k = 0; k < 3; ++k) {
    const auto word = ahead.word();
    if (word.empty() || word.find_first_not_of("0123456789+-.eEdD") != std::string_view::npos) return false;
  }
  return ahead.word().empty();
}

/// Reads the lines of a frame before its atoms; nothing where they are not all there.
std::optional<HistoryFrame> read_header(const Descriptor& file, std::int64_t end, Lines& lines, int level,
                                        std::int64_t n_atoms) {
  constexpr auto keys = "timestep, the step, the number of atoms, keytrj, imcon, the time step and perhaps the time";
  HistoryFrame frame;
  lines.next(keys);
  if (!lines.take(frame_word))  // a step of ten digits follows without a blank
    lines.refuse(fmt::format("has \"{}\", expected {}: a frame has {} atoms of {} lines", lines.word(), keys, n_atoms,
                             2 + level));
  frame.moment.step = lines.number<std::int64_t>(keys);
  const auto n = lines.number<std::int64_t>(keys);
  if (n != n_atoms) lines.refuse(fmt::format("has {} atoms, expected {} as in line 2", n, n_atoms));
  const auto found = read_level(lines, keys);
  if (found != level) lines.refuse(fmt::format("keytrj is {}, expected {} as in line 2", found, level));
  frame.periodicity = lines.number<int>(keys);
  frame.moment.timestep = lines.number<double>(keys);
  const auto time = lines.number_if_any<double>("a time");
  frame.moment.time = time.value_or(static_cast<double>(frame.moment.step) * frame.moment.timestep);
  const bool has_cell = frame.periodicity != 0 || is_vector_next(file, lines, end);
  for (std::size_t i = 0; i < 9 && has_cell; i += 3) {
    if (!lines.has_next()) return {};
    lines.three(frame.cell.data() + i, "a vector of the cell");
  }
  frame.begin = lines.place();
  frame.n_before = lines.number();
  return frame;
}

/// Visits the atoms of a frame one after the other; `take` gets the place of each by its number, and reads the rest.
template <class Take>
void for_each_atom(Lines& lines, std::int64_t n_atoms, Take take) {
  std::vector<bool> is_there(static_cast<std::size_t>(n_atoms));
  for (std::int64_t i = 0; i < n_atoms; ++i) {
    lines.next("the name of an atom");
    const auto name = lines.word();
    const auto number = lines.number_if_any<std::int64_t>("an atom's number").value_or(i + 1);
    if (number < 1 || number > n_atoms || is_there[static_cast<std::size_t>(number - 1)])
      lines.refuse(fmt::format("is of atom {}, expected each of 1 to {} once", number, n_atoms));
    is_there[static_cast<std::size_t>(number - 1)] = true;
    take(static_cast<std::size_t>(number - 1), name);
  }
}

}  // namespace

History::History(const std::string& path) : file_(Descriptor::open_to_read(path)), end_(end_of_lines(file_)) {
  Lines head(file_, 0, end_);
  title_ = head.next("a title");
  title_.erase(title_.find_last_not_of(' ') + 1);
  constexpr auto keys = "the keys keytrj and imcon and the number of atoms";
  head.next(keys);
  level_ = read_level(head, keys);
  head.number<int>(keys);  // each frame has its own
  n_atoms_ = head.number<std::int64_t>(keys);
  if (n_atoms_ < 1) head.refuse(fmt::format("has {} atoms, expected at least 1", n_atoms_));
  const auto n_lines = n_atoms_ * (2 + level_);
  auto begin = head.place(), n_before = head.number();
  std::optional<std::int64_t> bytes;  // of a frame's atoms
  while (true) {
    Lines lines(file_, begin, end_, n_before);
    if (lines.is_at_end()) return;
    const auto frame = read_header(file_, end_, lines, level_, n_atoms_);
    if (!frame) break;
    if (!bytes || !is_frame_at(file_, frame->begin + *bytes, end_)) {
      std::int64_t n = 0;
      for (; n < n_lines && lines.has_next(); ++n) lines.next("the lines of an atom");
      if (n < n_lines) break;
      bytes = lines.place() - frame->begin;
    }
    begin = frame->begin + *bytes;
    n_before = frame->n_before + n_lines;
    frames_.push_back(*frame);
  }
  is_cut_ = true;
}

History::Atoms History::atoms() const {
  if (frames_.empty()) throw InputError(fmt::format("{}: has no complete frame", file_.path()));
  const auto n = static_cast<std::size_t>(n_atoms_);
  Atoms atoms{std::vector<std::string>(n), std::vector<double>(n), std::vector<double>(n)};
  Lines lines(file_, frames_[0].begin, end_, frames_[0].n_before);
  for_each_atom(lines, n_atoms_, [&](std::size_t row, std::string_view name) {
    atoms.names[row] = name;
    atoms.masses[row] = lines.number<double>("a mass");
    atoms.charges[row] = lines.number<double>("a charge");
    for (int k = 0; k <= level_; ++k) lines.next("three numbers");
  });
  return atoms;
}

void History::read(std::int64_t frame, double* values) const {
  const auto& found = frames_.at(static_cast<std::size_t>(frame));
  const auto n_values = 3 * (static_cast<std::size_t>(level_) + 1);
  Lines lines(file_, found.begin, end_, found.n_before);
  for_each_atom(lines, n_atoms_, [&](std::size_t row, std::string_view) {
    for (std::size_t k = 0; k < n_values; k += 3)
      lines.three(values + row * n_values + k, k == 0 ? "a position" : k == 3 ? "a velocity" : "a force");
  });
}

}  // namespace tessera::io::text
