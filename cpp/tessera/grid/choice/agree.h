// Chooses what the maker of an operator leaves open, the same on all ranks, by the map of the machine and by the rates
// of its cores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/grid/choice/choose.h"
#include "tessera/grid/halo.h"
#include "tessera/grid/layout.h"
#include "tessera/grid/stencil.h"
#include "tessera/machine/wires.h"

namespace tessera::grid {

/// What is known of a stencil's use when its operator is made.
struct ChoiceRequest {
  std::vector<std::string_view> approaches{"flat-optimized"};  // of which one is chosen
  std::int64_t fields = 64;                                    // that are given at once
  int threads = 1;                                             // of a rank
  CoreRates rates;
  Batching given;
};

/// Chooses the approach, batch and slope of least predicted time (choice/choose.h) on rank 0 for all ranks. `bytes`: of
/// a point; `wires`: the network under the ranks, on rank 0. Collective.
Choice agree_on_choice(const comm::Communicator& comm, const GridLayout& layout, const machine::Wires* wires,
                       const HaloShape& shape, std::int64_t bytes, const ChoiceRequest& request);

/// What the maker of an operator asks for; what is not given is chosen.
struct OperatorWish {
  std::string approach;  // empty: chosen
  Batching given;
  std::int64_t fields = 64;  // that are given at once
};

/// Returns the approach, batch and slope for a stencil. Rates are measured (choice/rates.h) where the choice depends on
/// them: not if all is given, nor for the approach without batches, nor for one rank with one thread, where all choices
/// are the same. Throws InputError on all ranks for unknown approaches. Collective.
template <class Real>
Choice choose_for_operator(const Stencil& stencil, std::int64_t components, const GridLayout& layout,
                           const machine::Wires* wires, const OperatorWish& wish, const comm::Communicator& comm,
                           ThreadPool& threads);

extern template Choice choose_for_operator<float>(const Stencil&, std::int64_t, const GridLayout&,
                                                  const machine::Wires*, const OperatorWish&, const comm::Communicator&,
                                                  ThreadPool&);
extern template Choice choose_for_operator<double>(const Stencil&, std::int64_t, const GridLayout&,
                                                   const machine::Wires*, const OperatorWish&,
                                                   const comm::Communicator&, ThreadPool&);

}  // namespace tessera::grid
