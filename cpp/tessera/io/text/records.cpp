#include "tessera/io/text/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tessera/io/text/fields.h"

namespace tessera::io::text {

namespace {

std::string cell_records(const std::array<double, 9>& cell) {
  std::string text;
  for (std::size_t i = 0; i < 9; i += 3) {
    std::string line(60, ' ');
    for (std::size_t k = 0; k < 3; ++k) write_f20_10(cell[i + k], line.data() + 20 * k);
    text += record_of(line);
  }
  return text;
}

}  // namespace

std::string record_of(std::string_view text) {
  std::string record(text.substr(0, record_bytes - 1));
  std::replace_if(
      record.begin(), record.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  record.resize(record_bytes - 1, ' ');
  return record + '\n';
}

int periodicity_of(const std::array<double, 9>& cell) {
  if (std::ranges::all_of(cell, [](double value) { return value == 0; })) return 0;
  for (const std::size_t i : {1, 2, 3, 5, 6, 7})
    if (cell[i] != 0) return 3;
  return cell[0] == cell[4] && cell[4] == cell[8] ? 1 : 2;
}

Name name_of(std::string_view text) {
  Name name;
  name.fill(' ');
  std::copy_n(text.begin(), std::min(text.size(), name.size()), name.begin());
  return name;
}

void write_name_record(const Name& name, std::int64_t id, char* out) {
  std::memcpy(out, name.data(), name.size());
  write_i10(id, out + 8);
  std::memset(out + 18, ' ', 54);
  out[72] = '\n';
}

void write_name_record(const Name& name, std::int64_t id, double mass, double charge, double displacement, char* out) {
  write_name_record(name, id, out);
  write_f12_6(mass, out + 18);
  write_f12_6(charge, out + 30);
  write_f12_6(displacement, out + 42);
}

void write_value_record(const double* values, char* out) {
  for (int k = 0; k < 3; ++k) write_g20_10(values[k], out + real_width * k);
  std::memset(out + 60, ' ', 12);
  out[72] = '\n';
}

std::string config_header(const std::string& title, int level, int periodicity, std::int64_t n_atoms,
                          const std::optional<Moment>& moment, const std::array<double, 9>& cell) {
  auto keys = fmt::format("{:10}{:10}{:10}", level, periodicity, n_atoms);
  if (moment) keys += fmt::format("{:10}{:16.7E}{:16.7E}", moment->step, moment->timestep, moment->time);
  return record_of(title) + record_of(keys) + (periodicity != 0 ? cell_records(cell) : "");
}

std::string history_header(const std::string& title, int level, int periodicity, std::int64_t n_atoms,
                           std::int64_t n_frames, std::int64_t n_records) {
  return record_of(title) +
         record_of(fmt::format("{:10}{:10}{:10}{:21}{:21}", level, periodicity, n_atoms, n_frames, n_records));
}

std::string history_frame_header(const Moment& moment, int level, int periodicity, std::int64_t n_atoms,
                                 const std::array<double, 9>& cell) {
  return record_of(fmt::format("timestep{:10}{:10}{:2}{:2}{:20.6f}{:20.6f}", moment.step, n_atoms, level, periodicity,
                               moment.timestep, moment.time)) +
         (periodicity != 0 ? cell_records(cell) : "");
}

}  // namespace tessera::io::text
