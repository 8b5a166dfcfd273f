// Collects all errors of a run file, so that one message reports them together.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/base/error.h"

namespace tessera::app {

class Errors {
 public:
  void add(std::string what) { lines_.push_back(std::move(what)); }
  void add(const std::string& place, const std::string& what) { lines_.push_back(place + ": " + context_ + what); }
  /// Sets what errors that are added from now on concern ("stage heat: "), which the messages say.
  void set_context(std::string context) { context_ = std::move(context); }

  /// Throws InputError if there are any errors; the message lists the first of very many, in one line: line ends would
  /// be printed as those of foreign text.
  void raise(const std::string& name) const {
    constexpr std::size_t most = 20;
    if (lines_.empty()) return;
    if (lines_.size() == 1) throw InputError(lines_.front());
    std::string text = fmt::format("{}: {} errors", name, lines_.size());
    for (std::size_t i = 0; i < std::min(most, lines_.size()); ++i)
      text += fmt::format("{} ({}) {}", i == 0 ? ':' : ';', i + 1, lines_[i]);
    if (lines_.size() > most) text += "; …";
    throw InputError(text);
  }

 private:
  std::vector<std::string> lines_;
  std::string context_;
};

}  // namespace tessera::app
