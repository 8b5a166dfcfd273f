#include "tessera/io/write/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tessera/base/error.h"

namespace tessera::io::write {

namespace {

/// A batch that is put together from atoms in any order.
class Sorting {
 public:
  explicit Sorting(int level) : atoms_(level) {}

  void begin(std::int64_t first, std::int64_t n_atoms) {
    first_ = first;
    atoms_.resize(static_cast<std::size_t>(n_atoms));
    for (std::size_t i = 0; i < atoms_.size(); ++i) atoms_[i].id = 0;
  }

  void add(const Atoms& atoms) {
    for (const auto& atom : atoms) {
      const auto at = static_cast<std::size_t>(atom.id - 1 - first_);
      auto& place = atoms_[at];
      if (place.id != 0 && problem_.empty())
        problem_ =
            fmt::format("two atoms have the number {}; atoms that are sorted are numbered 1, 2, … once each", atom.id);
      copy_row(atoms_.row(at), reinterpret_cast<const std::byte*>(&atom), atoms.row_size());
    }
  }

  Atoms atoms() const { return atoms_; }
  const std::string& problem() const { return problem_; }

 private:
  AtomRows atoms_;
  std::int64_t first_ = 0;
  std::string problem_;
};

}  // namespace

Batches::Batches(const comm::Communicator& comm, const WriteProblem& problem, Order order, const Atoms& atoms)
    : comm_(comm), problem_(problem), order_(order), atoms_(atoms) {
  for (int rank = 0; rank < comm.rank(); ++rank) first_owned_ += problem.owned[static_cast<std::size_t>(rank)];
}

/// Returns whether atoms as owned are sorted already. Collective.
bool Batches::are_in_order() const {
  std::int64_t others = 0, id = first_owned_;
  for (const auto& atom : atoms_) others += atom.id != ++id ? 1 : 0;
  return comm::all_reduce_max(comm_, others) == 0;
}

/// Returns whether every rank writes what it owns.
bool Batches::is_mine(const WritePlan& plan) const {
  if (static_cast<int>(plan.parts.size()) != problem_.n_ranks()) return false;
  for (std::size_t i = 0; i < plan.parts.size(); ++i)
    if (plan.parts[i].n_atoms != problem_.owned[i]) return false;
  return true;
}

std::string Batches::exchange(const WritePlan& plan, const TakeAtoms& take) const {
  return order_ == Order::owned || are_in_order() ? exchange_owned(plan, take) : exchange_sorted(plan, take);
}

std::string Batches::exchange_owned(const WritePlan& plan, const TakeAtoms& take) const {
  const bool stays = is_mine(plan);
  const auto end = first_owned_ + static_cast<std::int64_t>(atoms_.size());
  const auto* mine = plan.of(comm_.rank());
  std::vector<std::byte> batch;
  for (std::int64_t round = 0; round < plan.n_rounds; ++round) {
    const auto range = [&](const Part& part) {
      const auto first = std::min(part.end(), part.first + round * plan.batch);
      return std::pair(first, std::min(part.end(), first + plan.batch));
    };
    const auto own = mine ? range(*mine) : std::pair<std::int64_t, std::int64_t>{};
    if (stays) {
      take(atoms_.subspan(static_cast<std::size_t>(own.first - first_owned_),
                          static_cast<std::size_t>(own.second - own.first)),
           own.first);
      continue;
    }
    std::vector<std::vector<std::byte>> outgoing(static_cast<std::size_t>(comm_.size()));
    for (const auto& part : plan.parts) {
      auto [first, last] = range(part);
      first = std::max(first, first_owned_);
      last = std::min(last, end);
      if (first >= last) continue;
      const auto bytes =
          atoms_.subspan(static_cast<std::size_t>(first - first_owned_), static_cast<std::size_t>(last - first))
              .bytes();
      outgoing[static_cast<std::size_t>(part.rank)].assign(bytes.begin(), bytes.end());
    }
    const auto incoming = comm_.all_to_all(outgoing);
    batch.clear();
    for (const auto& block : incoming) batch.insert(batch.end(), block.begin(), block.end());
    const Atoms atoms(batch, problem_.level);
    TESSERA_CHECK(static_cast<std::int64_t>(atoms.size()) == own.second - own.first);
    take(atoms, own.first);
  }
  return {};
}

std::string Batches::exchange_sorted(const WritePlan& plan, const TakeAtoms& take) const {
  // Atoms of the same batch of the same part stand together, batch after batch: a counting sort.
  const auto n_parts = plan.parts.size();
  const auto n_rounds = static_cast<std::size_t>(plan.n_rounds);
  std::vector<std::size_t> begin(n_parts * n_rounds + 1, 0);
  std::vector<std::uint32_t> bucket(atoms_.size());
  TESSERA_CHECK(begin.size() < (std::size_t{1} << 32));
  const auto n_places = std::max<std::int64_t>(1, plan.parts.back().end());
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    const auto place = atoms_[i].id - 1;
    // Parts of sorted atoms are equal but for one atom, so this is the part or a neighbour of it.
    auto part = static_cast<std::size_t>(static_cast<double>(place) / static_cast<double>(n_places) *
                                         static_cast<double>(n_parts));
    part = std::min(part, n_parts - 1);
    while (place < plan.parts[part].first) --part;
    while (place >= plan.parts[part].end()) ++part;
    const auto round = static_cast<std::size_t>((place - plan.parts[part].first) / plan.batch);
    bucket[i] = static_cast<std::uint32_t>(round * n_parts + part);
    ++begin[bucket[i] + 1];
  }
  for (std::size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];
  AtomRows grouped(problem_.level, atoms_.size());
  {
    auto next = begin;
    for (std::size_t i = 0; i < atoms_.size(); ++i)
      copy_row(grouped.row(next[bucket[i]]++), atoms_.row(i), atoms_.row_size());
  }

  const auto* mine = plan.of(comm_.rank());
  Sorting sorting(problem_.level);
  for (std::size_t round = 0; round < n_rounds; ++round) {
    const auto block = [&](std::size_t part) {
      const auto b = round * n_parts + part;
      return Atoms(grouped).subspan(begin[b], begin[b + 1] - begin[b]);
    };
    std::int64_t first = 0;
    if (mine) {
      first = std::min(mine->end(), mine->first + static_cast<std::int64_t>(round) * plan.batch);
      sorting.begin(first, std::min(plan.batch, mine->end() - first));
    }
    std::vector<std::vector<std::byte>> outgoing(comm_.size() > 1 ? static_cast<std::size_t>(comm_.size()) : 0);
    for (std::size_t part = 0; part < n_parts; ++part) {
      const auto atoms = block(part);
      if (&plan.parts[part] == mine) {
        sorting.add(atoms);
      } else if (!atoms.empty()) {
        outgoing[static_cast<std::size_t>(plan.parts[part].rank)].assign(atoms.bytes().begin(), atoms.bytes().end());
      }
    }
    if (comm_.size() > 1)
      for (const auto& received : comm_.all_to_all(outgoing))
        if (!received.empty()) sorting.add(Atoms(received, problem_.level));
    take(mine ? sorting.atoms() : Atoms{}, first);
  }
  return sorting.problem();
}

std::string Batches::in_turn(const WritePlan& plan, const TakeAtoms& take) const {
  TESSERA_CHECK(plan.parts.size() == 1);
  const int writer = plan.parts.front().rank;
  std::vector<std::int64_t> held = problem_.owned;
  std::vector<std::byte> own;
  auto atoms = atoms_;
  std::string problem;
  if (order_ == Order::sorted && comm_.size() > 1) {
    WriteOptions options;
    options.batch = plan.batch;
    const auto among_all = divide(problem_, options, spread(comm_.size(), comm_.size()), false);
    problem = exchange(among_all, [&](const Atoms& some, std::int64_t) {
      own.insert(own.end(), some.bytes().begin(), some.bytes().end());
    });
    for (const auto& part : among_all.parts) held[static_cast<std::size_t>(part.rank)] = part.n_atoms;
    atoms = Atoms(own, problem_.level);
  } else if (order_ == Order::sorted) {
    return exchange(plan, take);
  }
  constexpr int tag = 7;
  std::int64_t first = 0;
  std::vector<std::byte> received;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto n = held[static_cast<std::size_t>(rank)];
    for (std::int64_t done = 0; done < n; done += plan.batch) {
      const auto some = static_cast<std::size_t>(std::min(plan.batch, n - done));
      if (comm_.rank() == rank) {
        const auto piece = atoms.subspan(static_cast<std::size_t>(done), some);
        if (rank == writer) {
          take(piece, first);
        } else {
          auto request = comm_.start_send(piece.bytes(), writer, tag);
          comm::Communicator::wait_all(std::span(&request, 1));
        }
      } else if (comm_.rank() == writer) {
        received.resize(some * row_bytes(problem_.level));
        auto request = comm_.start_receive(received, rank, tag);
        comm::Communicator::wait_all(std::span(&request, 1));
        take(Atoms(received, problem_.level), first);
      }
      first += static_cast<std::int64_t>(some);
    }
  }
  return problem;
}

}  // namespace tessera::io::write
