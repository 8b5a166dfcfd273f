// Describes fixed routes over the links of a torus or a fat tree, which tell which messages share links.
#pragma once

#include <string>
#include <vector>

namespace tessera::machine {

/// Describes the routes between hosts, which are numbered as in Network::hosts. A link carries `bandwidth` in each
/// direction.
///
///   torus   one direction after the other, the shorter way around (upwards if both are equal)
///   tree    up to the lowest common switch by ports that follow from the receiver's number (destination mod k, as in
///           routing tables: X. Yuan et al., IPDPS 2007, doi:10.1109/IPDPS.2007.370211), then down
struct Routes {
  enum class Kind { torus, tree };

  Kind kind = Kind::torus;
  std::vector<int> shape;  // torus: hosts along each direction, the last fastest; tree: ports down and up of a switch
  double bandwidth = 0;    // bytes/s

  int n_links(int n_hosts) const;
  /// Appends the numbers of the links that a message takes.
  void add_links(int n_hosts, int from, int to, std::vector<int>& links) const;
  /// Throws InputError if the shape does not fit the number of hosts, or without a rate. `name` stands for the file in
  /// messages.
  void check(int n_hosts, const std::string& name) const;

  friend bool operator==(const Routes&, const Routes&) = default;
};

/// Returns "torus" or "tree".
const char* name_of(Routes::Kind kind);

}  // namespace tessera::machine
