// Headers of files beyond what is written in tests, by their rules and by the NetCDF library, which reads sparse files.
#include "tessera/io/write/formats/netcdf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/descriptor.h"
#include "tessera/base/error.h"

#if TESSERA_HAS_NETCDF
#include <netcdf.h>
#endif

namespace tessera::io::write::netcdf {
namespace {

constexpr std::array types{Type::real, Type::real64};

constexpr std::int64_t most_of_cdf2(Type type) { return type == Type::real ? 357'913'941 : 178'956'970; }

std::array<std::int64_t, 4> sizes(Type type) {
  return {1'000, most_of_cdf2(type), most_of_cdf2(type) + 1, 100'000'000'000};
}

Frame frame(int periodicity) {
  Frame found;
  found.title = "a test";
  found.periodicity = periodicity;
  found.moment = {12, 0.001, 0.012};
  found.cell = {50, 0, 0, 0, 60, 0, 35, 0, 35};
  return found;
}

TEST(Netcdf, HasTheVersionThatHoldsTheAtoms) {
  for (const auto type : types) {
    EXPECT_EQ(version_for(most_of_cdf2(type), type), Version::cdf2);
    EXPECT_EQ(version_for(most_of_cdf2(type) + 1, type), Version::cdf5);
    EXPECT_THROW(header(frame(2), 0, type), InputError);
  }
}

TEST(Netcdf, HeaderEndsWithSizeAndPlaceOfCoordinates) {
  const auto word = [](const std::string& bytes, std::size_t from_end, std::size_t n) {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < n; ++k)
      value = value << 8 | static_cast<unsigned char>(bytes[bytes.size() - from_end + k]);
    return value;
  };
  for (const auto type : types)
    for (const auto n : sizes(type)) {
      const auto bytes = header(frame(2), n, type);
      const bool is_wide = n > most_of_cdf2(type);
      EXPECT_EQ(bytes.substr(0, 4), is_wide ? "CDF\5" : "CDF\2");
      // Values follow: 3, 3 and 15 letters and a time, each rounded up to 4 bytes, and six doubles.
      constexpr std::size_t values = 4 + 4 + 16 + 4 + 48;
      EXPECT_EQ(word(bytes, values + 8, 8), bytes.size());
      EXPECT_EQ(word(bytes, values + (is_wide ? 16 : 12), is_wide ? 8 : 4),
                static_cast<std::uint64_t>(atom_bytes(type) * n));
    }
}

TEST(Netcdf, AtomsAreNumbersWithTheMostSignificantByteFirst) {
  std::string bytes(12, '?');
  const Atom atom{1, 0, {1, -2, 0}};
  encode(std::span(&atom, 1), Type::real, bytes.data());
  EXPECT_EQ(bytes, std::string("\x3f\x80\0\0\xc0\0\0\0\0\0\0\0", 12));
  std::string doubles(24, '?');
  encode(std::span(&atom, 1), Type::real64, doubles.data());
  EXPECT_EQ(doubles, std::string("\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24));
}

#if TESSERA_HAS_NETCDF
void check_last_atom_by_library(const std::string& path, int periodicity, std::int64_t n, Type type) {
  const auto bytes = header(frame(periodicity), n, type);
  const Atom last{n, 0, {1.5, -2.25, 0.1}};
  std::vector<char> record(static_cast<std::size_t>(atom_bytes(type)));
  std::filesystem::remove(path);
  encode(std::span(&last, 1), type, record.data());
  {
    const auto file = Descriptor::create(path);
    file.write_at(bytes.data(), bytes.size(), 0);
    file.write_at(record.data(), record.size(), std::ssize(bytes) + (n - 1) * atom_bytes(type));
  }
  int id = 0, version = 0, dimension = 0, variable = 0;
  ASSERT_EQ(nc_open(path.c_str(), NC_NOWRITE, &id), NC_NOERR);
  nc_inq_format(id, &version);
  EXPECT_EQ(version, n > most_of_cdf2(type) ? NC_FORMAT_CDF5 : NC_FORMAT_64BIT_OFFSET);
  std::size_t length = 0;
  EXPECT_EQ(nc_inq_dimid(id, "atom", &dimension), NC_NOERR);
  nc_inq_dimlen(id, dimension, &length);
  EXPECT_EQ(length, static_cast<std::size_t>(n));
  nc_inq_dimid(id, "frame", &dimension);
  nc_inq_dimlen(id, dimension, &length);
  EXPECT_EQ(length, 1U);
  std::array<double, 3> found{};
  EXPECT_EQ(nc_inq_varid(id, "coordinates", &variable), NC_NOERR);
  const std::size_t start[] = {0, static_cast<std::size_t>(n - 1), 0}, count[] = {1, 1, 3};
  EXPECT_EQ(nc_get_vara_double(id, variable, start, count, found.data()), NC_NOERR);
  EXPECT_EQ(found, (std::array{1.5, -2.25, type == Type::real ? double{0.1F} : 0.1}));
  EXPECT_EQ(nc_inq_varid(id, "cell_angles", &variable) == NC_NOERR, periodicity != 0);
  if (periodicity != 0) {
    std::array<double, 3> angles{};
    nc_get_var_double(id, variable, angles.data());
    EXPECT_EQ(angles[0], 90);
    EXPECT_NEAR(angles[1], 45, 1e-12);
  }
  nc_close(id);
}

TEST(Netcdf, LibraryReadsTheLastAtomOfSparseFiles) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("tessera_netcdf_" + std::to_string(getpid()));
  for (const int periodicity : {0, 3})
    for (const auto type : types)
      for (const auto n : sizes(type)) check_last_atom_by_library(path.string(), periodicity, n, type);
  std::filesystem::remove(path);
}
#endif

}  // namespace
}  // namespace tessera::io::write::netcdf
