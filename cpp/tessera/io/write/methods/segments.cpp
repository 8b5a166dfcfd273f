// Aggregated segments, the default: a few writers, one a host unless told otherwise, each with one file that it writes
// from beginning to end, and a checksum of it.
#include <algorithm>

#include "tessera/io/write/method.h"
#include "tessera/io/write/pieces.h"

namespace tessera::io::write {

namespace {

WritePlan plan(const WriteProblem& problem, const WriteOptions& options) {
  auto writers = options.writers > 0 ? spread(problem.n_ranks(), options.writers) : one_of_each_host(problem);
  if (static_cast<int>(writers.size()) > options.most_files) {
    std::vector<int> fewer;
    for (const int i : spread(static_cast<int>(writers.size()), options.most_files))
      fewer.push_back(writers[static_cast<std::size_t>(i)]);
    writers = std::move(fewer);
  }
  return divide(problem, options, writers, true);
}

void write(WriteJob& job) { write_pieces(job, true); }

}  // namespace

const Method segments{"segments", "files of a few writers, one a host, with checksums", true, any_format, plan, write};

}  // namespace tessera::io::write
