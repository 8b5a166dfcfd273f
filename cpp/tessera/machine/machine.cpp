#include "tessera/machine/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/machine/network_json.h"

namespace tessera::machine {
namespace {

constexpr const char* format_name = "tessera-machine";

using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

std::optional<int> count_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int n = hwloc_get_nbobjs_by_type(topology, type);
  return n > 0 ? std::optional(n) : std::nullopt;
}

std::optional<std::string> processor_name(hwloc_topology_t topology) {
  for (const auto type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE}) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, 0);
    const char* text = object ? hwloc_obj_get_info_by_name(object, "CPUModel") : nullptr;
    if (text && text[0]) return text;
  }
  return std::nullopt;
}

std::vector<Cache> caches_of(hwloc_topology_t topology) {
  std::vector<Cache> caches;
  constexpr std::array types = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const int n = hwloc_get_nbobjs_by_type(topology, types[i]);
    if (n <= 0) continue;
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology, types[i], 0);
    Cache cache{static_cast<int>(i) + 1, std::nullopt, std::nullopt, n};
    if (object->attr && object->attr->cache.size > 0) cache.bytes = static_cast<std::int64_t>(object->attr->cache.size);
    const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_CORE);
    if (cores > 0) cache.shared_by = cores;
    caches.push_back(cache);
  }
  return caches;
}

std::string bytes_text(std::int64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return value < 10 ? fmt::format("{:.1f} {}", value, unit) : fmt::format("{:.0f} {}", value, unit);
}

template <class Value>
nlohmann::json json_of(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// Reads a member that may be absent or null; throws if its type is wrong.
template <class Value>
void read(const nlohmann::json& json, const std::string& file, const char* key, std::optional<Value>& value) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return;
  bool fits = false;
  if constexpr (std::is_same_v<Value, std::string>)
    fits = found->is_string();
  else
    fits = found->is_number_integer() && *found >= 0;
  if (!fits)
    throw InputError(fmt::format("{}: {} is {}, expected {} or null", file, key, found->dump(),
                                 std::is_same_v<Value, std::string> ? "text" : "a whole number"));
  value = found->template get<Value>();
}

}  // namespace

Machine describe_this_host() {
  Machine machine;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) machine.name = host.data();
  machine.nodes = 1;
  const auto supported = static_cast<std::int64_t>(hwy::SupportedTargets());
  if (supported != 0) machine.simd = hwy::TargetName(supported & -supported);  // the lowest bit is the best set

  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return machine;
  const Topology topology(raw, &hwloc_topology_destroy);
  // The whole machine is described, even if a container or a scheduler restricts the process to a part of it.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(raw) != 0) return machine;
  machine.sockets = count_of(raw, HWLOC_OBJ_PACKAGE);
  machine.numa_nodes = count_of(raw, HWLOC_OBJ_NUMANODE);
  machine.cores = count_of(raw, HWLOC_OBJ_CORE);
  machine.threads = count_of(raw, HWLOC_OBJ_PU);
  const auto bound =
      std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  int usable = hwloc_get_cpubind(raw, bound.get(), HWLOC_CPUBIND_PROCESS) == 0 ? hwloc_bitmap_weight(bound.get()) : -1;
  if (usable <= 0) usable = hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(raw));
  if (usable > 0) machine.usable_threads = usable;
  const auto memory = static_cast<std::int64_t>(hwloc_get_root_obj(raw)->total_memory);
  if (memory > 0) machine.memory_bytes = memory;
  machine.caches = caches_of(raw);
  machine.processor = processor_name(raw);
  return machine;
}

std::string Machine::summary() const {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<int>& n, const char* one, const char* many) {
    if (n) parts.push_back(fmt::format("{} {}", *n, *n == 1 ? one : many));
  };
  if (nodes && *nodes > 1) add(nodes, "node", "nodes");
  if (processor) parts.push_back(*processor);
  add(sockets, "socket", "sockets");
  add(cores, "core", "cores");
  add(threads, "thread", "threads");
  if (usable_threads && usable_threads != threads) parts.push_back(fmt::format("{} usable", *usable_threads));
  if (simd) parts.push_back(*simd);
  if (!caches.empty() && caches.back().bytes)
    parts.push_back(fmt::format("L{} {}", caches.back().level, bytes_text(*caches.back().bytes)));
  if (memory_bytes) parts.push_back(bytes_text(*memory_bytes));
  return fmt::format("{}: {}", name.empty() ? "unknown host" : name,
                     parts.empty() ? "nothing known" : fmt::format("{}", fmt::join(parts, ", ")));
}

nlohmann::json to_json(const Machine& machine) {
  nlohmann::json caches = nlohmann::json::array();
  for (const auto& cache : machine.caches)
    caches.push_back({{"level", cache.level},
                      {"bytes", json_of(cache.bytes)},
                      {"shared_by", json_of(cache.shared_by)},
                      {"count", json_of(cache.count)}});
  return {{"format", format_name},
          {"version", Machine::version},
          {"name", machine.name},
          {"nodes", json_of(machine.nodes)},
          {"sockets", json_of(machine.sockets)},
          {"numa_nodes", json_of(machine.numa_nodes)},
          {"cores", json_of(machine.cores)},
          {"threads", json_of(machine.threads)},
          {"usable_threads", json_of(machine.usable_threads)},
          {"memory_bytes", json_of(machine.memory_bytes)},
          {"caches", std::move(caches)},
          {"processor", json_of(machine.processor)},
          {"simd", json_of(machine.simd)},
          {"network", machine.network ? to_json(*machine.network) : nlohmann::json(nullptr)}};
}

Machine machine_from_json(const nlohmann::json& json, const std::string& name) {
  if (!json.is_object() || json.value("format", nlohmann::json()) != format_name)
    throw InputError(fmt::format("{}: is not a machine file; expected \"format\": \"{}\"", name, format_name));
  const auto version = json.value("version", nlohmann::json());
  if (version != Machine::version)
    throw InputError(fmt::format(
        "{}: is a machine file of version {}, this tessera reads version {}: {}", name, version.dump(),
        Machine::version,
        version > Machine::version ? "use a newer tessera" : "measure again with `tessera machine measure -o MAP`"));
  Machine machine;
  std::optional<std::string> host;
  read(json, name, "name", host);
  machine.name = host.value_or("");
  read(json, name, "nodes", machine.nodes);
  read(json, name, "sockets", machine.sockets);
  read(json, name, "numa_nodes", machine.numa_nodes);
  read(json, name, "cores", machine.cores);
  read(json, name, "threads", machine.threads);
  read(json, name, "usable_threads", machine.usable_threads);
  read(json, name, "memory_bytes", machine.memory_bytes);
  read(json, name, "processor", machine.processor);
  read(json, name, "simd", machine.simd);
  const auto caches = json.find("caches");
  if (caches != json.end() && !caches->is_null()) {
    if (!caches->is_array()) throw InputError(fmt::format("{}: caches is not a list", name));
    for (const auto& entry : *caches) {
      if (!entry.is_object())
        throw InputError(fmt::format("{}: caches holds {}, expected objects", name, entry.dump()));
      Cache cache;
      std::optional<int> level;
      read(entry, name, "level", level);
      if (!level) throw InputError(fmt::format("{}: a cache without level: {}", name, entry.dump()));
      cache.level = *level;
      read(entry, name, "bytes", cache.bytes);
      read(entry, name, "shared_by", cache.shared_by);
      read(entry, name, "count", cache.count);
      machine.caches.push_back(cache);
    }
  }
  const auto network = json.find("network");
  if (network != json.end() && !network->is_null()) machine.network = network_from_json(*network, name);
  return machine;
}

}  // namespace tessera::machine
