// Defines the ways to lay a transform out over ranks: which box every rank has at each stage of the plan.
//
//   slab           two directions whole at once, then the third: one exchange, at most as many ranks as layers
//   pencil         one direction whole at a time: two exchanges in groups of about √ranks
//   2d_alltoall    volumetric: from bricks to lines, then like pencil: three exchanges
//   1d_alltoall    volumetric: from bricks to lines and back for each direction: five exchanges in groups of about
//                  ∛ranks
//
// There is one more exchange if the input is not distributed as the scheme expects. Any number of ranks and any mesh
// are allowed: shares are uneven, and some ranks stay idle if that evens the load.
//
// Sources: J. Jung, C. Kobayashi, T. Imamura, Y. Sugita, Comput. Phys. Commun. 200, 57 (2016),
//   doi:10.1016/j.cpc.2015.10.024; J. Jung et al., J. Comput. Chem. 40, 1919 (2019), doi:10.1002/jcc.25840, appendix A.
//   Cost: O(ranks log ranks).
#pragma once

#include <string_view>
#include <vector>

#include "tessera/fft/plan.h"

namespace tessera::fft {

struct Scheme {
  std::string_view name;
  std::string_view restrictions;
  TransformPlan (*plan)(const TransformProblem& problem);
};

const std::vector<Scheme>& schemes();

/// Returns the plan of the scheme of that name. Throws InputError if there is none or the problem can't be transformed.
TransformPlan plan_transform(std::string_view scheme, TransformProblem problem);

TransformPlan plan_slab(const TransformProblem& problem);
TransformPlan plan_pencil(const TransformProblem& problem);
TransformPlan plan_2d_alltoall(const TransformProblem& problem);
TransformPlan plan_1d_alltoall(const TransformProblem& problem);

}  // namespace tessera::fft
