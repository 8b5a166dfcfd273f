// What a bench tries: a method of the registry with its options, as people write it: "pdaw:writers=8:batch=50000".
#pragma once

#include <string>

#include "tessera/io/write/method.h"

namespace tessera::programs {

struct Candidate {
  std::string text;  // as it was written
  const io::write::Method* method = nullptr;
  io::write::WriteOptions options;
};

/// Reads NAME[:writers=N][:batch=ATOMS][:buffer=BYTES]; what is absent is as in `usual`. Throws InputError.
Candidate candidate_of(const std::string& text, const io::write::WriteOptions& usual);

}  // namespace tessera::programs
