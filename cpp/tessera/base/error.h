// Errors by cause. What a user, a file or the system did wrong is an InputError or a RunError: one clear message that
// says what was found, what was expected and how to mend it. A broken invariant of ours is a failed TESSERA_CHECK.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Input that can't be used: a file, a key, a value. Known before the first step; every rank leaves with the same text.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A run that can't go on: atoms that blew up, a full disk.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant of Tessera itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line);

/// Returns the entry of `known` with the least edit distance to `word`; empty where none is similar enough.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

/// Returns the end of a message about a word that is none of those known: `did you mean "auto"?`, or which there are.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

/// Throws the InputError that no `what` has this name, with a suggestion.
[[noreturn]] void refuse_name(std::string_view what, const std::string& name, const std::vector<std::string>& known);

/// Finds the entry of a registry, of `what`, by its member `name`. Throws as refuse_name() where there is none.
template <class Entries>
const auto& find_named(const Entries& entries, const std::string& name, std::string_view what) {
  std::vector<std::string> known;
  for (const auto& entry : entries) {
    if (name == entry.name) return entry;
    known.emplace_back(entry.name);
  }
  refuse_name(what, name, known);
}

}  // namespace tessera

#define TESSERA_CHECK(condition)                                             \
  do {                                                                       \
    if (!(condition)) ::tessera::fail_check(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define TESSERA_ASSERT(condition) ((void)0)
#else
#define TESSERA_ASSERT(condition) TESSERA_CHECK(condition)
#endif
