// Who holds how much of a rank's memory: one list of owners, for what is measured (Engine::memory()) and for what is
// planned (planned_memory.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::md {

struct MemoryUse {
  std::string_view owner;
  std::int64_t bytes;
};

/// The names of owners in the order of reports.
namespace memory_owners {
inline constexpr std::string_view atoms = "atoms and halo";
inline constexpr std::string_view templates = "templates";  // of the whole system, with what is derived from them
inline constexpr std::string_view bonded = "bonded terms and groups";
inline constexpr std::string_view forces = "forces";
inline constexpr std::string_view pair_atoms = "pairs: atoms as kernels see them";
inline constexpr std::string_view pair_list = "pairs: list";
inline constexpr std::string_view pair_forces = "pairs: forces by thread";
inline constexpr std::string_view mesh = "mesh";
}  // namespace memory_owners

}  // namespace tessera::md
