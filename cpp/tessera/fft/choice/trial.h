// Finds the fastest layout by trials on the ranks themselves, on request, for cases where the model is not trusted.
// Layouts and exchanges agree bit for bit, so a result does not depend on the winner.
#pragma once

#include <string>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/choice/agree.h"
#include "tessera/fft/transform.h"

namespace tessera::fft {

/// Does what agree_on_plan does. With the scheme "trial", it times the schemes that the model does not find far slower
/// than the best, forward and backward, and then the other exchanges with the fastest scheme, if the request leaves the
/// exchange open. The fastest is taken, and later jobs on as many ranks, hosts and threads find it in `wisdom_file` (on
/// rank 0; empty: none). Collective.
template <class Real>
Agreed agree_or_try(const comm::Communicator& comm, ThreadPool& threads, const TransformProblem& problem,
                    const TransformRequest& request, const TransformOptions& options, const std::string& wisdom_file);

}  // namespace tessera::fft
