#include "tessera/app/restart/checkpoint_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <span>

#include "tessera/app/on_root.h"
#include "tessera/base/error.h"

namespace tessera::app {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Which rank writes which groups of atoms, and when. A group fills whole pieces of each array, so a piece has one
/// writer. Rounds keep what a rank holds at once small beside its own atoms.
class Shares {
 public:
  Shares(std::int64_t n_groups, int ranks) : n_groups_(n_groups), ranks_(ranks) {
    constexpr std::int64_t most_rounds = 64;
    const auto most_groups = (n_groups + ranks - 1) / ranks;
    groups_in_round_ = std::max<std::int64_t>(1, (most_groups + most_rounds - 1) / most_rounds);
    n_rounds_ = (most_groups + groups_in_round_ - 1) / groups_in_round_;
  }

  std::int64_t n_rounds() const { return n_rounds_; }
  int owner_of(std::int64_t group) const { return static_cast<int>(group * ranks_ / n_groups_); }
  std::int64_t round_of(std::int64_t group) const { return (group - first_of(owner_of(group))) / groups_in_round_; }
  /// From and to which group a rank writes in a round.
  std::pair<std::int64_t, std::int64_t> groups(int rank, std::int64_t round) const {
    const auto end = first_of(rank + 1);
    const auto begin = std::min(first_of(rank) + round * groups_in_round_, end);
    return {begin, std::min(begin + groups_in_round_, end)};
  }

 private:
  std::int64_t first_of(int rank) const { return (n_groups_ * rank + ranks_ - 1) / ranks_; }

  std::int64_t n_groups_, ranks_, groups_in_round_ = 1, n_rounds_ = 0;
};

/// The slots of this rank's atoms by the round in which they are sent.
class SlotsOfRounds {
 public:
  SlotsOfRounds(const md::Engine& engine, const CheckpointLayout& layout, const Shares& shares)
      : begin_(at(shares.n_rounds() + 1)) {
    std::vector<std::int32_t> round_of_group(at(layout.n_groups()));
    for (std::int64_t g = 0; g < layout.n_groups(); ++g)
      round_of_group[at(g)] = static_cast<std::int32_t>(shares.round_of(g));
    const auto& id = engine.state().id;
    const auto for_atoms = [&](auto&& use) {
      for (std::int32_t slot = 0; slot < engine.domain().n_owned_slots(); ++slot)
        if (!engine.domain().is_padding(slot)) use(slot, at(round_of_group[at(id[at(slot)] / layout.atoms_in_group)]));
    };
    for_atoms([&](std::int32_t, std::size_t round) { ++begin_[round + 1]; });
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    slots_.resize(begin_.back());
    auto next = begin_;
    for_atoms([&](std::int32_t slot, std::size_t round) { slots_[next[round]++] = slot; });
  }

  std::span<const std::int32_t> of(std::int64_t round) const {
    return std::span(slots_).subspan(begin_[at(round)], begin_[at(round + 1)] - begin_[at(round)]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> slots_;
};

/// Id, position at the last search, velocity, displacement since and fields of these atoms, for the ranks that write
/// them.
std::vector<std::vector<std::byte>> records_by_writer(const md::Engine& engine, const CheckpointLayout& layout,
                                                      const Shares& shares, std::span<const std::int32_t> slots,
                                                      int ranks) {
  const auto& state = engine.state();
  std::vector<std::vector<std::byte>> outgoing(at(ranks));
  for (const auto slot : slots) {
    const auto s = at(slot);
    auto& to = outgoing[at(shares.owner_of(state.id[s] / layout.atoms_in_group))];
    const md::Particle atom{state.id[s], state.reference[s], state.velocity[s], state.position[s] - state.reference[s]};
    const auto put = [&](const void* data, std::size_t n) {
      const auto* from = static_cast<const std::byte*>(data);
      to.insert(to.end(), from, from + n);
    };
    put(&atom.id, 8);
    put(&atom.position, 12);
    put(&atom.velocity, 12);
    put(&atom.displacement, 12);
    for (const auto& field : state.fields)
      put(field.values.data() + s * field.width, field.width * sizeof(double));
  }
  return outgoing;
}

/// Sorts records by id into a part of each array, which begins with atom `first`. Returns their number.
std::int64_t sort_into_arrays(const std::vector<std::vector<std::byte>>& incoming, const CheckpointLayout& layout,
                              std::int64_t first, std::vector<std::vector<std::byte>>& arrays) {
  const auto bytes = 8 + std::accumulate(layout.row_bytes.begin(), layout.row_bytes.end(), std::int64_t{0});
  std::int64_t n = 0;
  for (const auto& block : incoming)
    for (auto record = block.begin(); record != block.end(); record += bytes, ++n) {
      std::int64_t id = 0;
      std::memcpy(&id, &*record, 8);
      auto from = record + 8;
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        const auto row = layout.row_bytes[a];
        const auto to = (id - first) * row;
        TESSERA_CHECK(to >= 0 && to + row <= std::ssize(arrays[a]));
        std::memcpy(arrays[a].data() + to, &*from, at(row));
        from += row;
      }
    }
  return n;
}

}  // namespace

void CheckpointWriter::reserve(std::int64_t bytes) {
  on_root(comm_, [&] {
    next_.reset();
    next_.emplace(unplaced_checkpoint(folder_));
    next_->file().reserve(bytes);
  });
}

std::vector<CheckpointWriter::PieceSum> CheckpointWriter::write_atoms(const CheckpointLayout& layout,
                                                                      const std::string& path, const md::Engine& engine,
                                                                      std::string& problem) const {
  const Shares shares(layout.n_groups(), comm_.size());
  const SlotsOfRounds slots(engine, layout, shares);
  std::vector<PieceSum> sums;
  // A rank that can't write goes on without writing, as the others wait for what it sends.
  const auto attempt = [&](auto&& function) {
    try {
      if (problem.empty()) function();
    } catch (const RunError& error) {
      problem = error.what();
    }
  };
  std::optional<Descriptor> file;
  for (std::int64_t round = 0; round < shares.n_rounds(); ++round) {
    const auto incoming =
        comm_.all_to_all(records_by_writer(engine, layout, shares, slots.of(round), comm_.size()));
    const auto [begin, end] = shares.groups(comm_.rank(), round);
    if (begin == end) continue;
    const auto first = begin * layout.atoms_in_group, last = std::min(end * layout.atoms_in_group, layout.n_atoms);
    std::vector<std::vector<std::byte>> arrays;
    for (std::size_t a = 0; a < layout.row_bytes.size(); ++a) {
      // Of the last group, with the zeros up to the end of the region.
      const auto& region = layout.regions[a + 1];
      const auto from = region.begin + first * layout.row_bytes[a], to = region.begin + last * layout.row_bytes[a];
      arrays.emplace_back(at((last == layout.n_atoms ? region.end : to) - from));
    }
    TESSERA_CHECK(sort_into_arrays(incoming, layout, first, arrays) == last - first);
    attempt([&] {
      if (!file) file = Descriptor::open_to_change(path);
      std::int64_t first_piece = layout.regions[0].n_pieces();
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        const auto& region = layout.regions[a + 1];
        const auto offset = first * layout.row_bytes[a];
        file->write_at(arrays[a].data(), arrays[a].size(), region.begin + offset);
        for (std::int64_t done = 0; done < std::ssize(arrays[a]); done += io::piece_bytes) {
          const auto bytes = std::min(io::piece_bytes, std::ssize(arrays[a]) - done);
          sums.push_back({first_piece + (offset + done) / io::piece_bytes,
                          io::piece_checksum(std::span(arrays[a]).subspan(at(done), at(bytes)))});
        }
        first_piece += region.n_pieces();
      }
    });
  }
  attempt([&] {
    if (file) file->synchronize();
  });
  return sums;
}

void CheckpointWriter::finish(const CheckpointLayout& layout, const std::string& header,
                              const std::vector<PieceSum>& own) {
  const auto gathered = comm_.gather(comm::bytes_of(own), 0);
  on_root(comm_, [&] {
    std::int64_t n_pieces = 0;
    for (const auto& region : layout.regions) n_pieces += region.n_pieces();
    std::vector<std::uint64_t> table(at(n_pieces));
    const auto text = comm::bytes_of(header);
    for (std::int64_t i = 0; i < layout.regions[0].n_pieces(); ++i) {
      const auto [begin, end] = layout.regions[0].piece(i);
      table[at(i)] = io::piece_checksum(text.subspan(at(begin - layout.regions[0].begin), at(end - begin)));
    }
    std::int64_t n = layout.regions[0].n_pieces();
    for (const auto& block : gathered)
      for (const auto& [piece, sum] : comm::values_of<PieceSum>(block)) table[at(piece)] = sum, ++n;
    TESSERA_CHECK(n == n_pieces);
    next_->file().write_at(header.data(), header.size(), layout.regions[0].begin);
    io::write_checksums(next_->file(), layout.regions, layout.end(), table);
    // The newest becomes the previous one only when the new one is on the disk: write, then rename twice.
    next_->commit();
    next_.reset();
    std::error_code ignored, failed;
    std::filesystem::rename(newest_checkpoint(folder_), previous_checkpoint(folder_), ignored);  // none yet: fine
    std::filesystem::rename(unplaced_checkpoint(folder_), newest_checkpoint(folder_), failed);
    if (failed)
      throw RunError(fmt::format("{} can't be renamed to checkpoint.tck: {}", unplaced_checkpoint(folder_),
                                 system_error_text(failed.value())));
    synchronize_folder(folder_);
  });
}

void CheckpointWriter::write(const Checkpoint& checkpoint, const md::Engine& engine) {
  std::string header, path, problem;
  try {
    on_root(comm_, [&] {
      if (!next_) next_.emplace(unplaced_checkpoint(folder_));
      path = next_->file().path();
      header = text_of_header(checkpoint, engine.system().n_atoms());
    });
    comm::broadcast_resized(comm_, path);
    auto header_bytes = std::ssize(header);
    comm_.broadcast(std::as_writable_bytes(std::span(&header_bytes, 1)), 0);
    std::size_t width = 0;
    for (const auto& field : engine.state().fields) width += field.width;
    const auto layout = lay_out_checkpoint(header_bytes, engine.system().n_atoms(), width);
    const auto sums = write_atoms(layout, path, engine, problem);
    comm::agree_on_run(comm_, problem);
    finish(layout, header, sums);
  } catch (...) {
    next_.reset();
    throw;
  }
}

}  // namespace tessera::app
