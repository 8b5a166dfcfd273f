#include "tessera/comm/programs/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>

#include "tessera/base/error.h"
#include "tessera/comm/mpi/datatype.h"

namespace tessera::comm::programs {
namespace {

constexpr std::int64_t guard = 64;  // bytes
constexpr std::byte untouched{0xA5};

struct DoubleInt {
  double value;
  int index;
};

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

// The functions of user-defined operations find the layout from the extent of the type.

void add_vectors(void* in, void* inout, int* length, MPI_Datatype* type) {
  const auto extent = mpi::element_of(*type).extent;
  const std::int64_t stride = extent == 64 ? 16 : 8;
  for (std::int64_t i = 0; i < *length; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto at = i * extent + j * stride;
      *reinterpret_cast<double*>(static_cast<std::byte*>(inout) + at) +=
          *reinterpret_cast<const double*>(static_cast<const std::byte*>(in) + at);
    }
}

/// First the left map, then the right one: x → c(ax + b) + d.
void compose_maps(void* in, void* inout, int* length, MPI_Datatype* type) {
  const auto extent = mpi::element_of(*type).extent;
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

/// Small numbers, so that sums and products are exact.
int small_number(std::mt19937_64& random, const std::string& operation) {
  const auto draw = static_cast<int>(random() % 17);
  if (operation == "prod") return draw < 11 ? 1 : draw < 14 ? -1 : 2;
  return draw - 8;
}

/// The values of one element in the order of its signature.
template <class Add>
void draw_element(const std::string& kind, std::mt19937_64& random, const std::string& operation, bool fractions,
                  Add&& add) {
  const auto number = [&] { return small_number(random, operation); };
  if (kind == "int") {
    add(number());
  } else if (kind == "float") {
    add(static_cast<float>(number()));
  } else if (kind == "complex") {
    add(std::complex<double>(number() % 2, number() % 2));
  } else if (kind == "long double") {
    add(static_cast<long double>(number()));
  } else if (kind == "double_int") {
    add(static_cast<double>(number() % 3));
    add(static_cast<int>(random() % 100));
  } else if (kind == "struct") {
    add(static_cast<char>(random()));
    add(static_cast<double>(number()));
    add(number());
  } else if (kind == "affine" || kind == "affine-holes") {
    add(static_cast<std::uint32_t>(random()));
    add(static_cast<std::uint32_t>(random()));
  } else {
    for (int i = 0; i < (kind == "double" ? 1 : 3); ++i)
      add(fractions ? std::uniform_real_distribution<>(-1, 1)(random) : static_cast<double>(number()));
  }
}

}  // namespace

Kind::Kind(const std::string& name) : name_(name), per_item_(name == "double" ? 3 : 1) {
  const std::map<std::string, MPI_Datatype> predefined{{"double", MPI_DOUBLE},
                                                       {"int", MPI_INT},
                                                       {"float", MPI_FLOAT},
                                                       {"complex", MPI_C_DOUBLE_COMPLEX},
                                                       {"long double", MPI_LONG_DOUBLE},
                                                       {"double_int", MPI_DOUBLE_INT}};
  if (const auto found = predefined.find(name); found != predefined.end()) {
    type_ = found->second;
    return;
  }
  type_ = derived(name);
  is_ours_ = type_ != MPI_DATATYPE_NULL;
  if (!is_ours_) throw InputError(fmt::format("no datatype is called \"{}\"", name));
}

Kind::Kind(std::int64_t bytes) : name_("byte"), type_(MPI_BYTE), per_item_(bytes) {}

Kind::~Kind() {
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

Memory::Memory(const Kind& kind, std::int64_t count) : kind_(kind), count_(count) {
  const auto element = mpi::element_of(kind.type());
  extent_ = element.extent;
  const auto used = count > 0 ? (count - 1) * element.extent + element.true_extent : 0;
  // A multiple of 64, so that values stand where processors like them.
  const auto before = (guard + std::abs(element.true_lower) + 63) / 64 * 64;
  origin_ = before;
  lowest_ = before + element.true_lower;
  highest_ = lowest_ + used;
  bytes_.assign(static_cast<std::size_t>(highest_ + guard), untouched);
}

void Memory::fill(std::mt19937_64& random, const std::string& operation, bool fractions) {
  std::vector<std::byte> drawn;
  const auto add = [&](auto value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    drawn.insert(drawn.end(), bytes, bytes + sizeof value);
  };
  for (std::int64_t i = 0; i < count_; ++i) draw_element(kind_.name(), random, operation, fractions, add);
  assign(drawn);
}

void Memory::assign(const std::vector<std::byte>& values) {
  mpi::unpack(values.data(), {bytes_.data() + origin_, count_, kind_.type()}, MPI_COMM_SELF);
}

bool Memory::are_guards_whole() const {
  const auto is_untouched = [](std::byte byte) { return byte == untouched; };
  return std::all_of(bytes_.begin(), bytes_.begin() + lowest_, is_untouched) &&
         std::all_of(bytes_.begin() + highest_, bytes_.end(), is_untouched);
}

std::vector<std::byte> Memory::packed(std::int64_t begin, std::int64_t count) const {
  const mpi::Data data{const_cast<std::byte*>(bytes_.data()) + origin_ + begin * extent_, count, kind_.type()};
  std::vector<std::byte> packed(static_cast<std::size_t>(data.bytes()));
  mpi::pack(data, packed.data(), MPI_COMM_SELF);
  return packed;
}

std::vector<std::byte> Memory::values(std::int64_t begin, std::int64_t count) const {
  auto packed = this->packed(begin, count);
  if (kind_.name() == "long double")  // ten bytes of a number, the rest is anything
    for (std::size_t i = 0; i < packed.size(); i += sizeof(long double))
      std::memset(packed.data() + i + 10, 0, sizeof(long double) - 10);
  if (kind_.name() == "complex")  // the sign of a zero depends on the order of multiplications
    for (std::size_t i = 0; i < packed.size(); i += sizeof(double)) {
      double part = 0;
      std::memcpy(&part, packed.data() + i, sizeof part);
      part += 0.0;
      std::memcpy(packed.data() + i, &part, sizeof part);
    }
  return packed;
}

}  // namespace tessera::comm::programs
