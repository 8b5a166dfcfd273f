#include "tessera/md/pair/pair_scheme.h"

#include <fmt/format.h>

#include <string>

#include "tessera/base/error.h"
#include "tessera/md/pair/cells/cell_schemes.h"
#include "tessera/md/pair/clusters/cluster_scheme.h"

namespace tessera::md::pair {

namespace {

using cells::Layout;

constexpr PairScheme schemes[] = {
    {"cluster", "4 × 4 clusters, SIMD, single precision inside a cluster pair, fixed point across", Precision::mixed,
     false, true, make_cluster_scheme, plan_cluster_scheme},
    {"cell_flag_soa", "one flag per atom and cell, whole cells evaluated; x, y and z in arrays of their own",
     Precision::mixed, true, false, cells::make_cell_flag_scheme<Layout::structure_of_arrays>,
     cells::plan_cell_flag_scheme},
    {"cell_flag_aos", "the same with x y z of each atom together", Precision::mixed, true, false,
     cells::make_cell_flag_scheme<Layout::array_of_structures>, cells::plan_cell_flag_scheme},
    {"list_soa", "a list of neighbours per atom and cell; x, y and z in arrays of their own", Precision::mixed, true,
     false, cells::make_list_scheme<Layout::structure_of_arrays>, cells::plan_list_scheme},
    {"list_aos", "the same with x y z of each atom together", Precision::mixed, true, false,
     cells::make_list_scheme<Layout::array_of_structures>, cells::plan_list_scheme},
    {"reference", "one pair at a time in double precision", Precision::double_precision, false, true,
     make_reference_scheme, plan_reference_scheme},
};

}  // namespace

std::span<const PairScheme> pair_schemes() { return schemes; }

const PairScheme& find_pair_scheme(std::string_view name, Precision precision, PairFunction function, LjModifier lj,
                                   bool with_potentials) {
  std::string known, serving;
  bool is_known = false;
  for (const auto& scheme : schemes) {
    const bool serves = scheme.serves(precision, function, lj, with_potentials);
    if (serves && (name == "auto" || scheme.name == name)) return scheme;
    is_known |= scheme.name == name;
    known += fmt::format(" {}", scheme.name);
    if (serves) serving += fmt::format(" {}", scheme.name);
  }
  const auto wanted = fmt::format("parallel.precision = \"{}\" and interactions.pair_function = \"{}\"{}",
                                  names_of(precision)[static_cast<std::size_t>(precision)],
                                  names_of(function)[static_cast<std::size_t>(function)],
                                  with_potentials         ? " for a system with pair potentials"
                                  : lj == LjModifier::pme ? " and interactions.lj = \"pme\""
                                                          : "");
  if (serving.empty()) throw InputError(fmt::format("no pair scheme has {} together: change one of them", wanted));
  if (!is_known) throw InputError(fmt::format("parallel.pair_scheme is '{}'; known schemes: auto{}", name, known));
  throw InputError(fmt::format("parallel.pair_scheme is '{}', which does not have {}; schemes that do: auto{}", name,
                               wanted, serving));
}

}  // namespace tessera::md::pair
