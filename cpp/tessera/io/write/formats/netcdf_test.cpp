// Headers of files beyond what is written in tests, by their rules and by the NetCDF library, which reads sparse files.
#include "tessera/io/write/formats/netcdf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"

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

/// Returns all bytes before the coordinates of the first atom.
std::string header(const Frame& frame, std::int64_t n_atoms, Type type) {
  const auto parts = layout(frame, n_atoms, type);
  return file_header(parts, 1) + frame_header(parts);
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

std::uint64_t word_at(const std::string& bytes, std::size_t& at, std::size_t n) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < n; ++k) value = value << 8 | static_cast<unsigned char>(bytes.at(at++));
  return value;
}

/// Reads the places of variables and the bytes of each in a frame as the specification of the file formats has them.
std::vector<std::array<std::uint64_t, 2>> places_in(const std::string& bytes, std::uint64_t n_frames) {
  std::size_t at = 4;
  const std::size_t length = bytes[3] == 5 ? 8 : 4;
  const auto skip_text = [&] {
    const auto n = word_at(bytes, at, length);
    at += (n + 3) / 4 * 4;
  };
  const auto skip_attributes = [&] {
    const auto tag = word_at(bytes, at, 4);
    EXPECT_TRUE(tag == 12 || tag == 0);
    for (auto n = word_at(bytes, at, length); n > 0; --n) {
      skip_text();
      EXPECT_EQ(word_at(bytes, at, 4), 2U);  // letters
      skip_text();
    }
  };
  EXPECT_EQ(word_at(bytes, at, length), n_frames);
  EXPECT_EQ(word_at(bytes, at, 4), 10U);
  for (auto n = word_at(bytes, at, length); n > 0; --n) {
    skip_text();
    word_at(bytes, at, length);
  }
  skip_attributes();
  EXPECT_EQ(word_at(bytes, at, 4), 11U);
  std::vector<std::array<std::uint64_t, 2>> found;
  for (auto n = word_at(bytes, at, length); n > 0; --n) {
    skip_text();
    for (auto axes = word_at(bytes, at, length); axes > 0; --axes) word_at(bytes, at, length);
    skip_attributes();
    word_at(bytes, at, 4);  // type
    const auto size = word_at(bytes, at, length);
    found.push_back({word_at(bytes, at, 8), size});
  }
  return found;
}

TEST(Netcdf, FramesHaveTheirPlacesByTheSpecification) {
  for (const auto& more : {More{}, More{true, false}, More{false, true}, More{true, true}})
    for (const auto type : types)
      for (const auto n : sizes(type)) {
        const auto parts = layout(frame(2), n, type, more);
        const auto file = file_header(parts, 7), of_frame = frame_header(parts);
        EXPECT_EQ(parts.version, n > most_of_cdf2(type) ? Version::cdf5 : Version::cdf2);
        const auto found = places_in(file, 7);
        ASSERT_EQ(found.size(), 7U + (more.velocities ? 1 : 0) + (more.forces ? 1 : 0));
        EXPECT_EQ(found[3][0], file.size());  // the time, with which a frame begins
        for (std::size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i][0], found[i - 1][0] + found[i - 1][1]);
        for (std::size_t i = 6; i < found.size(); ++i)
          EXPECT_EQ(found[i][1], static_cast<std::uint64_t>(atom_bytes(type) * n));
        EXPECT_EQ(found[6][0], file.size() + of_frame.size());
      }
}

#if TESSERA_HAS_NETCDF
/// Reads the numbers of a variable in a frame of three atoms.
std::vector<double> numbers(int id, const char* name, std::size_t frame) {
  int variable = 0;
  EXPECT_EQ(nc_inq_varid(id, name, &variable), NC_NOERR) << name;
  const std::size_t start[] = {frame, 0, 0}, count[] = {1, 3, 3};
  std::vector<double> found(9);
  EXPECT_EQ(nc_get_vara_double(id, variable, start, count, found.data()), NC_NOERR);
  return found;
}

TEST(Netcdf, LibraryReadsFramesOfEitherVersion) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("tessera_netcdf_frames_" + std::to_string(getpid()));
  for (const auto version : {Version::cdf2, Version::cdf5})
    for (const auto type : types) {
      auto parts = layout(frame(3), 3, type, {true, true});
      parts.version = version;
      auto bytes = file_header(parts, 2);
      for (int i = 0; i < 2; ++i) {
        bytes += frame_header(parts);
        for (int k = 0; k < 3; ++k)
          for (int atom = 0; atom < 3; ++atom) {
            const Atom one{1, 0, {100.0 * i + 10 * k + atom, 0.5, -1.0 * atom}};
            std::string record(static_cast<std::size_t>(atom_bytes(type)), '?');
            encode(std::span(&one, 1), type, record.data());
            bytes += record;
          }
      }
      std::filesystem::remove(path);
      Descriptor::create(path).write_at(bytes.data(), bytes.size(), 0);
      int id = 0, found = 0;
      ASSERT_EQ(nc_open(path.c_str(), NC_NOWRITE, &id), NC_NOERR);
      nc_inq_format(id, &found);
      EXPECT_EQ(found, version == Version::cdf5 ? NC_FORMAT_CDF5 : NC_FORMAT_64BIT_OFFSET);
      for (std::size_t i = 0; i < 2; ++i) {
        int k = 0;
        for (const char* name : {"coordinates", "velocities", "forces"}) {
          const double first = 100.0 * static_cast<double>(i) + 10 * k++;
          EXPECT_EQ(numbers(id, name, i), (std::vector<double>{first, 0.5, 0, first + 1, 0.5, -1, first + 2, 0.5, -2}));
        }
      }
      nc_close(id);
    }
  std::filesystem::remove(path);
}

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
