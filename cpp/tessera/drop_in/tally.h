// Counts calls and their times, for the report at the end of a program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "tessera/collectives/plan.h"

namespace tessera::drop_in {

class Tally {
 public:
  /// Notes a call of a class of sizes, which `bytes` stands for (0: nothing was planned), carried out `by` an entry or
  /// the MPI library. `saved` is the predicted time of the library less that of the entry.
  void add(collectives::Operation operation, std::int64_t bytes, const std::string& by, double seconds, double saved);
  void add(const Tally& other);
  bool is_empty() const { return rows_.empty(); }
  /// Returns a table for people, with a line for each operation, class and way of carrying it out.
  std::string text() const;

 private:
  struct Row {
    std::int64_t n_calls = 0;
    double seconds = 0, saved = 0;
  };
  std::map<std::tuple<collectives::Operation, std::int64_t, std::string>, Row> rows_;
};

}  // namespace tessera::drop_in
