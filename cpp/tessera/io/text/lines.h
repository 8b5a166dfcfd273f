// Lines of DL_POLY's free format: words apart by blanks, whatever their columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::io::text {

/// Lines of a text, and words of a line. Messages name the file and the line.
class Lines {
 public:
  /// `n_before` lines of the file stand before the text. Views of `text` and `name` are kept.
  explicit Lines(std::string_view text, const std::string& name, std::int64_t n_before = 0)
      : rest_(text), name_(name), number_(n_before) {}

  /// Whether nothing but blanks is left.
  bool is_at_end() const;
  std::int64_t number() const { return number_; }
  std::string_view rest() const { return rest_; }

  /// Goes to the next line. Throws InputError at the end, like everything here.
  std::string_view next(const char* expected);
  /// The next word of the line; empty at its end.
  std::string_view word();
  /// A whole number, or a real one with an exponent as C or Fortran write it: 1e-5, 1D-05, 0.1-119.
  template <class Value>
  Value number(std::string_view text, const char* expected) const;
  /// The next line begins with three real numbers.
  void three(double* values, const char* expected);

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::string_view rest_, words_;
  const std::string& name_;
  std::int64_t number_;
};

}  // namespace tessera::io::text
