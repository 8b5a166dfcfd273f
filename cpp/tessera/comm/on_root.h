// What rank 0 does for all, and what each rank does alone, with one outcome for all.
#pragma once

#include <string>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Runs a function on each rank; the error of the lowest rank that has one becomes everybody's. Collective.
template <class Function>
void on_each_rank(const Communicator& comm, Function&& function) {
  std::string input_problem, run_problem;
  try {
    function();
  } catch (const InputError& error) {
    input_problem = error.what();
  } catch (const RunError& error) {
    run_problem = error.what();
  }
  agree_on_input(comm, input_problem);
  agree_on_run(comm, run_problem);
}

/// Runs a function on the root; its error becomes everybody's. Collective.
template <class Function>
void on_root(const Communicator& comm, Function&& function) {
  on_each_rank(comm, [&] {
    if (comm.is_root()) function();
  });
}

}  // namespace tessera::comm
