// The atoms that the texts of a run file select. The engine understands `all`, `index` and `bynum`; every other
// selection is one of MDAnalysis, which Python resolves before the engine starts and hands over as a file:
//
//   {"format": "tessera-selections", "version": 1, "atoms": 23558,
//    "selections": {"protein and not name H*": [[0, 0], [4, 4], …]}}
//
// Each pair holds the first and the last id of a range; ids count from 0. A run keeps the file as selections.json in
// its folder, so that a restart has the same atoms.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tessera/model/atom_set.h"

namespace tessera::app {

inline constexpr std::string_view selections_file = "selections.json";
/// What `tessera run` writes for a run that has not begun yet.
inline constexpr std::string_view next_selections_file = "selections.next.json";

/// Reads such a file. Throws InputError.
std::string read_selections_text(const std::string& path);

class Selections {
 public:
  Selections() = default;
  /// Parses the content of such a file; messages call it `name`. Throws InputError.
  static Selections parse(std::string_view text, const std::string& name);

  /// Tells whether the engine understands a text without the file.
  static bool is_plain(std::string_view text);
  /// Returns the atoms that a text selects in a system of so many atoms; messages call it `key`. Throws InputError
  /// where the text is not understood, selects no atom or an atom that does not exist.
  model::AtomSet find(const std::string& text, const std::string& key, std::int64_t n_atoms) const;
  bool contains(const std::string& text) const { return by_text_.contains(text); }

  bool empty() const { return by_text_.empty(); }
  /// Returns the content of the file.
  std::string text() const;
  /// Returns a checksum of the atoms of each text.
  std::map<std::string, std::string> checksums() const;

 private:
  std::int64_t n_atoms_ = 0;
  std::string name_;
  std::map<std::string, model::AtomSet> by_text_;
};

}  // namespace tessera::app
