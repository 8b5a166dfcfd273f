// DL_POLY's HISTORY: frames of a trajectory as text (DL_POLY_4 manual, "The HISTORY file").
//
// Words are apart by blanks, whatever their columns, so files of DL_POLY_2 and Classic are read, too. Where a frame
// begins follows from the lengths of those before it only if all its lines are as long as theirs; a frame that does not
// begin there is found by its lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/io/text/records.h"

namespace tessera::io::text {

struct HistoryFrame {
  Moment moment;
  int periodicity = 0;                   // DL_POLY's imcon; 0: no cell
  std::array<double, 9> cell{};          // (3,3) Å, a vector a row; may be there without periodicity
  std::int64_t begin = 0, n_before = 0;  // byte where its atoms begin, and lines before it
};

class History {
 public:
  /// Finds the frames. Throws InputError with the line, what was found and what was expected.
  explicit History(const std::string& path);

  const std::string& title() const { return title_; }
  int level() const { return level_; }  // 0: positions; 1: velocities, too; 2: forces, too
  std::int64_t n_atoms() const { return n_atoms_; }
  const std::vector<HistoryFrame>& frames() const { return frames_; }
  /// Returns whether a frame behind the last one is not complete, as of a run that goes on, or was killed.
  bool is_cut() const { return is_cut_; }
  std::int64_t bytes() const { return end_; }

  struct Atoms {
    std::vector<std::string> names;       // (n)
    std::vector<double> masses, charges;  // (n) amu, e
  };
  /// Returns the atoms of the first frame in the order of their numbers. Throws InputError as the constructor does, and
  /// where there is no frame.
  Atoms atoms() const;

  /// Reads a frame's numbers into `values` (n, level + 1, 3), Å, Å/ps, amu Å/ps², in the order of the atoms' numbers,
  /// which are 1 to n. Throws InputError as the constructor does. Threads may call it side by side.
  void read(std::int64_t frame, double* values) const;

 private:
  Descriptor file_;
  std::string title_;
  int level_ = 0;
  std::int64_t n_atoms_ = 0, end_ = 0;
  std::vector<HistoryFrame> frames_;
  bool is_cut_ = false;
};

}  // namespace tessera::io::text
