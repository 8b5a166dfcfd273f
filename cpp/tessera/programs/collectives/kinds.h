// Datatypes, operations and random data for checks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tessera::programs {

class Draws;

/// A datatype by its name. There are those of C that MPI knows, in lower case: "char", "unsigned long", "int64",
/// "bool", "float complex", "complex" (of doubles), "aint", "float_int", "2int" …; "contiguous", "vector" (with holes
/// and a lower bound) and "permuted", of three doubles; "struct" of char, double, int; "affine" and "affine-holes", a
/// map x → ax + b of 32-bit integers. Other names throw InputError.
class NamedType {
 public:
  explicit NamedType(const std::string& name);
  /// Makes a type of so many bytes an item, for data that are only moved.
  explicit NamedType(std::int64_t bytes);
  ~NamedType();
  NamedType(const NamedType&) = delete;
  NamedType& operator=(const NamedType&) = delete;

  MPI_Datatype type() const { return type_; }
  /// Returns how many elements hold as many numbers as an element of other types of this signature: 3 for "double".
  std::int64_t per_item() const { return per_item_; }
  void draw(Draws& draws) const { draw_(draws); }
  /// Clears the bytes of packed elements that are not part of a value.
  void tidy(std::vector<std::byte>& packed) const {
    if (tidy_) tidy_(packed);
  }

 private:
  void (*draw_)(Draws&) = nullptr;
  void (*tidy_)(std::vector<std::byte>&) = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  std::int64_t per_item_ = 1;
  bool is_ours_ = false;
};

/// An operation by its name: those of MPI in lower case, "user-sum" (of vectors) and "user-affine" (composition of
/// maps, which does not commute). Other names throw InputError.
class Operator {
 public:
  explicit Operator(const std::string& name);
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  MPI_Op op() const { return op_; }

 private:
  MPI_Op op_ = MPI_OP_NULL;
  bool is_ours_ = false;
};

/// Memory for `count` elements, between guards that nobody may touch.
class GuardedMemory {
 public:
  GuardedMemory(const NamedType& kind, std::int64_t count);
  /// Returns the address of element 0, for MPI.
  void* address() { return bytes_.data() + origin_; }
  /// Draws random values that the operation (empty: none) combines without rounding, unless they are to be `fractions`.
  void fill(std::mt19937_64& random, const std::string& operation, bool fractions);
  /// Returns elements as bytes in the order of the signature.
  std::vector<std::byte> packed(std::int64_t begin, std::int64_t count) const;
  /// Returns the same, with bytes that are not part of a value cleared.
  std::vector<std::byte> values(std::int64_t begin, std::int64_t count) const;
  /// Sets the values of all elements, in the order of the signature.
  void assign(const std::vector<std::byte>& values);
  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool are_guards_whole() const;
  /// Changes the lowest bit of the first number.
  void spoil() { bytes_.at(static_cast<std::size_t>(origin_)) ^= std::byte{1}; }

 private:
  const NamedType& kind_;
  std::int64_t count_, origin_ = 0, extent_ = 0, lowest_ = 0, highest_ = 0;  // bytes: where elements begin and end
  std::vector<std::byte> bytes_;
};

}  // namespace tessera::programs
