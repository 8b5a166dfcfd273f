#include "tessera/io/write/job.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::io::write {

WriteJob::WriteJob(const comm::Communicator& comm, Destination destination, const Frame& frame, const Atoms& atoms,
                   const Format& format, const WriteOptions& options, WriteProblem problem, WritePlan plan)
    : comm_(comm),
      destination_(std::move(destination)),
      frame_(frame),
      format_(format),
      options_(options),
      problem_(std::move(problem)),
      plan_(std::move(plan)),
      batches_(comm, problem_, options.order, atoms),
      n_atoms_(problem_.n_atoms()),
      header_(destination_.begin ? "" : format.header(frame, n_atoms_)) {}

void WriteJob::attempt(const std::function<void()>& work) {
  if (has_failed()) return;
  try {
    work();
  } catch (const InputError& error) {
    input_problem_ = error.what();
  } catch (const RunError& error) {
    run_problem_ = error.what();
  }
}

void WriteJob::attempt_together(const std::function<void(bool has_failed)>& work) {
  if (!has_failed()) {
    attempt([&] { work(false); });
    return;
  }
  try {
    work(true);
  } catch (const RunError&) {  // the first failure is the one that counts
  }
}

void WriteJob::note(const std::string& problem) {
  if (!problem.empty() && input_problem_.empty()) input_problem_ = problem;
}

void WriteJob::agree() const {
  comm::agree_on_input(comm_, input_problem_);
  comm::agree_on_run(comm_, run_problem_);
}

void WriteJob::format_pieces(Atoms atoms, std::int64_t first, std::int64_t n_calls, const TakeBytes& take) {
  const auto atom_bytes = static_cast<std::size_t>(format_.atom_bytes);
  const auto at_once = static_cast<std::size_t>(atoms_at_once());
  const auto* part = mine();
  for (std::int64_t call = 0; call < n_calls || !atoms.empty(); ++call) {
    const auto some = atoms.first(std::min(at_once, atoms.size()));
    atoms = atoms.subspan(some.size(), atoms.size() - some.size());
    auto offset = part ? part->offset + (first - part->first) * format_.atom_bytes : 0;
    std::size_t before = 0;  // the header stands before the first atom
    if (part == plan_.parts.data() && !is_header_written_) {
      is_header_written_ = true;
      before = header_.size();
      offset -= static_cast<std::int64_t>(before);
    }
    const auto n_bytes = before + some.size() * atom_bytes;
    buffer_.resize(std::max(buffer_.size(), n_bytes));
    std::copy_n(header_.begin(), before, buffer_.begin());
    format_.encode(frame_, some, buffer_.data() + before);
    first += static_cast<std::int64_t>(some.size());
    const bool is_cut = destination_.leaves_last_byte && first == n_atoms_ && !some.empty();
    take(std::as_bytes(std::span(buffer_.data(), n_bytes - (is_cut ? 1 : 0))), offset + destination_.begin.value_or(0));
  }
}

void WriteJob::write_batches(const TakeBytes& take) {
  const auto n_calls = (plan_.batch + atoms_at_once() - 1) / atoms_at_once();
  if (plan_.n_rounds == 0) format_pieces(Atoms{}, 0, 1, take);  // a header without atoms
  note(batches_.exchange(plan_,
                         [&](const Atoms& atoms, std::int64_t first) { format_pieces(atoms, first, n_calls, take); }));
}

void WriteJob::write_in_turn(const TakeBytes& take) {
  if (n_atoms_ == 0 && mine()) format_pieces(Atoms{}, 0, 1, take);
  take_in_turn([&](const Atoms& atoms, std::int64_t first) {
    if (mine()) format_pieces(atoms, first, 0, take);
  });
}

void WriteJob::take_batches(const TakeAtoms& take) { note(batches_.exchange(plan_, take)); }

void WriteJob::take_in_turn(const TakeAtoms& take) { note(batches_.in_turn(plan_, take)); }

}  // namespace tessera::io::write
