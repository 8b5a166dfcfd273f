// Fixed routes over the links of a torus or a fat tree: which messages meet, beyond what latencies and the rates of
// subnets tell.
#pragma once

#include <string>
#include <vector>

namespace tessera::machine {

/// Hosts are numbered as they stand in Network::hosts. A link carries `bandwidth` in each direction.
///
///   torus   direction after direction, the shorter way round (of two as short, upwards)
///   tree    up to the lowest common switch by ports that the receiver's number gives, as tables of destinations do
///           (destination mod k: X. Yuan et al., IPDPS 2007, doi:10.1109/IPDPS.2007.370211), then down
struct Routes {
  enum class Kind { torus, tree };

  Kind kind = Kind::torus;
  std::vector<int> shape;  // torus: hosts along each direction, the last fastest; tree: ports down and up of a switch
  double bandwidth = 0;    // bytes/s

  int n_links(int n_hosts) const;
  /// Appends the numbers of the links that a message takes.
  void add_links(int n_hosts, int from, int to, std::vector<int>& links) const;
  /// Throws InputError: not a shape of so many hosts, or no rate. `name` stands for the file in messages.
  void check(int n_hosts, const std::string& name) const;

  friend bool operator==(const Routes&, const Routes&) = default;
};

/// "torus", "tree".
const char* name_of(Routes::Kind kind);

}  // namespace tessera::machine
