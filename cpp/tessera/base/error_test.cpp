#include "tessera/base/error.h"

#include <gtest/gtest.h>

#include "tessera/base/test_support/messages.h"

namespace tessera {
namespace {

TEST(NearestWord, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"cutoff", "switch_distance", "electrostatics", "buffer"};
  EXPECT_EQ(nearest_word("cut_off", known), "cutoff");
  EXPECT_EQ(nearest_word("cutof", known), "cutoff");
  EXPECT_EQ(nearest_word("switchdist", known), "switch_distance");
  EXPECT_EQ(nearest_word("electrostatic", known), "electrostatics");
  EXPECT_EQ(nearest_word("bufer", known), "buffer");
  EXPECT_EQ(nearest_word("buffer", known), "buffer");
}

TEST(NearestWord, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest_word("zzzz", {"cutoff", "buffer"}), "");
  EXPECT_EQ(nearest_word("cutoff", {}), "");
  EXPECT_EQ(nearest_word("", {"cutoff"}), "");
}

TEST(Suggestion, IsTheNearestOrAll) {
  EXPECT_EQ(suggestion("pencils", {"auto", "pencil"}), "did you mean \"pencil\"?");
  EXPECT_EQ(suggestion("zzzzzzz", {"auto", "pencil"}), "there are auto, pencil");
}

TEST(NearestWord, TakesTheFirstOfEquallyNear) { EXPECT_EQ(nearest_word("ct", {"cat", "cut"}), "cat"); }

TEST(Check, NamesConditionAndPlace) {
  const auto message = test::message_of<InternalError>([] { TESSERA_CHECK(1 + 1 == 3); });
  test::expect_says(message, "1 + 1 == 3");
  test::expect_says(message, "error_test.cpp");
  EXPECT_NO_THROW(TESSERA_CHECK(true));
}

}  // namespace
}  // namespace tessera
