// The long-range part of electrostatics, in the run's precision, or none.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/phases.h"
#include "tessera/md/plan.h"

namespace tessera::md::pme {

/// Particle mesh Ewald's mesh part as a step sees it. A mesh that was not asked for does nothing.
class Mesh {
 public:
  Mesh(const EngineSettings& settings, const Plan& plan, const domain::Domain& domain, const comm::Communicator& comm,
       ThreadPool& threads);
  ~Mesh();
  Mesh(Mesh&&) noexcept;

  /// Charges by slot after a search.
  void rebuild(std::span<const double> charge);
  /// The box has changed; mesh points and splitting stay.
  void set_box(const Box& box);
  /// Spread, transform, solve, transform back, interpolate: each timed as its own phase. Returns what went wrong on
  /// this rank (charges piled up, an atom out of its rank's reach), empty where nothing did: every rank stays in step.
  [[nodiscard]] std::string add_forces(std::span<Accumulator> by_thread, Timers& timers);
  std::size_t bytes() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// What Mesh::bytes() will be on a rank that has so many slots, owned and halo. Cost: O(ranks).
std::int64_t planned_mesh_bytes(const EngineSettings& settings, const Plan& plan, int rank, std::int64_t slots);

}  // namespace tessera::md::pme
