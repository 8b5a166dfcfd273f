// Holds the long-range parts of electrostatics and of dispersion in the run's precision, or nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/md/accumulator.h"
#include "tessera/md/device/device_atoms.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/phases.h"
#include "tessera/md/pme/plan.h"
#include "tessera/md/settings.h"

namespace tessera::md::pme {

/// Computes the mesh parts of particle-mesh Ewald as a step uses them: electrostatics, and dispersion with
/// LjModifier::pme. Without electrostatics by PME it does nothing. A device computes what it can, with the same bits; once
/// it fails it is given up, and processors do what it should have and all that follows.
class Mesh {
 public:
  Mesh(const EngineSettings& settings, const std::optional<PmePlan>& plan, const domain::Domain& domain,
       const comm::Communicator& comm, ThreadPool& threads, const DeviceAtoms* on_device);
  ~Mesh();
  Mesh(Mesh&&) noexcept;

  /// Takes the charges by slot after a search; finds what dispersion has in their place.
  void rebuild(std::span<const double> charge);
  /// Adapts to a changed box; mesh points and splitting stay the same.
  void set_box(const Box& box);
  /// Lets a device begin to add forces to `total`, (slots,3) of its memory, if one computes the mesh.
  void start(std::int64_t* total, bool with_energies);
  /// Adds what a device that has ended did not: its energies, or all where there is none or it failed. Then it spreads, transforms, solves, transforms back and interpolates, each timed as its own phase. Returns a message if
  /// something went wrong on this rank (too much charge at a point, or an atom beyond its rank's reach), else an empty
  /// string, so that all ranks stay in step.
  [[nodiscard]] std::string add_forces(std::span<Accumulator> by_thread, Timers& timers);
  /// Adds the energies and the virial of a device that has ended, which has been asked for them.
  void add_sums_of_device(EnergyVirial& sums);
  std::size_t bytes() const;
  /// Tells whether there is a mesh, all of which a device computes.
  bool is_on_device() const;
  /// Tells whether there is a mesh of which processors compute any.
  bool needs_processors() const;
  /// Tells whether a device that has ended found more charge at a point than is allowed.
  bool had_too_much_charge() const;
  /// Lets a device tell the same of the forces before, and returns it once that has been waited for.
  void start_check();
  bool had_last_too_much_charge() const;
  /// Lets a device follow a search of its own.
  void follow_on_device(const Renumbering& to);
  /// Returns the bytes that are held on the device.
  std::int64_t device_bytes() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Returns what Mesh::device_bytes() will be on a rank that has so many slots, with a device.
std::int64_t planned_mesh_bytes_on_device(const EngineSettings& settings, const std::optional<PmePlan>& plan,
                                          std::int64_t slots);

/// Returns what Mesh::bytes() will be on a rank that has so many slots, owned and halo. Cost: O(ranks).
std::int64_t planned_mesh_bytes(const EngineSettings& settings, const std::optional<PmePlan>& plan,
                                const std::vector<int>& host_of_rank, int rank, std::int64_t slots);

}  // namespace tessera::md::pme
