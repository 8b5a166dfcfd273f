// SHA-256 (FIPS 180-4), by OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tessera::io {

/// A checksum of data that are added in parts.
class Checksum {
 public:
  Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;
  ~Checksum();

  Checksum& add(std::span<const std::byte> data);
  /// Returns 64 hexadecimal digits; call it once.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::io
