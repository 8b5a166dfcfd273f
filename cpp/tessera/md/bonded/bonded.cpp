#include "tessera/md/bonded/bonded.h"

namespace tessera::md::bonded {

ForceTables make_force_tables(const model::ForceField& field) {
  ForceTables tables;
  model::for_each_kind([&](auto kind) {
    for (const auto& parameter : field.parameters[kind])
      tables[kind].push_back(Kernel<decltype(kind)>::prepare(parameter, field));
  });
  return tables;
}

void add_all(const Box& box, Positions position, std::span<const double> charge, const LocalTerms& terms,
             const ForceTables& tables, int thread, int n_threads, Accumulator& accumulator) {
  const Atoms atoms{box, position, charge};
  // Each list is divided by itself: its terms cost the same, so equal shares do too.
  model::for_each_kind([&](auto kind) {
    const std::int64_t n = terms[kind].size();
    const std::int64_t begin = n * thread / n_threads, end = n * (thread + 1) / n_threads;
    if (begin < end) Kernel<decltype(kind)>::add(atoms, terms[kind], begin, end, tables[kind], accumulator);
  });
}

}  // namespace tessera::md::bonded
