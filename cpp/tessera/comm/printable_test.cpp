#include <gtest/gtest.h>

#include "tessera/comm/job.h"

namespace tessera::comm {
namespace {

TEST(Printable, LeavesNothingThatATerminalActsOn) {
  EXPECT_EQ(printable("12 Å, 3 × 4 − 5, 水"), "12 Å, 3 × 4 − 5, 水");
  EXPECT_EQ(printable("\x1b[31mred\a"), "\\u001b[31mred\\u0007");
  EXPECT_EQ(printable(std::string_view("a\0b\r\t\x7f", 6)), "a\\u0000b\\u000d\\u0009\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J");  // the one-character form of ESC [
  EXPECT_EQ(printable("\x9b"
                      "2J, \xff"),
            "\\x9b2J, \\xff");  // no UTF-8
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil"),
            "\\u202eevil");  // writes from right to left
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xe6\xb0"), "\\xc0\\xaf \\xed\\xa0\\x80 \\xe6\\xb0");
  EXPECT_EQ(printable("one\ntwo"), "one\\u000atwo");
  EXPECT_EQ(printable("one\ntwo\x1b", Lines::many), "one\ntwo\\u001b");
}

}  // namespace
}  // namespace tessera::comm
