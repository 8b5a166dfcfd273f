// Keeps the results of trials in a file for later jobs, one line per question. They say how a transform is laid out,
// never how a line is transformed, so no bit of a result depends on them
// (docs/design/mesh.md#what-measured-times-may-decide).
#pragma once

#include <optional>
#include <string>

namespace tessera::fft {

struct Wisdom {
  std::string scheme, order;  // as in RankedPlan
  std::string exchange;
  double seconds = 0;  // per forward and backward transform
};

/// Returns $XDG_CACHE_HOME/tessera/fft.tsv, or the same below ~/.cache; empty without a home directory.
std::string default_wisdom_file();

/// Returns the answer to this question (one line, no tabs); nothing if the file has none or can't be read.
std::optional<Wisdom> recall(const std::string& file, const std::string& question);

/// Writes the answer and replaces an older one. The file is replaced as a whole, so that readers never see half of it.
/// Returns an error message, empty on success.
std::string keep(const std::string& file, const std::string& question, const Wisdom& wisdom);

}  // namespace tessera::fft
