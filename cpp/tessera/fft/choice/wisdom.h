// What trials have found, kept in a file for later jobs: one line a question. It says how a transform is laid out,
// never how a line is transformed, so no bit of a result depends on it (docs/decisions/0013).
#pragma once

#include <optional>
#include <string>

namespace tessera::fft {

struct Wisdom {
  std::string scheme, order;  // of a RankedPlan
  std::string exchange;
  double seconds = 0;  // of a forward and a backward transform
};

/// $XDG_CACHE_HOME/tessera/fft.tsv, or below ~/.cache; empty where there is no home.
std::string default_wisdom_file();

/// The answer to this question (one line, no tabs); none where the file has none or can't be read.
std::optional<Wisdom> recall(const std::string& file, const std::string& question);

/// Writes the answer, in place of an older one. The file is replaced as a whole, so that readers never see half of it.
/// Returns what went wrong; empty where nothing did.
std::string keep(const std::string& file, const std::string& question, const Wisdom& wisdom);

}  // namespace tessera::fft
