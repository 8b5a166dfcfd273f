#include "tessera/io/write/method.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::io::write {

namespace {

const std::array all{&pdaw, &mpiw_independent, &mpiw_collective, &sdaw};

}  // namespace

std::span<const Method> methods() {
  static const auto copies = [] {
    std::vector<Method> list;
    for (const auto* one : all) list.push_back(*one);
    return list;
  }();
  return copies;
}

const Method& method(const std::string& name) { return find_named(methods(), name, "write method"); }

WritePlan plan_all_ranks(const WriteProblem& problem, const WriteOptions& options) {
  return divide(problem, options, spread(problem.n_ranks(), options.writers > 0 ? options.writers : problem.n_ranks()),
                false);
}

WritePlan plan_root(const WriteProblem& problem, const WriteOptions& options) {
  return divide(problem, options, {0}, false);
}

double predicted_seconds(const Method& method, const WriteProblem& problem, const WritePlan& plan,
                         const machine::FileSystem& system) {
  const auto bytes = static_cast<double>(problem.header_bytes + problem.n_atoms() * problem.atom_bytes);
  std::int64_t most = 0;
  for (const auto& part : plan.parts) most = std::max(most, part.n_atoms);
  const double formatted = static_cast<double>(most * problem.atom_bytes);
  return formatted / method.format_rate + bytes / system.raw + plan.n_files * system.file_seconds;
}

}  // namespace tessera::io::write
