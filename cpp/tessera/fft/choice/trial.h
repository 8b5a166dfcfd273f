// The layout that is quickest when tried on the ranks themselves, where the model is not trusted: asked for, never done
// unasked. Layouts and exchanges agree bit for bit, so a result does not depend on what wins.
#pragma once

#include <string>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/choice/agree.h"
#include "tessera/fft/transform.h"

namespace tessera::fft {

/// As agree_on_plan; with the scheme "trial", the schemes that the model doesn't find far slower than the best are
/// timed, forward and backward, then the other exchanges with the quickest, where the request leaves the exchange open;
/// the quickest is taken, and later jobs on as many ranks, hosts and threads find it in
/// `wisdom_file` (of rank 0; empty: none). Collective.
template <class Real>
Agreed agree_or_try(const comm::Communicator& comm, ThreadPool& threads, const Problem& problem, const Request& request,
                    const TransformOptions& options, const std::string& wisdom_file);

}  // namespace tessera::fft
