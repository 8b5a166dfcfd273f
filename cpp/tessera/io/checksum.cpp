#include "tessera/io/checksum.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "tessera/base/error.h"

namespace tessera::io {

struct Checksum::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  TESSERA_CHECK(state_->context && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;
Checksum::~Checksum() = default;

Checksum& Checksum::add(std::span<const std::byte> data) {
  TESSERA_CHECK(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1);
  return *this;
}

std::string Checksum::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  TESSERA_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace tessera::io
