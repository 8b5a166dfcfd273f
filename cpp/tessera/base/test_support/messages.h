// What errors say, for tests.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

namespace tessera::test {

/// Returns the message of what a function throws, which must be an `Error`; empty where it throws nothing.
template <class Error = std::exception, class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Expects that a message holds this text.
inline void expect_says(const std::string& message, const std::string& part) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, part, message);
}

}  // namespace tessera::test
