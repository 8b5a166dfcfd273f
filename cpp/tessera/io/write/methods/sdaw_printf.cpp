// Serial direct access as DL_POLY had it: the master formats by printf and writes every record of 73 bytes by itself.
#include <array>
#include <cstring>

#include "tessera/io/text/reference.h"
#include "tessera/io/write/method.h"
#include "tessera/io/write/new_file.h"

namespace tessera::io::write {

namespace {

using Record = std::array<char, text::record_bytes>;

Record name_record(const Frame& frame, const Atom& atom) {
  Record record;
  record.fill(' ');
  std::memcpy(record.data(), frame.species[static_cast<std::size_t>(atom.species)].name.data(), 8);
  std::memcpy(record.data() + 8, text::i10_by_printf(atom.id).data(), 10);
  record.back() = '\n';
  return record;
}

Record value_record(const Atom& atom) {
  Record record;
  record.fill(' ');
  text::write_three_by_printf(atom.position.data(), record.data());
  record[60] = ' ';
  record.back() = '\n';
  return record;
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
  job.take_in_turn([&](const Atoms& atoms, std::int64_t) {
    if (!job.mine()) return;
    job.attempt([&] {
      for (const auto& atom : atoms)
        for (const auto& record : {name_record(job.frame(), atom), value_record(atom)}) {
          open->write_at(record.data(), record.size(), offset);
          offset += text::record_bytes;
        }
    });
  });
  if (open) file.synchronize(*open);
  file.commit();
}

bool is_config(const Format& format) { return std::string_view(format.name) == "text"; }

}  // namespace

const Method sdaw_printf{"sdaw-printf", "the same by printf, a write for each record of 73 bytes: the paper's baseline",
                         false,         is_config,
                         plan_root,     write};

}  // namespace tessera::io::write
