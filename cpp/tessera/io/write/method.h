// The registry of write methods (Todorov et al.): name, plan, cost and function of each. All make one file, by the same
// formatter and buffers, so that only the method differs. programs/io has more of them, which nothing but a bench uses.
#pragma once

#include <span>
#include <string>

#include "tessera/io/write/job.h"
#include "tessera/io/write/plan.h"
#include "tessera/machine/storage/file_system.h"

namespace tessera::io::write {

struct Method {
  const char* name;
  const char* about;  // one line
  bool (*can)(const Format& format);
  /// Says who writes which bytes.
  WritePlan (*plan)(const WriteProblem& problem, const WriteOptions& options);
  /// Writes the file. Throws the same InputError or RunError on all ranks; what was there then stands. Collective.
  void (*write)(WriteJob& job);
  double format_rate = 1e9;  // bytes/s that a core formats
};

std::span<const Method> methods();
/// Finds a method by its name. Throws InputError, which names the nearest known one, where there is none.
const Method& method(const std::string& name);

/// Returns the time (s) that a plan should take on a file system: what its busiest writer formats, what the disk takes,
/// and the files. It is for methods that were not measured there.
double predicted_seconds(const Method& method, const WriteProblem& problem, const WritePlan& plan,
                         const machine::FileSystem& system);

// The entries, in the folder methods.
extern const Method sdaw, pdaw, mpiw_independent, mpiw_collective;

/// Returns true: the restriction of entries that write any format.
inline bool any_format(const Format&) { return true; }

/// Plans the writers of a method that likes all ranks to write, into one file.
WritePlan plan_all_ranks(const WriteProblem& problem, const WriteOptions& options);
/// Plans that the root alone writes.
WritePlan plan_root(const WriteProblem& problem, const WriteOptions& options);

}  // namespace tessera::io::write
