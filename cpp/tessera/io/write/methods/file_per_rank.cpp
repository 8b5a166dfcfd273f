// A file for each rank: the distributed dump of Todorov et al.
#include "tessera/io/write/method.h"
#include "tessera/io/write/pieces.h"

namespace tessera::io::write {

namespace {

WritePlan plan(const WriteProblem& problem, const WriteOptions& options) {
  return divide(problem, options, spread(problem.n_ranks(), problem.n_ranks()), true);
}

void write(WriteJob& job) { write_pieces(job, false); }

}  // namespace

const Method file_per_rank{"file-per-rank", "a file for each rank, in one folder", true, any_format, plan, write};

}  // namespace tessera::io::write
