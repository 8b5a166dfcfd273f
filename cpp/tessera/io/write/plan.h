// Who writes which bytes: a pure function of the numbers of atoms, ranks and hosts, the same on all ranks.
//
// Atoms have places 0, 1, … in the file: by id, or as ranks own them, rank after rank. Every writer has one range of
// places. Ranks send it the atoms of that range batch by batch, so that it needs memory for one batch only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::io::write {

enum class Order { sorted, owned };

struct WriteOptions {
  Order order = Order::sorted;
  int writers = 0;                // ranks that write; 0: as many as the method likes
  std::int64_t batch = 65'536;    // atoms that a writer collects at a time
  std::int64_t buffer = 4 << 20;  // bytes of a write
  int most_files = 1024;          // of methods that write several
};

struct WriteProblem {
  std::vector<int> hosts;           // of each rank, numbered from 0
  std::vector<std::int64_t> owned;  // atoms of each rank
  std::int64_t header_bytes = 0;    // before the first atom
  std::int64_t atom_bytes = 0;      // of a record
  int level = 0;                    // of the format

  int n_ranks() const { return static_cast<int>(hosts.size()); }
  std::int64_t n_atoms() const;
};

/// A range of places, and where one rank writes it.
struct Part {
  int rank = 0;
  int file = 0;
  std::int64_t first = 0, n_atoms = 0;  // places
  std::int64_t offset = 0;              // of the first place in that file, bytes

  std::int64_t end() const { return first + n_atoms; }
  friend bool operator==(const Part&, const Part&) = default;
};

struct WritePlan {
  std::vector<Part> parts;  // in the order of places, and of ranks
  int n_files = 1;
  std::int64_t batch = 0;     // atoms
  std::int64_t n_rounds = 0;  // batches of the largest part

  /// Returns the part of a rank; null where it writes none.
  const Part* of(int rank) const;
  /// Returns the index of the part that has a place.
  std::size_t part_of(std::int64_t place) const;
};

/// Divides the atoms among writers: equal ranges, or, where all ranks write as they own, each its own. `writers` are in
/// ascending order. With `has_files`, each writes a file of its own, the first of which begins with the header.
WritePlan divide(const WriteProblem& problem, const WriteOptions& options, const std::vector<int>& writers,
                 bool has_files);

/// Returns n ranks at equal distances; all where there are no more.
std::vector<int> spread(int n_ranks, int n);
/// Returns the first rank of each host.
std::vector<int> one_of_each_host(const WriteProblem& problem);

}  // namespace tessera::io::write
