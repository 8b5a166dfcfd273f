#include "tessera/app/restart/checkpoint_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <span>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/large_pages.h"
#include "tessera/io/write_behind.h"

namespace tessera::app {

namespace {

/// Which rank writes which groups of atoms, and when. A group fills whole pieces of each array, so a piece has one
/// writer. Rounds keep what a rank holds at once small beside its own atoms.
class Shares {
 public:
  Shares(std::int64_t n_groups, int ranks) : n_groups_(n_groups), ranks_(ranks) {
    // Up to four groups, which fill 3 MB of an array: disks write small pieces more slowly.
    constexpr std::int64_t most_rounds = 64, enough_rounds = 8, enough_groups = 4;
    const auto most_groups = (n_groups + ranks - 1) / ranks;
    groups_in_round_ = std::max({std::int64_t{1}, std::min(enough_groups, most_groups / enough_rounds),
                                 (most_groups + most_rounds - 1) / most_rounds});
    n_rounds_ = (most_groups + groups_in_round_ - 1) / groups_in_round_;
  }

  std::int64_t n_rounds() const { return n_rounds_; }
  std::int64_t groups_in_round() const { return groups_in_round_; }
  int owner_of(std::int64_t group) const { return static_cast<int>(group * ranks_ / n_groups_); }
  std::int64_t round_of(std::int64_t group) const { return (group - first_of(owner_of(group))) / groups_in_round_; }
  /// Returns from which to which group a rank writes in a round.
  std::pair<std::int64_t, std::int64_t> groups(int rank, std::int64_t round) const {
    const auto end = first_of(rank + 1);
    const auto begin = std::min(first_of(rank) + round * groups_in_round_, end);
    return {begin, std::min(begin + groups_in_round_, end)};
  }

 private:
  std::int64_t first_of(int rank) const { return (n_groups_ * rank + ranks_ - 1) / ranks_; }

  std::int64_t n_groups_, ranks_, groups_in_round_ = 1, n_rounds_ = 0;
};

/// The slots of this rank's atoms by the round in which they are sent, and by the rank that writes them.
class SortedSlots {
 public:
  SortedSlots(const md::OwnAtoms& own, const CheckpointLayout& layout, const Shares& shares, int ranks)
      : ranks_(ranks), begin_(at(shares.n_rounds() * ranks + 1)) {
    std::vector<std::size_t> place_of_group;
    for (std::int64_t g = 0; g < layout.n_groups(); ++g)
      place_of_group.push_back(at(shares.round_of(g) * ranks + shares.owner_of(g)));
    // Groups have a multiple of 65,536 atoms, and a division of 32 bits takes a fraction of one of 64.
    constexpr int bits = 16;
    TESSERA_CHECK(layout.atoms_in_group % (1 << bits) == 0);
    const auto in_group = static_cast<std::uint32_t>(layout.atoms_in_group >> bits);
    const auto for_slots = [&](auto&& use) {
      for (std::size_t slot = 0; slot < own.id.size(); ++slot)
        if (const auto atom = own.id[slot]; atom >= 0)
          use(static_cast<std::int32_t>(slot), place_of_group[static_cast<std::uint32_t>(atom >> bits) / in_group]);
    };
    for_slots([&](std::int32_t /*slot*/, std::size_t place) { ++begin_[place + 1]; });
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    slots_.resize(begin_.back());
    auto next = begin_;
    for_slots([&](std::int32_t slot, std::size_t place) { slots_[next[place]++] = slot; });
  }

  std::span<const std::int32_t> of(std::int64_t round, int writer) const {
    const auto place = at(round * ranks_ + writer);
    return std::span(slots_).subspan(begin_[place], begin_[place + 1] - begin_[place]);
  }

 private:
  int ranks_;
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> slots_;
};

constexpr std::int64_t row = row_bytes_of_triples;

/// Calls use(id, three triples, fields) of each atom; `fields` writes the values of all fields to a place.
template <class Use>
void for_atoms(const md::OwnAtoms& atoms, std::span<const std::int32_t> slots, Use&& use) {
  // Consecutive slots of a group lie apart in memory, each in a line of every array.
  constexpr std::size_t ahead = 24;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i + ahead < slots.size()) {
      const auto next = at(slots[i + ahead]);
      __builtin_prefetch(&atoms.id[next]);
      __builtin_prefetch(&atoms.position[next]);
      __builtin_prefetch(&atoms.reference[next]);
      __builtin_prefetch(&atoms.velocity[next]);
    }
    const auto s = at(slots[i]);
    const auto moved = atoms.position[s] - atoms.reference[s];
    use(atoms.id[s], &atoms.reference[s], &atoms.velocity[s], &moved, [&](std::byte* to) {
      for (const auto& field : atoms.fields) {
        const auto bytes = field.width * sizeof(double);
        std::memcpy(to, field.values.data() + s * field.width, bytes);
        to += bytes;
      }
    });
  }
}

/// The rows of each array that a rank writes in a round.
class Rows {
 public:
  explicit Rows(const CheckpointLayout& layout) : layout_(layout), arrays_(layout.row_bytes.size()) {}

  /// Begins a round with the atoms from `first` to `last`; behind the last atoms of all come zeros up to the end of the
  /// region.
  void begin(std::int64_t first, std::int64_t last) {
    first_ = first;
    n_ = 0;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const auto rows = (last - first) * layout_.row_bytes[a];
      const auto& region = layout_.regions[a + 1];
      const auto end = last == layout_.n_atoms ? region.end - region.begin - first * layout_.row_bytes[a] : rows;
      arrays_[a].resize(at(end));
      std::fill(arrays_[a].begin() + rows, arrays_[a].end(), std::byte{});
    }
  }

  template <class Fields>
  void put(std::int64_t id, const void* position, const void* velocity, const void* displacement, Fields&& fields) {
    const auto i = id - first_;
    TESSERA_CHECK(i >= 0 && (i + 1) * row <= std::ssize(arrays_[0]));
    std::memcpy(arrays_[0].data() + i * row, position, at(row));
    std::memcpy(arrays_[1].data() + i * row, velocity, at(row));
    std::memcpy(arrays_[2].data() + i * row, displacement, at(row));
    if (arrays_.size() > 3) fields(arrays_[3].data() + i * layout_.row_bytes[3]);
    ++n_;
  }

  std::int64_t n() const { return n_; }
  const std::vector<io::DirectBytes>& arrays() const { return arrays_; }

 private:
  const CheckpointLayout& layout_;
  std::vector<io::DirectBytes> arrays_;
  std::int64_t first_ = 0, n_ = 0;
};

/// Returns the bytes of an atom as ranks send it: id, position at the last search, velocity, displacement since and
/// fields.
std::int64_t record_bytes(const CheckpointLayout& layout) {
  return 8 + std::accumulate(layout.row_bytes.begin(), layout.row_bytes.end(), std::int64_t{0});
}

/// Puts the atoms of this round that this rank writes into `rows`, and returns the others for the ranks that do.
std::vector<std::vector<std::byte>> sort_by_writer(const md::OwnAtoms& atoms, const CheckpointLayout& layout,
                                                   const SortedSlots& slots, std::int64_t round,
                                                   const comm::Communicator& comm, Rows& rows) {
  const auto bytes = record_bytes(layout);
  std::vector<std::vector<std::byte>> outgoing(at(comm.size()));
  for (int writer = 0; writer < comm.size(); ++writer) {
    const auto own = slots.of(round, writer);
    if (writer == comm.rank()) {
      for_atoms(atoms, own, [&](auto&&... values) { rows.put(values...); });
      continue;
    }
    outgoing[at(writer)].resize(own.size() * at(bytes));
    auto* to = outgoing[at(writer)].data();
    for_atoms(
        atoms, own,
        [&](std::int64_t id, const void* position, const void* velocity, const void* displacement, auto&& fields) {
          std::memcpy(to, &id, 8);
          std::memcpy(to + 8, position, at(row));
          std::memcpy(to + 8 + row, velocity, at(row));
          std::memcpy(to + 8 + 2 * row, displacement, at(row));
          fields(to + 8 + 3 * row);
          to += bytes;
        });
  }
  return outgoing;
}

void put_received(const std::vector<std::byte>& records, const CheckpointLayout& layout, Rows& rows) {
  const auto bytes = record_bytes(layout), bytes_of_fields = bytes - 8 - 3 * row;
  for (const auto* record = records.data(); record != records.data() + records.size(); record += bytes) {
    std::int64_t id = 0;
    std::memcpy(&id, record, 8);
    rows.put(id, record + 8, record + 8 + row, record + 8 + 2 * row,
             [&](std::byte* to) { std::memcpy(to, record + 8 + 3 * row, at(bytes_of_fields)); });
  }
}

}  // namespace

void CheckpointWriter::reserve(std::int64_t bytes) {
  on_root(comm_, [&] {
    next_.reset();
    next_.emplace(unplaced_checkpoint(folder_));
    take_room(bytes);
  });
}

void CheckpointWriter::take_room(std::int64_t bytes) {
  try {
    next_->file().reserve(0, bytes);
  } catch (const RunError&) {
    // The room may be that of the oldest checkpoint.
    if (!freeing_.valid()) throw;
    freeing_.get();
    next_->file().reserve(0, bytes);
  }
}

std::vector<CheckpointWriter::PieceSum> CheckpointWriter::write_atoms(const CheckpointLayout& layout,
                                                                      const std::string& path, const md::Engine& engine,
                                                                      std::string& problem) const {
  auto host = comm::Communicator::host();
  comm::broadcast_resized(comm_, host);
  const bool is_on_roots_host = host == comm::Communicator::host();
  const Shares shares(layout.n_groups(), comm_.size());
  const auto own = engine.atoms();
  const SortedSlots slots(own, layout, shares, comm_.size());
  std::vector<PieceSum> sums;
  // A rank that can't write goes on without writing, as the others wait for what it sends.
  const auto attempt = [&](auto&& function) {
    try {
      if (problem.empty()) function();
    } catch (const RunError& error) {
      problem = error.what();
    }
  };
  std::optional<Descriptor> file, direct;
  const auto write_rows = [&](const Rows& rows, std::int64_t first) {
    if (!file) {
      file = Descriptor::open_to_change(path, unplaced_checkpoint(folder_));
      direct = file->direct();
    }
    std::int64_t first_piece = layout.regions[0].n_pieces();
    for (std::size_t a = 0; a < rows.arrays().size(); ++a) {
      const auto& array = rows.arrays()[a];
      const auto& region = layout.regions[a + 1];
      const auto offset = first * layout.row_bytes[a];
      // Whole pages: groups fill whole pieces, and the last one goes up to the end of the region.
      (direct ? *direct : *file).write_at(array.data(), array.size(), region.begin + offset);
      if (!direct) file->start_synchronizing(region.begin + offset, std::ssize(array));
      for (std::int64_t done = 0; done < std::ssize(array); done += io::piece_bytes) {
        const auto bytes = std::min(io::piece_bytes, std::ssize(array) - done);
        sums.push_back({first_piece + (offset + done) / io::piece_bytes,
                        io::piece_checksum(std::span(array).subspan(at(done), at(bytes)))});
      }
      first_piece += region.n_pieces();
    }
  };
  // While a helper thread and the disk write the rows of two rounds, those of the next are sorted and sent.
  constexpr std::int64_t rounds_held = 2;
  std::vector<Rows> buffers(rounds_held + 1, Rows(layout));
  io::WriteBehind writing(rounds_held * shares.groups_in_round() * layout.bytes_of_group());
  for (std::int64_t round = 0; round < shares.n_rounds(); ++round) {
    auto& rows = buffers[at(round) % buffers.size()];
    const auto [begin, end] = shares.groups(comm_.rank(), round);
    const auto first = begin * layout.atoms_in_group, last = std::min(end * layout.atoms_in_group, layout.n_atoms);
    rows.begin(first, std::max(first, last));
    for (const auto& received : comm_.all_to_all(sort_by_writer(own, layout, slots, round, comm_, rows)))
      put_received(received, layout, rows);
    if (begin == end) continue;
    TESSERA_CHECK(rows.n() == last - first);
    const auto groups = end - begin;
    attempt([&] { writing.hand_over(groups * layout.bytes_of_group(), [&, first] { write_rows(rows, first); }); });
  }
  attempt([&] { writing.wait(); });
  // When the root has written the header, it brings to the disk what all ranks of its host have written: the system has
  // the file once.
  attempt([&] {
    if (file && !is_on_roots_host) file->synchronize();
  });
  return sums;
}

void CheckpointWriter::finish(const CheckpointLayout& layout, const std::string& header,
                              const std::vector<PieceSum>& own) {
  const auto gathered = comm_.gather(comm::bytes_of(own), 0);
  on_root(comm_, [&] {
    std::vector<std::uint64_t> table(at(layout.n_pieces()));
    const auto text = comm::bytes_of(header);
    for (std::int64_t i = 0; i < layout.regions[0].n_pieces(); ++i) {
      const auto [begin, end] = layout.regions[0].piece(i);
      table[at(i)] = io::piece_checksum(text.subspan(at(begin - layout.regions[0].begin), at(end - begin)));
    }
    std::int64_t n = layout.regions[0].n_pieces();
    for (const auto& block : gathered)
      for (const auto& [piece, sum] : comm::values_of<PieceSum>(block)) table[at(piece)] = sum, ++n;
    TESSERA_CHECK(n == layout.n_pieces());
    next_->file().write_at(header.data(), header.size(), layout.regions[0].begin);
    io::write_checksums(next_->file(), layout.regions, layout.end(), table);
    next_->file().synchronize();
    // The newest becomes the previous one only when the new one is on the disk. Whichever of these names reach it, if
    // the machine stops before the folder does, at least one whole checkpoint has one.
    next_->place();
    next_.reset();
    std::error_code ignored, failed;
    // The system frees the room of a large file when the last handle of it is closed, which takes some ms for each
    // 100 MB: a thread beside this one does so.
    std::optional<Descriptor> oldest;
    try {
      if (std::filesystem::is_regular_file(previous_checkpoint(folder_), ignored))
        oldest = Descriptor::open_to_read(previous_checkpoint(folder_));
    } catch (const InputError&) {
      // It may be replaced all the same.
    }
    std::filesystem::rename(newest_checkpoint(folder_), previous_checkpoint(folder_), ignored);  // none yet: fine
    std::filesystem::rename(unplaced_checkpoint(folder_), newest_checkpoint(folder_), failed);
    if (failed)
      throw RunError(fmt::format("{} can't be renamed to checkpoint.tck: {}", unplaced_checkpoint(folder_),
                                 system_error_text(failed.value())));
    synchronize_folder(folder_);
    freeing_ = std::async(std::launch::async, [file = std::move(oldest)]() mutable { file.reset(); });
  });
}

void CheckpointWriter::write(const Checkpoint& checkpoint, const md::Engine& engine) {
  std::string header, path, problem;
  const auto layout_of = [&](std::int64_t header_bytes) {
    return lay_out_checkpoint(header_bytes, engine.system().n_atoms(), values_of(engine.atoms().fields));
  };
  try {
    on_root(comm_, [&] {
      if (!next_) next_.emplace(unplaced_checkpoint(folder_));
      path = next_->file().path();
      header = text_of_header(checkpoint, engine.system().n_atoms());
      // Ranks that write side by side into a file that grows would wait for each other.
      take_room(layout_of(std::ssize(header)).file_bytes());
    });
    comm::broadcast_resized(comm_, path);
    auto header_bytes = std::ssize(header);
    comm_.broadcast(std::as_writable_bytes(std::span(&header_bytes, 1)), 0);
    const auto layout = layout_of(header_bytes);
    const auto sums = write_atoms(layout, path, engine, problem);
    comm::agree_on_run(comm_, problem);
    finish(layout, header, sums);
  } catch (...) {
    next_.reset();
    throw;
  }
}

}  // namespace tessera::app
