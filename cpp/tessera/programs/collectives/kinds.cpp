#include "tessera/programs/collectives/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/datatype.h"

namespace tessera::programs {

/// Draws the values of elements in the order of their signature.
class Draws {
 public:
  Draws(std::mt19937_64& random, const std::string& operation, bool fractions)
      : random_(random), operation_(operation), fractions_(fractions) {}

  const std::vector<std::byte>& bytes() const { return bytes_; }

  template <class Value>
  void add(Value value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }

  template <class Value>
  void bits() {
    add(static_cast<Value>(random_()));
  }

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  /// Draws a number, so small that sums of 16 ranks fit a byte, and products of as many fit a float.
  template <class Value>
  void number() {
    if constexpr (std::is_same_v<Value, bool>) {
      add(below(2) == 1);
    } else if constexpr (!std::is_arithmetic_v<Value>) {
      using Real = typename Value::value_type;
      const auto part = [&] { return static_cast<Real>(below(3)) - 1; };
      const auto real = part();
      add(Value(real, part()));
    } else if (std::is_same_v<Value, double> && fractions_) {
      add(std::uniform_real_distribution<>(-1, 1)(random_));
    } else if (operation_ == "prod") {
      const auto draw = below(16);
      add(static_cast<Value>(draw < 11 ? 1 : draw < 14 ? -1 : 2));
    } else if (std::is_integral_v<Value> && operation_.starts_with('b')) {
      bits<Value>();
    } else {
      add(static_cast<Value>(static_cast<int>(below(15)) - (std::is_signed_v<Value> ? 7 : 0)));
    }
  }

 private:
  std::mt19937_64& random_;
  const std::string& operation_;
  bool fractions_;
  std::vector<std::byte> bytes_;
};

namespace {

constexpr std::int64_t guard = 64;  // bytes
constexpr std::byte untouched{0xA5};

MPI_Datatype resized(MPI_Datatype inner, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(inner, lower, extent, &type);
  MPI_Type_free(&inner);
  MPI_Type_commit(&type);
  return type;
}

MPI_Datatype derived(const std::string& name) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (name == "contiguous") {
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
  } else if (name == "vector") {
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &type);
    return resized(type, -8, 64);
  } else if (name == "permuted") {
    const int places[]{2, 0, 1};
    MPI_Type_create_indexed_block(3, 1, places, MPI_DOUBLE, &type);
  } else if (name == "struct") {
    const int lengths[]{1, 1, 1};
    const MPI_Aint places[]{4, 16, 32};
    const MPI_Datatype parts[]{MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Type_create_struct(3, lengths, places, parts, &type);
    return resized(type, 0, 48);
  } else if (name == "affine") {
    MPI_Type_contiguous(2, MPI_UINT32_T, &type);
  } else if (name == "affine-holes") {
    const MPI_Aint places[]{4, 12};
    MPI_Type_create_hindexed_block(2, 1, places, MPI_UINT32_T, &type);
    return resized(type, -4, 24);
  } else {
    return MPI_DATATYPE_NULL;
  }
  MPI_Type_commit(&type);
  return type;
}

// The functions of user-defined operations find the layout of elements from the extent of the type.

void add_vectors(void* in, void* inout, int* length, MPI_Datatype* type) {
  const auto extent = comm::mpi::element_of(*type).extent;
  const std::int64_t stride = extent == 64 ? 16 : 8;
  for (std::int64_t i = 0; i < *length; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto at = i * extent + j * stride;
      *reinterpret_cast<double*>(static_cast<std::byte*>(inout) + at) +=
          *reinterpret_cast<const double*>(static_cast<const std::byte*>(in) + at);
    }
}

/// Applies the left map first, then the right one: x → c(ax + b) + d.
void compose_maps(void* in, void* inout, int* length, MPI_Datatype* type) {
  const auto extent = comm::mpi::element_of(*type).extent;
  const std::int64_t first = extent == 24 ? 4 : 0, second = extent == 24 ? 12 : 4;
  for (std::int64_t i = 0; i < *length; ++i) {
    const auto* left = static_cast<const std::byte*>(in) + i * extent;
    auto* right = static_cast<std::byte*>(inout) + i * extent;
    const auto a = *reinterpret_cast<const std::uint32_t*>(left + first);
    const auto b = *reinterpret_cast<const std::uint32_t*>(left + second);
    auto& c = *reinterpret_cast<std::uint32_t*>(right + first);
    auto& d = *reinterpret_cast<std::uint32_t*>(right + second);
    d += c * b;
    c *= a;
  }
}

/// A predefined datatype of MPI, or one of our own (type null: derived() makes it).
struct TypeRow {
  MPI_Datatype type;
  void (*draw)(Draws&);
  void (*tidy)(std::vector<std::byte>&) = nullptr;
};

/// Clears the bytes of packed values, `stride` bytes apart, that are not part of a value: all but ten bytes of x86's
/// long double, and the sign of a zero, which depends on the order of multiplications.
template <class Real, std::size_t stride = sizeof(Real), bool has_sign_of_zero = true>
void tidy(std::vector<std::byte>& packed) {
  for (std::size_t at = 0; at < packed.size(); at += stride) {
    Real value = 0;
    std::memcpy(&value, packed.data() + at, sizeof value);
    if (!has_sign_of_zero) value += Real{0};
    std::memcpy(packed.data() + at, &value, sizeof value);
    constexpr bool has_ten_bytes = std::is_same_v<Real, long double> && std::numeric_limits<Real>::digits == 64;
    if (has_ten_bytes) std::memset(packed.data() + at + 10, 0, sizeof value - 10);
  }
}

template <class... Parts>
void numbers(Draws& draws) {
  (draws.number<Parts>(), ...);
}

template <class... Parts>
void bits(Draws& draws) {
  (draws.bits<Parts>(), ...);
}

/// Draws a number that several ranks often draw, and its place.
template <class Number>
void pair(Draws& draws) {
  draws.add(static_cast<Number>(draws.below(3)));
  draws.add(static_cast<int>(draws.below(100)));
}

const TypeRow& row_of(const std::string& name) {
  static const std::map<std::string, TypeRow> rows{
      {"char", {MPI_CHAR, bits<char>}},
      {"wchar", {MPI_WCHAR, bits<wchar_t>}},
      {"byte", {MPI_BYTE, bits<unsigned char>}},
      {"bool", {MPI_C_BOOL, numbers<bool>}},
      {"signed char", {MPI_SIGNED_CHAR, numbers<signed char>}},
      {"short", {MPI_SHORT, numbers<short>}},
      {"int", {MPI_INT, numbers<int>}},
      {"long", {MPI_LONG, numbers<long>}},
      {"long long", {MPI_LONG_LONG, numbers<long long>}},
      {"unsigned char", {MPI_UNSIGNED_CHAR, numbers<unsigned char>}},
      {"unsigned short", {MPI_UNSIGNED_SHORT, numbers<unsigned short>}},
      {"unsigned", {MPI_UNSIGNED, numbers<unsigned>}},
      {"unsigned long", {MPI_UNSIGNED_LONG, numbers<unsigned long>}},
      {"unsigned long long", {MPI_UNSIGNED_LONG_LONG, numbers<unsigned long long>}},
      {"int8", {MPI_INT8_T, numbers<std::int8_t>}},
      {"int16", {MPI_INT16_T, numbers<std::int16_t>}},
      {"int32", {MPI_INT32_T, numbers<std::int32_t>}},
      {"int64", {MPI_INT64_T, numbers<std::int64_t>}},
      {"uint8", {MPI_UINT8_T, numbers<std::uint8_t>}},
      {"uint16", {MPI_UINT16_T, numbers<std::uint16_t>}},
      {"uint32", {MPI_UINT32_T, numbers<std::uint32_t>}},
      {"uint64", {MPI_UINT64_T, numbers<std::uint64_t>}},
      {"aint", {MPI_AINT, numbers<MPI_Aint>}},
      {"offset", {MPI_OFFSET, numbers<MPI_Offset>}},
      {"count", {MPI_COUNT, numbers<MPI_Count>}},
      {"float", {MPI_FLOAT, numbers<float>}},
      {"double", {MPI_DOUBLE, numbers<double>}},
      {"long double", {MPI_LONG_DOUBLE, numbers<long double>, tidy<long double>}},
      {"float complex", {MPI_C_FLOAT_COMPLEX, numbers<std::complex<float>>, tidy<float, sizeof(float), false>}},
      {"complex", {MPI_C_DOUBLE_COMPLEX, numbers<std::complex<double>>, tidy<double, sizeof(double), false>}},
      {"long double complex",
       {MPI_C_LONG_DOUBLE_COMPLEX, numbers<std::complex<long double>>, tidy<long double, sizeof(long double), false>}},
      {"float_int", {MPI_FLOAT_INT, pair<float>}},
      {"double_int", {MPI_DOUBLE_INT, pair<double>}},
      {"long double_int",
       {MPI_LONG_DOUBLE_INT, pair<long double>, tidy<long double, sizeof(long double) + sizeof(int)>}},
      {"short_int", {MPI_SHORT_INT, pair<short>}},
      {"2int", {MPI_2INT, pair<int>}},
      {"long_int", {MPI_LONG_INT, pair<long>}},
      {"contiguous", {MPI_DATATYPE_NULL, numbers<double, double, double>}},
      {"vector", {MPI_DATATYPE_NULL, numbers<double, double, double>}},
      {"permuted", {MPI_DATATYPE_NULL, numbers<double, double, double>}},
      {"struct", {MPI_DATATYPE_NULL, numbers<signed char, double, int>}},
      {"affine", {MPI_DATATYPE_NULL, bits<std::uint32_t, std::uint32_t>}},
      {"affine-holes", {MPI_DATATYPE_NULL, bits<std::uint32_t, std::uint32_t>}}};
  const auto found = rows.find(name);
  if (found == rows.end()) throw InputError(fmt::format("no datatype is called \"{}\"", name));
  return found->second;
}

}  // namespace

NamedType::NamedType(const std::string& name) : per_item_(name == "double" ? 3 : 1) {
  const auto& row = row_of(name);
  type_ = row.type;
  draw_ = row.draw;
  tidy_ = row.tidy;
  is_ours_ = type_ == MPI_DATATYPE_NULL;
  if (is_ours_) type_ = derived(name);
}

NamedType::NamedType(std::int64_t bytes) : type_(MPI_BYTE), per_item_(bytes) {}

NamedType::~NamedType() {
  if (is_ours_) MPI_Type_free(&type_);
}

Operator::Operator(const std::string& name) {
  const std::map<std::string, MPI_Op> predefined{
      {"max", MPI_MAX},   {"min", MPI_MIN},       {"sum", MPI_SUM},      {"prod", MPI_PROD}, {"land", MPI_LAND},
      {"band", MPI_BAND}, {"lor", MPI_LOR},       {"bor", MPI_BOR},      {"lxor", MPI_LXOR}, {"bxor", MPI_BXOR},
      {"", MPI_OP_NULL},  {"maxloc", MPI_MAXLOC}, {"minloc", MPI_MINLOC}};
  if (const auto found = predefined.find(name); found != predefined.end()) {
    op_ = found->second;
    return;
  }
  is_ours_ = true;
  if (name == "user-sum") {
    MPI_Op_create(add_vectors, 1, &op_);
  } else if (name == "user-affine") {
    MPI_Op_create(compose_maps, 0, &op_);
  } else {
    throw InputError(fmt::format("no operation is called \"{}\"", name));
  }
}

Operator::~Operator() {
  if (is_ours_) MPI_Op_free(&op_);
}

GuardedMemory::GuardedMemory(const NamedType& kind, std::int64_t count) : kind_(kind), count_(count) {
  const auto element = comm::mpi::element_of(kind.type());
  extent_ = element.extent;
  const auto used = count > 0 ? (count - 1) * element.extent + element.true_extent : 0;
  // The address is a multiple of 64, so that values are aligned.
  const auto before = (guard + std::abs(element.true_lower) + 63) / 64 * 64;
  origin_ = before;
  lowest_ = before + element.true_lower;
  highest_ = lowest_ + used;
  bytes_.assign(static_cast<std::size_t>(highest_ + guard), untouched);
}

void GuardedMemory::fill(std::mt19937_64& random, const std::string& operation, bool fractions) {
  Draws draws(random, operation, fractions);
  for (std::int64_t i = 0; i < count_; ++i) kind_.draw(draws);
  assign(draws.bytes());
}

void GuardedMemory::assign(const std::vector<std::byte>& values) {
  comm::mpi::unpack(values.data(), {bytes_.data() + origin_, count_, kind_.type()}, MPI_COMM_SELF);
}

bool GuardedMemory::are_guards_whole() const {
  const auto is_untouched = [](std::byte byte) { return byte == untouched; };
  return std::all_of(bytes_.begin(), bytes_.begin() + lowest_, is_untouched) &&
         std::all_of(bytes_.begin() + highest_, bytes_.end(), is_untouched);
}

std::vector<std::byte> GuardedMemory::packed(std::int64_t begin, std::int64_t count) const {
  const comm::mpi::Data data{const_cast<std::byte*>(bytes_.data()) + origin_ + begin * extent_, count, kind_.type()};
  std::vector<std::byte> packed(static_cast<std::size_t>(data.bytes()));
  comm::mpi::pack(data, packed.data(), MPI_COMM_SELF);
  return packed;
}

std::vector<std::byte> GuardedMemory::values(std::int64_t begin, std::int64_t count) const {
  auto packed = this->packed(begin, count);
  kind_.tidy(packed);
  return packed;
}

}  // namespace tessera::programs
