// Lines of DL_POLY's free format: words apart by blanks, whatever their columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/files/descriptor.h"

namespace tessera::io::text {

/// Lines of a text or of a file, and words of a line. Messages name the file and the line.
class Lines {
 public:
  /// Reads a text, before which `n_before` lines of the file stand. Views of `text` and `name` are kept.
  explicit Lines(std::string_view text, const std::string& name, std::int64_t n_before = 0)
      : rest_(text), name_(name), number_(n_before) {}
  /// Reads the lines from byte `begin` to `end` of a file, in pieces as they are needed.
  Lines(const Descriptor& file, std::int64_t begin, std::int64_t end, std::int64_t n_before = 0)
      : name_(file.path()), number_(n_before), file_(&file), read_to_(begin), end_(end) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  /// Returns whether nothing but blanks is left.
  bool is_at_end();
  std::int64_t number() const { return number_; }
  std::string_view rest() const { return rest_; }                                            // of a text
  std::int64_t place() const { return read_to_ - static_cast<std::int64_t>(rest_.size()); }  // of a file: byte
  bool has_next() { return !rest_.empty() || read_more(); }

  /// Reads the next line, which is valid until the one after it is read. Throws InputError at the end, like everything
  /// here.
  std::string_view next(const char* expected);
  /// Drops what stands behind a # or ! in the line.
  void leave_out_comment() { words_ = words_.substr(0, words_.find_first_of("#!")); }
  /// Returns whether the rest of the line begins with this, after blanks; goes behind it then.
  bool take(std::string_view beginning);
  /// Returns the next word of the line; empty at its end.
  std::string_view word();
  /// Reads the next word as a whole number, or as a real one with an exponent as C or Fortran write it: 1e-5, 1D-05,
  /// 0.1-119.
  template <class Value>
  Value number(const char* expected);
  /// Reads the same, or nothing at the end of the line.
  template <class Value>
  std::optional<Value> number_if_any(const char* expected);
  /// Reads the next word where it is a number of this kind; returns nothing otherwise.
  template <class Value>
  std::optional<Value> number_if_it_is();
  /// Reads three real numbers, with which the next line begins.
  void three(double* values, const char* expected);

  /// Throws InputError that names the line; `what` may hold text of the file.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  void skip_blanks();
  /// Adds the next piece of the file to the rest. Returns whether there was one.
  bool read_more();

  std::string_view rest_, words_;
  const std::string& name_;
  std::int64_t number_;
  const Descriptor* file_ = nullptr;
  std::int64_t read_to_ = 0, end_ = 0;
  std::string piece_;
};

}  // namespace tessera::io::text
