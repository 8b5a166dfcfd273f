// MPI datatypes as the collective operations use them. What is only moved travels as bytes, so that ranks may describe
// the same data by different types; what is combined travels as elements, because the operation must know them.
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tessera/collectives/plan.h"

namespace tessera::comm::mpi {

/// Counts of MPI 3 are int, so longer messages are cut into pieces of so many elements.
constexpr std::int64_t largest_count = std::int64_t{1} << 30;

/// The elements of vectors.
struct Element {
  MPI_Datatype type = MPI_BYTE;
  std::int64_t size = 1;         // bytes that travel
  std::int64_t extent = 1;       // bytes from one to the next in memory
  std::int64_t true_lower = 0;   // first byte used, from its address
  std::int64_t true_extent = 1;  // bytes from there to the last used
  bool is_empty = false;         // messages carry no bytes; they travel for the order that they bring (barrier)

  bool has_holes() const { return size != extent || true_lower != 0 || true_extent != extent; }
};

/// Returns the bytes at an address of MPI's functions, which say const also where a plan's ranges are read alone.
inline std::byte* bytes_at(const void* address) { return static_cast<std::byte*>(const_cast<void*>(address)); }

/// Describes a valid datatype.
Element element_of(MPI_Datatype type);
Element no_element();

/// Tells whether bytes in memory are the data in the order of the type's signature, as for a predefined type or a run
/// of such. A type that permutes its parts has no holes either, but is not plain.
bool is_plain(MPI_Datatype type);
bool is_predefined(MPI_Datatype type);

/// Answers what each call asks about its type, and keeps the answers about the latest predefined one: that is never
/// freed, so its handle stays its own.
class LatestType {
 public:
  std::int64_t size_of(MPI_Datatype type);  // bytes that travel
  bool is_predefined(MPI_Datatype type);

 private:
  bool keep(MPI_Datatype type);

  MPI_Datatype kept_ = MPI_DATATYPE_NULL;
  std::int64_t size_ = 0;
};

/// The counts or places of all ranks, of 32 or 64 bits as MPI's functions take them; none where the argument is not used
/// on this rank.
class Integers {
 public:
  Integers() = default;
  template <std::signed_integral Integer>
  Integers(const Integer* values) : values_(values), are_wide_(sizeof(Integer) == 8) {
    static_assert(sizeof(Integer) == 8 || sizeof(Integer) == 4);
  }
  explicit operator bool() const { return values_ != nullptr; }
  std::int64_t operator[](std::ptrdiff_t rank) const {
    return are_wide_ ? value_at<std::int64_t>(rank) : value_at<std::int32_t>(rank);
  }

 private:
  template <class Integer>
  Integer value_at(std::ptrdiff_t rank) const {
    Integer value;
    std::memcpy(&value, static_cast<const std::byte*>(values_) + rank * std::ptrdiff_t{sizeof value}, sizeof value);
    return value;
  }

  const void* values_ = nullptr;
  bool are_wide_ = true;
};

/// `count` elements of a type in a user's memory.
struct Data {
  void* address = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_BYTE;

  std::int64_t bytes() const;  // that travel
};

/// Copies data between a user's memory and plain bytes in the order of the signature, and returns an MPI error code.
int pack(const Data& from, std::byte* to, MPI_Comm comm);
int unpack(const std::byte* from, const Data& to, MPI_Comm comm);

/// Storage that is kept from call to call, unless it is very large. Its contents are not kept.
class Storage {
 public:
  /// Returns so many bytes, which are valid until the next call.
  std::byte* bytes(std::int64_t size);
  /// Keeps these elements, and returns the address at which element 0 would be; null where the range is empty.
  std::byte* elements(const collectives::ElementRange& range, const Element& element);
  /// Frees the memory where there is much of it.
  void trim();

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t size_ = 0;
};

}  // namespace tessera::comm::mpi
