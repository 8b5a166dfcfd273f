#include "tessera/comm/mpi/datatype.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace tessera::comm::mpi {
namespace {

constexpr std::int64_t alignment = 64;           // bytes: a cache line, and more than any type asks for
constexpr std::int64_t largest_kept = 64 << 20;  // bytes of a storage between calls

int combiner_of(MPI_Datatype type) {
  int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner);
#else
  int integers = 0, addresses = 0, types = 0;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
#endif
  return combiner;
}

/// Returns the type that a copy or a run of one type was made from; the caller frees it if it is not predefined.
MPI_Datatype part_of(MPI_Datatype type) {
  MPI_Datatype part = MPI_DATATYPE_NULL;
#if MPI_VERSION >= 4
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  int combiner = 0;
  MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner);
  std::vector<int> values(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> places(static_cast<std::size_t>(addresses) + 1);
  std::vector<MPI_Count> counts(static_cast<std::size_t>(large) + 1);
  MPI_Type_get_contents_c(type, integers, addresses, large, types, values.data(), places.data(), counts.data(), &part);
#else
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  std::vector<int> values(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> places(static_cast<std::size_t>(addresses) + 1);
  MPI_Type_get_contents(type, integers, addresses, types, values.data(), places.data(), &part);
#endif
  return part;
}

/// Calls `step(address, count, offset in bytes)` for pieces that MPI can count.
template <class Step>
int in_pieces(const Data& data, const Element& element, Step&& step) {
  const std::int64_t most = std::max<std::int64_t>(1, largest_count / std::max<std::int64_t>(1, element.size));
  for (std::int64_t begin = 0; begin < data.count; begin += most) {
    const auto count = std::min(most, data.count - begin);
    if (count * element.size > 2 * largest_count - 1) return MPI_ERR_COUNT;
    auto* address = static_cast<std::byte*>(data.address) + begin * element.extent;
    if (const int code = step(address, static_cast<int>(count), begin * element.size); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace

Element element_of(MPI_Datatype type) {
  Element element;
  MPI_Count size = 0;
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  MPI_Type_size_x(type, &size);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  element.type = type;
  element.size = size;
  element.extent = extent;
  element.true_lower = true_lower;
  element.true_extent = true_extent;
  return element;
}

Element no_element() { return {MPI_BYTE, 0, 0, 0, 0, true}; }

bool is_predefined(MPI_Datatype type) { return combiner_of(type) == MPI_COMBINER_NAMED; }

/// Asks about a type that is not the kept one, and keeps it where it is predefined.
bool LatestType::keep(MPI_Datatype type) {
  if (!mpi::is_predefined(type)) return false;
  MPI_Count size = 0;
  MPI_Type_size_x(type, &size);
  kept_ = type;
  size_ = size;
  return true;
}

std::int64_t LatestType::size_of(MPI_Datatype type) {
  if (type == kept_ || keep(type)) return size_;
  MPI_Count size = 0;
  MPI_Type_size_x(type, &size);
  return size;
}

bool LatestType::is_predefined(MPI_Datatype type) { return type == kept_ || keep(type); }

bool is_plain(MPI_Datatype type) {
  const int combiner = combiner_of(type);
  if (combiner == MPI_COMBINER_NAMED) return !element_of(type).has_holes();
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
  MPI_Datatype part = part_of(type);
  const bool plain = is_plain(part);
  if (!is_predefined(part)) MPI_Type_free(&part);
  return plain;
}

std::int64_t Data::bytes() const {
  if (count == 0) return 0;  // the type may then be anything
  MPI_Count size = 0;
  MPI_Type_size_x(type, &size);
  return count * size;
}

int pack(const Data& from, std::byte* to, MPI_Comm comm) {
  if (from.count == 0) return MPI_SUCCESS;
  const auto element = element_of(from.type);
  if (is_plain(from.type)) {
    std::memcpy(to, from.address, static_cast<std::size_t>(from.count * element.size));
    return MPI_SUCCESS;
  }
  return in_pieces(from, element, [&](std::byte* address, int count, std::int64_t offset) {
    const auto bytes = static_cast<int>(count * element.size);
    int position = 0;
    const int code = MPI_Pack(address, count, from.type, to + offset, bytes, &position, comm);
    return code == MPI_SUCCESS && position != bytes ? MPI_ERR_INTERN : code;
  });
}

int unpack(const std::byte* from, const Data& to, MPI_Comm comm) {
  if (to.count == 0) return MPI_SUCCESS;
  const auto element = element_of(to.type);
  if (is_plain(to.type)) {
    std::memcpy(to.address, from, static_cast<std::size_t>(to.count * element.size));
    return MPI_SUCCESS;
  }
  return in_pieces(to, element, [&](std::byte* address, int count, std::int64_t offset) {
    int position = 0;
    return MPI_Unpack(from + offset, static_cast<int>(count * element.size), &position, address, count, to.type, comm);
  });
}

void Storage::Free::operator()(std::byte* memory) const { std::free(memory); }

std::byte* Storage::bytes(std::int64_t size) {
  if (size > size_) {
    const auto rounded = (size + alignment - 1) / alignment * alignment;
    memory_.reset();
    size_ = 0;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, static_cast<std::size_t>(rounded))));
    if (!memory_) throw std::bad_alloc();
    size_ = rounded;
  }
  return memory_.get();
}

std::byte* Storage::elements(const collectives::ElementRange& range, const Element& element) {
  if (range.is_empty()) return nullptr;
  const auto span = (range.length - 1) * element.extent;  // negative where elements go backwards
  const auto lowest = std::min<std::int64_t>(0, span) + element.true_lower;
  return bytes(std::abs(span) + element.true_extent) - lowest - range.begin * element.extent;
}

void Storage::trim() {
  if (size_ <= largest_kept) return;
  memory_.reset();
  size_ = 0;
}

}  // namespace tessera::comm::mpi
