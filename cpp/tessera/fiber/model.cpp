#include "tessera/fiber/model.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"

namespace tessera::fiber {

namespace {

bool is_stiff(const Springs& springs) {
  for (const double value : {springs.length, springs.across, springs.along, springs.bend, springs.twist})
    if (!(value > 0) || !std::isfinite(value)) return false;
  return true;
}

bool is_whole(const Tail& tail) {
  const auto& [length, stretch, angle, bend] = tail.springs;
  for (const double value : {length, stretch, bend})
    if (!(value > 0) || !std::isfinite(value)) return false;
  for (const double charge : tail.charges)
    if (!std::isfinite(charge)) return false;
  return angle > 0 && angle <= std::numbers::pi && !tail.charges.empty() && std::isfinite(norm2(tail.place));
}

}  // namespace

void check(const Model& model) {
  const auto fail = [](const std::string& what) { throw InputError("a fibre's model: " + what); };
  if (model.size() == 0) fail("it has no node, expected at least one");
  if (model.steps.size() + 1 != model.size())
    fail(fmt::format("{} nodes and {} steps, expected one step fewer", model.size(), model.steps.size()));
  for (const std::size_t kind : model.kind)
    if (kind >= model.kinds.size())
      fail(fmt::format("a node has the kind {}, expected below {}", kind, model.kinds.size()));
  for (const Kind& kind : model.kinds)
    for (const Tail& tail : kind.tails)
      if (!is_whole(tail))
        fail("a tail has no bead, a place or a charge that is no number, or springs that are not positive numbers");
  for (std::size_t at = 0; at < model.steps.size(); ++at)
    if (!is_stiff(model.steps[at].springs))
      fail(fmt::format("step {} has a length or a spring that is not a positive number", at + 1));
  if (!model.anchors.empty() && model.anchors.size() != model.size())
    fail(fmt::format("{} anchors for {} nodes", model.anchors.size(), model.size()));
  for (const Anchor& anchor : model.anchors)
    if (!std::isfinite(norm2(anchor.place)) || !(anchor.stiffness >= 0) || !std::isfinite(anchor.stiffness))
      fail(fmt::format("an anchor is at ({}, {}, {}) Å with {} kT/Å², expected numbers, the last from 0",
                       anchor.place.x, anchor.place.y, anchor.place.z, anchor.stiffness));
  if (!(model.diameter >= 0) || !std::isfinite(model.diameter))
    fail(fmt::format("the diameter of spheres is {} Å, expected a number from 0", model.diameter));
  if (!(model.bead_diameter >= 0) || !std::isfinite(model.bead_diameter))
    fail(fmt::format("the diameter of beads of tails is {} Å, expected a number from 0", model.bead_diameter));
  if (!(model.radius > 0) || !(model.reach > 0))
    fail(fmt::format("the radius of the whole is {} Å and the reach of a move {}, expected above 0", model.radius,
                     model.reach));
}

}  // namespace tessera::fiber
