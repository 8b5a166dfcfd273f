#include "tessera/programs/io/formatter.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/base/phase_timer.h"
#include "tessera/io/write/format.h"
#include "tessera/programs/io/bench_methods.h"
#include "tessera/programs/io/sample.h"

namespace tessera::programs {

namespace {

using io::text::record_bytes;
using io::write::Atom;
using io::write::Atoms;
using io::write::Frame;

constexpr std::size_t buffer_bytes = 1048576;

void by_format(const Frame& frame, const Atoms& atoms, char* out) {
  io::write::format("text").encode(frame, atoms, out);
}

/// Formats by std::to_chars, with as many decimals as g20.10 has, without its exponents.
void by_to_chars(const Frame& frame, const Atoms& atoms, char* out) {
  for (const auto& atom : atoms) {
    std::memset(out, ' ', 2 * record_bytes);
    std::memcpy(out, frame.species[static_cast<std::size_t>(atom.species)].name.data(), 8);
    std::array<char, 32> text;
    const auto* end = std::to_chars(text.data(), text.data() + text.size(), atom.id).ptr;
    std::memcpy(out + 18 - (end - text.data()), text.data(), static_cast<std::size_t>(end - text.data()));
    out[record_bytes - 1] = '\n';
    out += record_bytes;
    for (std::size_t k = 0; k < 3; ++k) {
      int leading = 0;
      for (double power = 1; std::fabs(atom.position[k]) >= power && leading < 9; power *= 10) ++leading;
      end = std::to_chars(text.data(), text.data() + text.size(), atom.position[k], std::chars_format::fixed,
                          10 - leading)
                .ptr;
      std::memcpy(out + 20 * k + 16 - (end - text.data()), text.data(), static_cast<std::size_t>(end - text.data()));
    }
    out[record_bytes - 1] = '\n';
    out += record_bytes;
  }
}

void write_in_buffers(const Descriptor& file, const Frame& frame, const std::vector<Atom>& atoms,
                      void (*encode)(const Frame&, const Atoms&, char*)) {
  std::vector<char> buffer(buffer_bytes);
  const std::size_t at_once = buffer_bytes / (2 * record_bytes);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < atoms.size(); i += at_once) {
    const auto some = Atoms(atoms).subspan(i, std::min(at_once, atoms.size() - i));
    encode(frame, some, buffer.data());
    file.write_at(buffer.data(), some.size() * 2 * record_bytes, offset);
    offset += std::ssize(some) * 2 * record_bytes;
  }
}

void write_by_printf(const Descriptor& file, const Frame& frame, const std::vector<Atom>& atoms) {
  std::int64_t offset = 0;
  std::array<char, 2 * record_bytes + 1> records;
  for (const auto& atom : atoms) {
    print_records(frame, atom, records.data());
    for (std::size_t i = 0; i < 2; ++i, offset += record_bytes)
      file.write_at(records.data() + i * record_bytes, record_bytes, offset);
  }
}

}  // namespace

nlohmann::json time_formatter(const std::string& path, std::int64_t n_atoms, int repeats) {
  const auto frame = sample_frame(n_atoms);
  const auto atoms = sample_atoms(n_atoms, 0, 1);
  const auto file = Descriptor::create(path);
  nlohmann::json found{{"bytes", 2 * record_bytes * n_atoms}};
  const auto time = [&](const char* name, const std::function<void()>& work) {
    file.truncate(0);
    const auto start = std::chrono::steady_clock::now();
    const double busy = processor_seconds();
    work();
    found[name]["processor_seconds"].push_back(processor_seconds() - busy);
    found[name]["seconds"].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  for (int repeat = 0; repeat < repeats; ++repeat) {
    time("ours", [&] { write_in_buffers(file, frame, atoms, by_format); });
    time("to_chars", [&] { write_in_buffers(file, frame, atoms, by_to_chars); });
    time("printf", [&] { write_by_printf(file, frame, atoms); });
  }
  std::remove(path.c_str());
  return found;
}

}  // namespace tessera::programs
