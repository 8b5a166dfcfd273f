// One configuration that ranks write together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tessera/io/text/records.h"

namespace tessera::io::write {

/// What all atoms of a kind have in common.
struct Species {
  text::Name name{};
  double mass = 0;    // amu
  double charge = 0;  // e
};

struct Atom {
  std::int64_t id = 0;               // from 1, as it is written
  std::int64_t species = 0;          // index in Frame::species
  std::array<double, 3> position{};  // Å
};

/// Returns the bytes of an atom in memory: with a velocity (Å/ps) behind it at level 1, and a force (amu Å/ps²) behind
/// that at 2.
constexpr std::size_t row_bytes(int level) {
  return sizeof(Atom) + static_cast<std::size_t>(level) * 3 * sizeof(double);
}

/// Copies a row, whose length is almost always that of an atom alone.
inline void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == row_bytes(0))
    std::memcpy(to, from, row_bytes(0));
  else
    std::memcpy(to, from, bytes);
}

/// Atoms that stand in memory one after the other, each with what its level has behind it.
class Atoms {
 public:
  class Iterator {
   public:
    Iterator(const std::byte* at, std::size_t bytes) : at_(at), bytes_(bytes) {}
    const Atom& operator*() const { return *reinterpret_cast<const Atom*>(at_); }
    Iterator& operator++() {
      at_ += bytes_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const std::byte* at_;
    std::size_t bytes_;
  };

  Atoms() = default;
  Atoms(std::span<const Atom> atoms) : bytes_(std::as_bytes(atoms)) {}
  Atoms(const std::vector<Atom>& atoms) : Atoms(std::span(atoms)) {}
  Atoms(std::span<const std::byte> bytes, int level) : bytes_(bytes), row_bytes_(row_bytes(level)) {}

  std::size_t row_size() const { return row_bytes_; }
  std::size_t size() const { return bytes_.size() / row_bytes_; }
  bool empty() const { return bytes_.empty(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const Atom& operator[](std::size_t i) const { return *reinterpret_cast<const Atom*>(row(i)); }
  const std::byte* row(std::size_t i) const { return bytes_.data() + i * row_bytes_; }
  Iterator begin() const { return {bytes_.data(), row_bytes_}; }
  Iterator end() const { return {bytes_.data() + bytes_.size(), row_bytes_}; }
  Atoms subspan(std::size_t first, std::size_t n) const {
    auto found = *this;
    found.bytes_ = bytes_.subspan(first * row_bytes_, n * row_bytes_);
    return found;
  }
  Atoms first(std::size_t n) const { return subspan(0, n); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t row_bytes_ = row_bytes(0);
};

/// Rows that are filled one by one.
class AtomRows {
 public:
  explicit AtomRows(int level, std::size_t n = 0) : level_(level) { resize(n); }

  void resize(std::size_t n) { bytes_.resize(n * row_bytes(level_)); }
  std::size_t size() const { return bytes_.size() / row_bytes(level_); }
  int level() const { return level_; }
  std::byte* row(std::size_t i) { return bytes_.data() + i * row_bytes(level_); }
  Atom& operator[](std::size_t i) { return *reinterpret_cast<Atom*>(row(i)); }
  /// Returns the three numbers of the position (0), velocity (1) or force (2) of an atom.
  double* values(std::size_t i, int k) {
    return k == 0 ? (*this)[i].position.data() : reinterpret_cast<double*>(row(i) + row_bytes(k - 1));
  }
  operator Atoms() const { return {bytes_, level_}; }

 private:
  int level_;
  std::vector<std::byte> bytes_;
};

/// Returns the velocity (1) or force (2) behind an atom.
inline const double* values_behind(const Atom& atom, int k) {
  return reinterpret_cast<const double*>(reinterpret_cast<const std::byte*>(&atom) + row_bytes(k - 1));
}

/// All but the atoms, the same on all ranks.
struct Frame {
  std::string title;
  int periodicity = 0;  // DL_POLY's imcon
  text::Moment moment;
  std::array<double, 9> cell{};  // (3,3) Å
  std::vector<Species> species;
};

}  // namespace tessera::io::write
