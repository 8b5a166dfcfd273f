// Cuts a graph in two parts of given sizes where the least weight is cut: several levels of coarser graphs (Karypis and
// Kumar 1998), and moves of single vertices at each level (Fiduccia and Mattheyses 1982).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::machine {

/// Holds an undirected graph without loops: the neighbours of each vertex one vertex after another, and each edge with
/// its weight at both of its ends.
struct Graph {
  struct End {
    int vertex = 0;  // the other end
    std::int64_t weight = 0;
  };

  std::vector<std::size_t> first{0};  // (n + 1), by vertex: its first entry in `ends`
  std::vector<End> ends;
  std::vector<int> sizes;  // (n), how many vertices of the original graph it stands for

  int n() const { return static_cast<int>(sizes.size()); }
  std::span<const End> of(int vertex) const {
    const auto v = static_cast<std::size_t>(vertex);
    return {ends.data() + first[v], first[v + 1] - first[v]};
  }
};

/// Returns for each vertex whether it is in the second part, where the first one has vertices of `n_first` in all. Sizes
/// of the graph are all 1. The same graph is always cut in the same way. Time grows with edges as m log m.
std::vector<bool> bisect(const Graph& graph, int n_first);

}  // namespace tessera::machine
