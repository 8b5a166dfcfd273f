#include "tessera/machine/survey/rtt_csv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"

namespace tessera::machine {
namespace {

using tessera::test::message_of;

std::string refusal(const std::string& text) {
  return message_of<InputError>([&] { rtt_table_from_text(text, "rtt.csv"); });
}

TEST(RttCsv, ReadsWhatSpreadsheetsWrite) {
  const auto table =
      rtt_table_from_text("\xEF\xBB\xBF,\"a,1\", b ,c\r\n\"a,1\",x,1.5,\r\nb,1e3,0,NaN\r\n\r\nc,2, 3 ,-1\r\n", "x");
  EXPECT_EQ(table.hosts, (std::vector<std::string>{"a,1", "b", "c"}));
  EXPECT_EQ(table.times.at(0, 1), 1.5);
  EXPECT_EQ(table.times.at(1, 0), 1000);
  EXPECT_TRUE(std::isnan(table.times.at(0, 2)));
  EXPECT_TRUE(std::isnan(table.times.at(1, 2)));
  EXPECT_EQ(table.times.at(2, 1), 3);
  EXPECT_EQ(rtt_table_from_text("rtt,a\na,0", "x").hosts.size(), 1U);
  EXPECT_EQ(rtt_table_from_text(",\"a\"\"b\"\n\"a\"\"b\",0", "x").hosts[0], "a\"b");
}

TEST(RttCsv, NamesLineAndColumn) {
  EXPECT_EQ(refusal(",a,b\na,0,1\nb,x,0\n"),
            "rtt.csv:3:2: x is not a number; an unknown time is an empty field or nan");
  EXPECT_EQ(refusal(",a,b\na,0,1s\nb,1,0\n"),
            "rtt.csv:2:3: 1s is not a number; an unknown time is an empty field or nan");
  EXPECT_EQ(refusal(",a,b\na,0,-1\nb,1,0\n"),
            "rtt.csv:2:3: the time -1 is not from 1e-15 to 1e15 s; an unknown time is an empty field or nan");
  EXPECT_EQ(refusal(",a,b\na,0,inf\nb,1,0\n"),
            "rtt.csv:2:3: the time inf is not from 1e-15 to 1e15 s; an unknown time is an empty field or nan");
  EXPECT_EQ(refusal(",a,b\na,0,1\nc,1,0\n"),
            "rtt.csv:3:1: the row of c, expected b; rows and columns have the hosts in one order");
  EXPECT_EQ(refusal(",a,b\na,0\nb,1,0\n"), "rtt.csv:2:3: the row of a has 1 times, expected 2");
  EXPECT_EQ(refusal(",a,b\na,0,1,2\nb,1,0\n"), "rtt.csv:2:4: the row of a has 3 times, expected 2");
  EXPECT_EQ(refusal(",a,b\na,0,1\n"), "rtt.csv:3:1: ends after 1 of 2 rows; the row of b is missing");
  EXPECT_EQ(refusal(",a\na,0\na,0\n"), "rtt.csv:3:1: a row more than the 1 hosts of the first row");
  EXPECT_EQ(refusal(",a,a\n"), "rtt.csv:1:3: host a is listed twice in the first row");
  EXPECT_EQ(refusal(",a,\n"), "rtt.csv:1:3: a host without name in the first row");
  const std::string no_names =
      "rtt.csv:1:1: the first row has no host names, expected an empty field and then the names, between commas";
  EXPECT_EQ(refusal("a\n"), no_names);
  EXPECT_EQ(refusal(";a;b\na;0;1\nb;1;0\n"), no_names);
  EXPECT_EQ(refusal("\n"), "rtt.csv: is empty, expected a matrix of times");
}

TEST(RttCsv, ReadsFiles) {
  const auto path = std::filesystem::path(testing::TempDir()) / "rtt_csv_test.csv";
  std::ofstream(path) << ",a,b\na,,2\nb,2,\n";
  EXPECT_EQ(read_rtt_csv(path).times.between(0, 1), 2);
  std::filesystem::remove(path);
  EXPECT_THROW(read_rtt_csv(path), InputError);
  EXPECT_THROW(read_rtt_csv(testing::TempDir()), InputError);
}

}  // namespace
}  // namespace tessera::machine
