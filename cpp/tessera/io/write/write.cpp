#include "tessera/io/write/write.h"

#include <fmt/format.h>

#include <map>

#include "tessera/base/error.h"

namespace tessera::io::write {

namespace {

/// Returns what is wrong on this rank; empty if nothing is.
std::string problem_with(const Frame& frame, const Atoms& atoms, const Format& format, const Method& method,
                         const WriteOptions& options, std::int64_t n_atoms) {
  if (auto problem = problem_with_options(format, method, options); !problem.empty()) return problem;
  if (format.has_blocks)
    return fmt::format("the format {} is one of frames, not of a configuration; choose another", format.name);
  if (!atoms.empty() && atoms.row_size() != row_bytes(format.level))
    return fmt::format("the format {} holds {}, and these atoms have {} numbers; choose another", format.name,
                       format.level == 0 ? "positions alone" : "more than positions",
                       (atoms.row_size() - row_bytes(0)) / sizeof(double) + 3);
  for (const auto& atom : atoms) {
    if (options.order == Order::sorted && (atom.id < 1 || atom.id > n_atoms))
      return fmt::format("an atom has the number {}; {} atoms that are sorted have the numbers from 1 to {}", atom.id,
                         n_atoms, n_atoms);
    if (atom.species < 0 || atom.species >= std::ssize(frame.species))
      return fmt::format("atom {} is of species {}, but there are {}", atom.id, atom.species, frame.species.size());
  }
  return {};
}

}  // namespace

std::string problem_with_options(const Format& format, const Method& method, const WriteOptions& options) {
  if (!method.can(format))
    return fmt::format("{} can't write the format {}; choose another method", method.name, format.name);
  if (!format.has_numbers && options.order == Order::owned)
    return fmt::format("the format {} has no numbers of atoms, so their order must be sorted; found owned",
                       format.name);
  if (options.batch < 1 || options.buffer < 1 || options.writers < 0 || options.most_files < 1)
    return fmt::format(
        "a batch of {} atoms, a buffer of {} bytes, {} writers and at most {} files were asked for; "
        "expected 1 or more, and of writers 0 or more",
        options.batch, options.buffer, options.writers, options.most_files);
  return {};
}

WriteProblem problem_of(const comm::Communicator& comm, const Frame& frame, std::int64_t n_own, const Format& format) {
  WriteProblem problem;
  problem.owned.resize(static_cast<std::size_t>(comm.size()));
  const std::vector<std::int64_t> sizes(problem.owned.size(), sizeof n_own);
  comm.all_gather(std::as_bytes(std::span(&n_own, 1)), sizes, comm::writable_bytes_of(problem.owned));
  std::map<std::string, int> numbers;
  for (const auto& name : comm.all_gather(comm::bytes_of(comm::Communicator::host())))
    problem.hosts.push_back(
        numbers.emplace(std::string(reinterpret_cast<const char*>(name.data()), name.size()), std::ssize(numbers))
            .first->second);
  problem.header_bytes = std::ssize(format.header(frame, problem.n_atoms()));
  problem.atom_bytes = format.atom_bytes;
  problem.level = format.level;
  return problem;
}

WriteReport write_frame(const comm::Communicator& comm, const std::string& path, const Frame& frame, const Atoms& atoms,
                        const Format& format, const Method& method, const WriteOptions& options) {
  auto problem = problem_of(comm, frame, static_cast<std::int64_t>(atoms.size()), format);
  const auto n_atoms = problem.n_atoms();
  comm::agree_on_input(comm, problem_with(frame, atoms, format, method, options, n_atoms));
  auto plan = method.plan(problem, options);
  const WriteReport report{problem.header_bytes + n_atoms * problem.atom_bytes, static_cast<int>(plan.parts.size()),
                           plan.n_files};
  WriteJob job(comm, {path}, frame, atoms, format, options, std::move(problem), std::move(plan));
  method.write(job);
  return report;
}

}  // namespace tessera::io::write
