#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/io/text/config.h"
#include "tessera/io/text/fields.h"
#include "tessera/io/text/lines.h"
#include "tessera/io/text/records.h"
#include "tessera/io/text/share.h"

namespace tessera::io::text {
namespace {

// Fields by printf.

std::string right(const std::string& text, std::size_t width) {
  return text.size() > width ? std::string(width, '*') : std::string(width - text.size(), ' ') + text;
}

std::string printed(const char* format, int decimals, double value) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, decimals, value);
  return text.data();
}

std::string special(double value) { return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"; }

std::string fixed(double value, int decimals, std::size_t width) {
  return right(std::isfinite(value) ? printed("%.*f", decimals, value) : special(value), width);
}

std::string f20_10_by_printf(double value) { return fixed(value, 10, 20); }

std::string f12_6_by_printf(double value) { return fixed(value, 6, 12); }

std::string g20_10_by_printf(double value) {
  if (!std::isfinite(value)) return right(special(value), 20);
  if (value == 0) return right(printed("%.*f", 9, value), 16) + "    ";
  const auto digits = printed("%.*e", 9, value);  // "-1.234567890e-06"
  const auto e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1) + 1;  // of 0.1234567890
  if (exponent >= 0 && exponent <= 10) {
    auto text = printed("%.*f", 10 - exponent, value);
    if (exponent == 10) text += '.';
    return right(text, 16) + "    ";
  }
  std::array<char, 8> tail{};
  std::snprintf(tail.data(), tail.size(), std::abs(exponent) < 100 ? "E%+03d" : "%+04d", exponent);
  const bool is_negative = digits[0] == '-';
  return right(
      std::string(is_negative ? "-0." : "0.") + digits[is_negative ? 1 : 0] + digits.substr(e - 9, 9) + tail.data(),
      20);
}

std::string i10_by_printf(std::int64_t value) { return right(std::to_string(value), 10); }

std::string f20(double value) {
  std::string text(20, '?');
  write_f20_10(value, text.data());
  return text;
}
std::string g20(double value) {
  std::string text(20, '?');
  write_g20_10(value, text.data());
  return text;
}
std::string f12(double value) {
  std::string text(12, '?');
  write_f12_6(value, text.data());
  return text;
}
std::string i10(std::int64_t value) {
  std::string text(10, '?');
  write_i10(value, text.data());
  return text;
}

void compare(double value) {
  for (const double x : {value, -value}) {
    ASSERT_EQ(f20(x), f20_10_by_printf(x)) << std::hexfloat << x;
    ASSERT_EQ(g20(x), g20_10_by_printf(x)) << std::hexfloat << x;
    ASSERT_EQ(f12(x), f12_6_by_printf(x)) << std::hexfloat << x;
  }
}

TEST(TextFields, AreWhatGfortranWrites) {
  EXPECT_EQ(g20(-36.43905160), "    -36.43905160    ");
  EXPECT_EQ(g20(0.5162949371), "    0.5162949371    ");
  EXPECT_EQ(g20(-0.5162949371), "   -0.5162949371    ");
  EXPECT_EQ(g20(-0.09502960000), "   -0.9502960000E-01");
  EXPECT_EQ(g20(1234567890.4), "     1234567890.    ");
  EXPECT_EQ(g20(9999999999.6), "    0.1000000000E+11");
  EXPECT_EQ(g20(0.09999999999999), "    0.1000000000    ");
  EXPECT_EQ(g20(1e-120), "    0.1000000000-119");
  EXPECT_EQ(g20(0), "     0.000000000    ");
  EXPECT_EQ(g20(-0.0), "    -0.000000000    ");
  EXPECT_EQ(f20(98.78128), "       98.7812800000");
  EXPECT_EQ(f20(-12345678.5), "-12345678.5000000000");
  EXPECT_EQ(f20(-123456789.5), "********************");
  EXPECT_EQ(f20(123456789.5), "123456789.5000000000");
  EXPECT_EQ(f20(1e300), "********************");
  EXPECT_EQ(f20(std::nan("")), "                 NaN");
  EXPECT_EQ(g20(-std::numeric_limits<double>::infinity()), "           -Infinity");
  EXPECT_EQ(i10(27000), "     27000");
  EXPECT_EQ(i10(0), "         0");
  EXPECT_EQ(i10(9'999'999'999), "9999999999");
  EXPECT_EQ(i10(10'000'000'000), "**********");
  EXPECT_EQ(i10(-5), "        -5");
}

TEST(TextFields, RoundTiesToEven) {
  for (int n = 0; n < 3000; ++n) {
    compare(n * 0x1p-11);    // f20.10 and g20.10: 11 decimals, the last one 5
    compare(1e9 + n + 0.5);  // g20.10
    compare(n + 0x1p-7);     // f12.6: 7 decimals
    compare(std::nextafter(n * 0x1p-11, 0));
    compare(std::nextafter(n * 0x1p-11, 1e9));
  }
}

TEST(TextFields, AgreeWithPrintfNearPowersOfTen) {
  for (int e = -15; e <= 15; ++e)
    for (const double factor : {0.5, 0.9999999999, 0.99999999995, 0.999999999949, 1.0, 1.00000000005}) {
      double x = factor * std::pow(10.0, e);
      for (int k = 0; k < 20; ++k, x = std::nextafter(x, 0)) compare(x);
    }
  for (const double x : {5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, 1e9, 1e10, 0.0625})
    compare(x);
}

TEST(TextFields, AgreeWithPrintfForRandomNumbers) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> exponent(-14, 12), mantissa(1, 10);
  for (int i = 0; i < 200'000; ++i) compare(mantissa(random) * std::pow(10.0, exponent(random)));
  for (int i = 0; i < 50'000; ++i) compare(std::bit_cast<double>(random()));
  for (int i = 0; i < 200'000; ++i) {
    const auto n = static_cast<std::int64_t>(random() >> (random() % 64));
    ASSERT_EQ(i10(n), i10_by_printf(n));
  }
}

TEST(TextRecords, AreThoseOfHistory) {
  std::string record(73, '?');
  write_name_record(name_of("Na+"), 12, 22.9898, 1, 0.25, record.data());
  EXPECT_EQ(record, record_of("Na+             12   22.989800    1.000000    0.250000"));
  EXPECT_EQ(history_header("title", 0, 2, 27000, 3, 162017),
            record_of("title") + record_of("         0         2     27000                    3               162017"));
  EXPECT_EQ(history_frame_header({10, 0.001, 0.01}, 0, 0, 27000, {}),
            record_of("timestep        10     27000 0 0            0.001000            0.010000"));
}

TEST(TextConfig, OfDlPolyIsWrittenByteForByteAsItWasRead) {
  const char* folder = std::getenv("TESSERA_DATA");
  if (folder == nullptr) GTEST_SKIP() << "no reference data: set TESSERA_DATA to the folder that holds them";
  const auto path = std::string(folder) + "/dlpoly/nacl27000/CONFIG";
  const auto text = Descriptor::open_to_read(path).read_all();
  const auto config = read_config(path);
  EXPECT_EQ(config.n_atoms(), 27000);
  EXPECT_EQ(config.level, 2);
  auto written =
      config_header(config.title, config.level, config.periodicity, config.n_atoms(), config.moment, config.cell);
  std::string record(record_bytes, '?');
  for (std::size_t i = 0; i < config.ids.size(); ++i) {
    write_name_record(config.names[i], config.ids[i], record.data());
    written += record;
    for (std::size_t k = 9 * i; k < 9 * (i + 1); k += 3) {
      write_value_record(&config.values[k], record.data());
      written += record;
    }
  }
  EXPECT_TRUE(written == text);
}

TEST(TextConfig, IsReadInFreeFormat) {
  const auto config =
      config_from_text("a title\n 0 1\n 10 0 0\r\n0 10. 0\n0 0 1.0E+01\nNa\n 1 +2 3e0\nCl 7\n4 5 6\n", "file");
  EXPECT_EQ(config.title, "a title");
  EXPECT_EQ(config.ids, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(config.values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(config.cell[8], 10);
  EXPECT_FALSE(config.moment);
}

TEST(TextConfig, IsReadWithTheExponentsOfFortran) {
  const auto config = config_from_text("t\n0 0\nNa 1\n1.5D+01 -2.5d-1 0.1000000000-119\n", "file");
  EXPECT_EQ(config.values, (std::vector<double>{15, -0.25, 0.1e-119}));
}

/// Returns a text with lines of all lengths, and with names that look like numbers.
std::string uneven_config(int level, int n, const char* line_end, bool has_key) {
  std::mt19937 random(static_cast<unsigned>(level + n));
  const auto blanks = [&] { return std::string(1 + random() % 20, ' '); };
  std::string text = "title" + std::string(line_end);
  text += std::to_string(level) + " 1" + (has_key ? " " + std::to_string(n) : "") + line_end;
  for (int i = 0; i < 3; ++i) text += "10 0 0" + blanks() + line_end;
  for (int i = 0; i < n; ++i) {
    text += (i % 3 == 0 ? "1" : "Na+") + blanks() + std::to_string(i + 1) + (i % 2 ? blanks() + "22.9" : "") + line_end;
    for (int k = 0; k <= level; ++k)
      text += std::to_string(i) + blanks() + std::to_string(k) + ".5" + blanks() + "-1e-3" + line_end;
  }
  return text;
}

TEST(TextConfig, IsReadInSharesAsByOne) {
  const auto path = testing::TempDir() + "tessera_share_" + std::to_string(getpid());
  for (const int level : {0, 1, 2})
    for (const int n : {0, 1, 5, 300})
      for (const char* line_end : {"\n", "\r\n"})
        for (const std::string tail : {"", "\n  \n"}) {
          auto text = uneven_config(level, n, line_end, n % 2 == 0) + tail;
          if (tail.empty() && n > 0) text.pop_back();  // the last line has no end
          write_atomically(path, std::string_view(text));
          const auto whole = config_from_text(text, path);
          for (const int n_ranks : {1, 2, 3, 4, 6, 8}) {
            std::vector<ConfigShare> shares(static_cast<std::size_t>(n_ranks));
            comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
              shares[static_cast<std::size_t>(comm.rank())] = read_config_share(comm, path);
            });
            Config all = shares[0].config;
            all.names.clear();
            all.ids.clear();
            all.values.clear();
            for (const auto& share : shares) {
              EXPECT_EQ(share.first, all.n_atoms());
              EXPECT_EQ(share.n_all, n);
              all.names.insert(all.names.end(), share.config.names.begin(), share.config.names.end());
              all.ids.insert(all.ids.end(), share.config.ids.begin(), share.config.ids.end());
              all.values.insert(all.values.end(), share.config.values.begin(), share.config.values.end());
            }
            EXPECT_EQ(all.names, whole.names);
            EXPECT_EQ(all.ids, whole.ids);
            EXPECT_EQ(all.values, whole.values) << level << " " << n << " on " << n_ranks;
            EXPECT_EQ(shares.back().config.cell, whole.cell);
          }
        }
  std::filesystem::remove(path);
}

TEST(TextLines, OfAFileAreThoseOfItsText) {
  std::mt19937 random(7);
  std::string text;
  for (const std::size_t length : {0, 3, 262'143, 262'144, 700'000, 1}) {  // about the pieces that are read
    text += std::string(length, 'x') + '\n';
    for (int i = 0; i < 9000; ++i) text += std::string(random() % 90, 'y') + (i % 2 == 0 ? "\r\n" : "\n");
  }
  text += std::string(600'000, ' ');
  const auto path = testing::TempDir() + "tessera_lines_" + std::to_string(getpid());
  write_atomically(path, std::string_view(text));
  const auto file = Descriptor::open_to_read(path);
  for (const std::int64_t begin : {0, 5}) {
    Lines of_file(file, begin, file.size(), 3), of_text(std::string_view(text).substr(begin), path, 3);
    while (!of_text.is_at_end()) {
      ASSERT_FALSE(of_file.is_at_end());
      ASSERT_EQ(of_file.next("a line"), of_text.next("a line"));
      ASSERT_EQ(of_file.number(), of_text.number());
    }
    EXPECT_TRUE(of_file.is_at_end());
  }
  std::filesystem::remove(path);
}

TEST(TextLines, HaveTheDoublesOfTheCLibrary) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> exponent(-14, 12), mantissa(-10, 10);
  const std::string name = "file";
  std::array<char, 400> word{};
  for (int i = 0; i < 300'000; ++i) {
    // As DL_POLY writes numbers, with 17 and with 19 digits, halfway cases of 16 digits, and any bits.
    constexpr std::array formats{"%20.10f", "%.9e", "%+.17g", "%.18E", "%.15f"};
    double value = mantissa(random) * std::pow(10.0, exponent(random));
    if (i % 7 == 0) value = std::bit_cast<double>(random());
    if (i % 5 == 0) value = std::ldexp(static_cast<double>(random() >> 11) + 0.5, static_cast<int>(random() % 60) - 50);
    if (!std::isfinite(value)) continue;
    std::snprintf(word.data(), word.size(), formats[static_cast<std::size_t>(i) % formats.size()], value);
    Lines lines(word.data(), name);
    lines.next("a number");
    ASSERT_EQ(lines.number<double>("a number"), std::strtod(word.data(), nullptr)) << word.data();
    ASSERT_TRUE(lines.word().empty());
  }
}

TEST(TextConfig, InSharesHasTheMessageOfOneReader) {
  const auto path = testing::TempDir() + "tessera_share_" + std::to_string(getpid());
  const auto whole = uneven_config(1, 50, "\n", true);
  auto wrong = whole, cut = whole.substr(0, whole.size() * 2 / 3);
  wrong.replace(wrong.rfind("-1e-3"), 5, "-1e-x");
  for (const auto& text : {wrong, cut, std::string("t\n7 0\n"), std::string()}) {
    write_atomically(path, std::string_view(text));
    const auto expected = test::message_of<InputError>([&] { config_from_text(text, path); });
    EXPECT_NE(expected, "");
    for (const int n_ranks : {1, 3, 8})
      comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
        EXPECT_EQ(test::message_of<InputError>([&] { read_config_share(comm, path); }), expected);
      });
  }
  std::filesystem::remove(path);
}

TEST(TextConfig, NamesTheLineOfAnError) {
  const auto message = [](const char* text) -> std::string {
    return test::message_of<InputError>([&] { config_from_text(text, "CONFIG"); });
  };
  EXPECT_EQ(message("t\n0 0\nNa 1\n1 2 x\n"), "CONFIG: line 4 has \"x\", expected a position");
  EXPECT_EQ(message("t\n0 0\nNa 1\n1 2\n"), "CONFIG: line 4 has nothing more, expected a position");
  EXPECT_EQ(message("t\n0 0 2\nNa 1\n1 2 3\n"), "CONFIG: has 1 atoms, but its second line says 2; is it cut off?");
  EXPECT_EQ(message("t\n5 0\n"), "CONFIG: line 2: levcfg is 5, expected 0 to 2");
  EXPECT_EQ(message("t\n"),
            "CONFIG: ends after line 1, expected the keys levcfg and imcon, and perhaps the number of "
            "atoms, a step, a time step and a time");
}

TEST(TextConfig, TakesBehindItsKeysWhatIsThere) {
  for (const char* behind : {"", " 0", " 1", " 1 -12.5", " 1 10 0.001", " atoms 1", " # of 27 ions"}) {
    const auto found = config_from_text(std::string("t\n0 0") + behind + "\nNa 1\n1 2 3\n", "CONFIG");
    EXPECT_EQ(found.n_atoms(), 1);
    EXPECT_FALSE(found.moment);
  }
  const auto found = config_from_text("t\n0 0 1 10 0.001 0.01\nNa 1\n1 2 3\n", "CONFIG");
  ASSERT_TRUE(found.moment);
  EXPECT_EQ(found.moment->step, 10);
}

}  // namespace
}  // namespace tessera::io::text
