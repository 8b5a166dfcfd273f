// Adds external forces to those of a rank's atoms.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/comm/communicator.h"
#include "tessera/md/accumulator.h"
#include "tessera/md/domain/domain.h"
#include "tessera/md/external/external_force.h"

namespace tessera::md::external {

class ExternalSum {
 public:
  /// Keeps references, which must outlive this.
  ExternalSum(const ExternalForces& forces, const domain::Domain& domain, const comm::Communicator& comm)
      : forces_(forces), domain_(domain), comm_(comm) {}

  /// Finds this rank's atoms, after a search or when there are other forces than before.
  void rebuild();
  /// Calls all functions. Collective where there are any.
  void add(Accumulator& accumulator);
  /// Returns the sum of what all functions returned last for an owned atom, kcal/mol/Å, for messages.
  Vec3 latest_on(std::int32_t slot) const;
  bool is_empty() const { return forces_.empty(); }

 private:
  /// An atom that this rank owns and a function is told of.
  struct OwnAtom {
    std::int32_t slot;
    std::size_t index;  // in what the function is told
    Vec3 latest{};      // force
  };

  const ExternalForces& forces_;
  const domain::Domain& domain_;
  const comm::Communicator& comm_;
  std::vector<std::vector<OwnAtom>> own_;  // by force
};

}  // namespace tessera::md::external
