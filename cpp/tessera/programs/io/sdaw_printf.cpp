// Serial direct access as DL_POLY had it: the master formats by printf and writes every record of 73 bytes by itself.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "tessera/io/text/fields.h"
#include "tessera/io/write/new_file.h"
#include "tessera/programs/io/bench_methods.h"

namespace tessera::programs {

using namespace io::write;
namespace text = io::text;

namespace {

/// Returns the number of digits before the point; more than 10 where g20.10 has an exponent, or -1.
int leading_digits(double value) {
  const double size = std::fabs(value);
  if (!(size >= 0.1)) return -1;
  int n = 0;
  for (double power = 1; n <= 10 && size >= power; power *= 10) ++n;
  return n;
}

/// Writes three numbers as 3g20.10 by one printf where that can do it: 60 characters and a null.
void write_three_by_printf(const double* values, char* out) {
  std::array<int, 3> decimals{};
  bool is_plain = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const int leading = leading_digits(values[i]);
    decimals[i] = 10 - leading;
    is_plain = is_plain && leading >= 0 && leading < 10;
  }
  // A value that gains a digit by rounding is a character longer.
  if (is_plain && std::snprintf(out, 61, "%16.*f    %16.*f    %16.*f    ", decimals[0], values[0], decimals[1],
                                values[1], decimals[2], values[2]) == 60) {
    for (std::size_t i = 0; i < 3; ++i) {
      const char first = out[20 * i + 4];
      is_plain = is_plain && (std::fabs(values[i]) < 1 ? first == '0' : first == ' ' || first == '-');
    }
    if (is_plain) return;
  }
  for (std::size_t i = 0; i < 3; ++i) text::write_g20_10(values[i], out + 20 * i);
}

void write(WriteJob& job) {
  NewFile file(job);
  std::optional<Descriptor> open;
  if (job.mine())
    job.attempt([&] {
      open.emplace(file.open());
      open->write_at(job.header().data(), job.header().size(), 0);
    });
  auto offset = std::ssize(job.header());
  std::array<char, 2 * text::record_bytes + 1> records;
  job.take_in_turn([&](const Atoms& atoms, std::int64_t) {
    if (!job.mine()) return;
    job.attempt([&] {
      for (const auto& atom : atoms) {
        print_records(job.frame(), atom, records.data());
        for (std::size_t i = 0; i < 2; ++i, offset += text::record_bytes)
          open->write_at(records.data() + i * text::record_bytes, text::record_bytes, offset);
      }
    });
  });
  if (open) file.synchronize(*open);
  file.commit();
}

bool is_config(const Format& format) { return std::string_view(format.name) == "text"; }

}  // namespace

void print_records(const Frame& frame, const Atom& atom, char* out) {
  std::snprintf(out, text::record_bytes + 1, "%.8s%10lld%54s\n",
                frame.species[static_cast<std::size_t>(atom.species)].name.data(), static_cast<long long>(atom.id), "");
  out += text::record_bytes;
  write_three_by_printf(atom.position.data(), out);
  std::memset(out + 60, ' ', 12);
  out[text::record_bytes - 1] = '\n';
}

const Method sdaw_printf{"sdaw-printf", "sdaw by printf, a write for each record of 73 bytes: the paper's baseline",
                         is_config,     plan_root,
                         write,         60e6};

}  // namespace tessera::programs
