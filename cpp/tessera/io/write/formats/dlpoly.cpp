// DL_POLY's CONFIG and HISTORY: records of 73 bytes, of which an atom has two, one more with velocities and another
// with forces.
#include "tessera/io/write/format.h"

namespace tessera::io::write {

namespace {

constexpr const char* usual_name = "text";  // that `tessera io bench` measures unless asked for others

template <int level>
char* put_values(const Atom& atom, char* out) {
  text::write_value_record(atom.position.data(), out);
  if constexpr (level > 0) text::write_value_record(values_behind(atom, 1), out + text::record_bytes);
  if constexpr (level > 1) text::write_value_record(values_behind(atom, 2), out + 2 * text::record_bytes);
  return out + (level + 1) * text::record_bytes;
}

template <int level>
std::string config_header(const Frame& frame, std::int64_t n_atoms) {
  return text::config_header(frame.title, level, frame.periodicity, n_atoms, frame.moment, frame.cell);
}

template <int level>
void encode_config(const Frame& frame, const Atoms& atoms, char* out) {
  for (const auto& atom : atoms) {
    text::write_name_record(frame.species[static_cast<std::size_t>(atom.species)].name, atom.id, out);
    out = put_values<level>(atom, out + text::record_bytes);
  }
}

template <int level>
std::string history_frame_header(const Frame& frame, std::int64_t n_atoms) {
  return text::history_frame_header(frame.moment, level, frame.periodicity, n_atoms, frame.cell);
}

template <int level>
std::string history_file_header(const Frame& frame, std::int64_t n_atoms, std::int64_t n_frames) {
  const auto of_frame = std::ssize(history_frame_header<level>(frame, n_atoms)) / text::record_bytes;
  return text::history_header(frame.title, level, frame.periodicity, n_atoms, n_frames,
                              2 + n_frames * (of_frame + (level + 2) * n_atoms));
}

template <int level>
bool is_of(std::string_view header, const Frame& frame, std::int64_t n_atoms) {
  const auto expected = history_file_header<level>(frame, n_atoms, 0);
  const auto same = [&](std::size_t column) {
    const auto place = text::record_bytes + column;
    return header.substr(place, 10) == std::string_view(expected).substr(place, 10);
  };
  return same(0) && same(20);  // between them is the shape of the box, which changes
}

template <int level>
std::string history_header(const Frame& frame, std::int64_t n_atoms) {
  return history_file_header<level>(frame, n_atoms, 1) + history_frame_header<level>(frame, n_atoms);
}

template <int level>
void encode_history(const Frame& frame, const Atoms& atoms, char* out) {
  for (const auto& atom : atoms) {
    const auto& species = frame.species[static_cast<std::size_t>(atom.species)];
    text::write_name_record(species.name, atom.id, species.mass, species.charge, 0, out);
    out = put_values<level>(atom, out + text::record_bytes);
  }
}

template <int level>
constexpr Format config_of(const char* name, const char* about) {
  return {.name = name,
          .about = about,
          .atom_bytes = (level + 2) * text::record_bytes,
          .has_numbers = true,
          .header = config_header<level>,
          .encode = encode_config<level>,
          .measured_as = usual_name,
          .level = level};
}

template <int level>
constexpr Format history_of(const char* name, const char* about) {
  return {.name = name,
          .about = about,
          .atom_bytes = (level + 2) * text::record_bytes,
          .has_numbers = true,
          .header = history_header<level>,
          .encode = encode_history<level>,
          .file_header = history_file_header<level>,
          .frame_header = history_frame_header<level>,
          .is_of = is_of<level>,
          .measured_as = usual_name,
          .level = level};
}

}  // namespace

const Format config = config_of<0>(usual_name, "DL_POLY's CONFIG: two records of 73 bytes an atom");
const Format config_velocities = config_of<1>("text-velocities", "the same with velocities: three records an atom");
const Format history = history_of<0>("history", "DL_POLY's HISTORY with one frame: two records of 73 bytes an atom");
const Format history_velocities =
    history_of<1>("history-velocities", "the same with velocities: three records an atom");
const Format history_forces =
    history_of<2>("history-forces", "the same with velocities and forces: four records an atom");

}  // namespace tessera::io::write
