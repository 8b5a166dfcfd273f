// The layout is Fortran records (length, content, length): a header of 84 bytes ("CORD", 20 integers), titles, the
// number of atoms; then a frame is a record of six doubles (A, cos γ, B, cos β, cos α, C) and one each for x, y, z.
// Angles are written as cosines, as CHARMM and NAMD do: 90° stays 90°, and readers tell them from degrees.
#include "tessera/io/dcd.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::io {
namespace {

constexpr double akma_time = 0.0488882129;  // ps, CHARMM's unit of time: √(amu Å² / (kcal/mol)); the figure readers use
constexpr std::int64_t title_size = 80;
constexpr std::int64_t header_bytes = (4 + 84 + 4) + (4 + 4 + title_size + 4) + (4 + 4 + 4);
constexpr std::int64_t frames_offset = 8, steps_offset = 20;

constexpr std::int64_t cell_bytes = 4 + 48 + 4;

std::int64_t column_bytes(std::int64_t n_atoms) { return 4 + 4 * n_atoms + 4; }  // of x, y or z
std::int64_t frame_bytes(std::int64_t n_atoms) { return cell_bytes + 3 * column_bytes(n_atoms); }

class Buffer {
 public:
  template <class Value>
  void put(const Value& value) {
    put(&value, sizeof value);
  }
  void put(const void* data, std::size_t bytes) {
    const auto* begin = static_cast<const char*>(data);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
  }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

std::int32_t clipped(std::int64_t value) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(value, std::numeric_limits<std::int32_t>::max()));
}

std::vector<char> header_text(const DcdHeader& header) {
  std::array<std::int32_t, 20> control{};
  control[1] = clipped(header.first_step);
  control[2] = clipped(header.every);
  const auto delta = static_cast<float>(header.timestep / akma_time);
  std::memcpy(&control[9], &delta, sizeof delta);
  control[10] = 1;   // each frame has a unit cell
  control[19] = 24;  // pretend to be CHARMM 24, which all readers know
  Buffer buffer;
  buffer.put(std::int32_t{84});
  buffer.put("CORD", 4);
  buffer.put(control);
  buffer.put(std::int32_t{84});
  std::string title = header.title.substr(0, title_size);
  title.resize(title_size, ' ');
  buffer.put(std::int32_t{4 + title_size});
  buffer.put(std::int32_t{1});
  buffer.put(title.data(), title.size());
  buffer.put(std::int32_t{4 + title_size});
  buffer.put(std::int32_t{4});
  buffer.put(static_cast<std::int32_t>(header.n_atoms));
  buffer.put(std::int32_t{4});
  TESSERA_CHECK(static_cast<std::int64_t>(buffer.bytes().size()) == header_bytes);
  return buffer.bytes();
}

}  // namespace

DcdWriter DcdWriter::create(const std::string& path, const DcdHeader& header) {
  if (header.n_atoms > most_dcd_atoms)
    throw InputError(fmt::format("{}: a DCD holds at most {} atoms, there are {}; write another format (h5md)", path,
                                 most_dcd_atoms, header.n_atoms));
  DcdWriter writer(Descriptor::create(path), header);
  const auto text = header_text(header);
  writer.file_.write_at(text.data(), text.size(), 0);
  return writer;
}

DcdWriter DcdWriter::continue_after(const std::string& path, std::int64_t n_frames, const DcdHeader& header) {
  DcdWriter writer(Descriptor::open_to_change(path), header);
  const auto expected = header_text(header);
  std::vector<char> found(expected.size());
  const std::size_t bytes = writer.file_.read_at(found.data(), found.size(), 0);
  // Number of atoms and time between frames; frame counts and the title may differ.
  const auto same = [&](std::int64_t offset, std::size_t size) {
    return std::memcmp(found.data() + offset, expected.data() + offset, size) == 0;
  };
  if (bytes != found.size() || !same(4, 4) || !same(header_bytes - 8, 4) || !same(16, 4) || !same(44, 4))
    throw InputError(
        fmt::format("{}: is not the trajectory of this run ({} atoms, a frame each {} steps of {} ps); move "
                    "it away to begin another from the checkpoint on",
                    path, header.n_atoms, header.every, header.timestep));
  const std::int64_t whole = (writer.file_.size() - header_bytes) / frame_bytes(header.n_atoms);
  if (whole < n_frames)
    throw InputError(
        fmt::format("{}: holds {} whole frames, the checkpoint says {}; put the trajectory back, or move it away "
                    "to begin another from the checkpoint on",
                    path, whole, n_frames));
  writer.n_frames_ = n_frames;
  writer.file_.truncate(header_bytes + n_frames * frame_bytes(header.n_atoms));
  writer.write_counts();
  return writer;
}

void DcdWriter::write_counts() const {
  const std::int32_t frames = clipped(n_frames_), steps = clipped(n_frames_ * header_.every);
  file_.write_at(&frames, sizeof frames, frames_offset);
  file_.write_at(&steps, sizeof steps, steps_offset);
}

DcdWriter DcdWriter::open_beside(const std::string& path, std::int64_t n_frames, const DcdHeader& header) {
  DcdWriter writer(Descriptor::open_to_change(path), header);
  writer.n_frames_ = n_frames;
  return writer;
}

void DcdWriter::append(const Box& box, std::span<const float> positions) {
  TESSERA_CHECK(std::ssize(positions) == 3 * header_.n_atoms);
  put_rows(0, positions);
  finish_frame(box);
}

std::int64_t DcdWriter::next_frame() const { return header_bytes + n_frames_ * frame_bytes(header_.n_atoms); }

void DcdWriter::put_rows(std::int64_t first, std::span<const float> positions) const {
  const auto n = positions.size() / 3;
  TESSERA_CHECK(positions.size() == 3 * n && first + static_cast<std::int64_t>(n) <= header_.n_atoms);
  std::vector<float> column(n);
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t i = 0; i < n; ++i) column[i] = positions[3 * i + d];
    const auto begin = cell_bytes + static_cast<std::int64_t>(d) * column_bytes(header_.n_atoms) + 4 + 4 * first;
    file_.write_at(column.data(), 4 * n, next_frame() + begin);
  }
}

void DcdWriter::finish_frame(const Box& box) {
  const auto edges = box.edges();
  const auto cosine = [](const Vec3& p, const Vec3& q) {
    const double lengths = norm(p) * norm(q);
    return lengths > 0 ? dot(p, q) / lengths : 0;  // a frame without a box has zeros
  };
  const std::array<double, 6> cell = {
      edges[0], cosine(box.a(), box.b()), edges[1], cosine(box.a(), box.c()), cosine(box.b(), box.c()), edges[2]};
  const auto length = static_cast<std::int32_t>(4 * header_.n_atoms);
  Buffer head;
  head.put(std::int32_t{48});
  head.put(cell);
  head.put(std::int32_t{48});
  head.put(length);
  file_.write_at(head.bytes().data(), head.bytes().size(), next_frame());
  // The lengths behind a column and before the next one; that behind the last column ends the frame.
  const std::array<std::int32_t, 2> lengths = {length, length};
  for (std::int64_t d = 1; d <= 3; ++d)
    file_.write_at(lengths.data(), d < 3 ? 8 : 4, next_frame() + cell_bytes + d * column_bytes(header_.n_atoms) - 4);
  ++n_frames_;
  write_counts();
}

}  // namespace tessera::io
