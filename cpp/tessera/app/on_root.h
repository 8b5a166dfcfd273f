// What rank 0 does for all, and what each rank does alone, with one outcome for all.
#pragma once

#include <string>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"

namespace tessera::app {

/// Runs a function on the root; its error becomes everybody's. Collective.
template <class Function>
void on_root(const comm::Communicator& comm, Function&& function) {
  std::string input_problem, run_problem;
  if (comm.is_root()) {
    try {
      function();
    } catch (const InputError& error) {
      input_problem = error.what();
    } catch (const RunError& error) {
      run_problem = error.what();
    }
  }
  comm::agree_on_input(comm, input_problem);
  comm::agree_on_run(comm, run_problem);
}

/// Runs a function on each rank; the InputError of the lowest rank that has one becomes everybody's. Collective.
template <class Function>
void on_each_rank(const comm::Communicator& comm, Function&& function) {
  std::string problem;
  try {
    function();
  } catch (const InputError& error) {
    problem = error.what();
  }
  comm::agree_on_input(comm, problem);
}

}  // namespace tessera::app
