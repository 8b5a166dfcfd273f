#include "tessera/io/segments/part_writer.h"

#include <memory>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/io/checked_file.h"

namespace tessera::io::segments {

namespace {

constexpr std::int64_t bytes_handed_over = 4 << 20;  // to the disk; fewer cost more time than they save

std::int64_t bytes_of(const std::vector<std::vector<float>>& quantities) {
  std::int64_t bytes = 0;
  for (const auto& values : quantities) bytes += std::ssize(values) * 4;
  return bytes;
}

}  // namespace

PartWriter::PartWriter(const std::string& path, std::vector<Encoding> encodings, std::int64_t most_bytes_held)
    : file_(Descriptor::create(path)), encodings_(std::move(encodings)), behind_(most_bytes_held) {
  for (const auto& encoding : encodings_) moved_.emplace_back(encoding.distance);
}

void PartWriter::append(Quantities quantities) {
  const auto bytes = bytes_of(quantities);
  behind_.hand_over(bytes, [this, held = std::make_shared<const Quantities>(std::move(quantities))] {
    const auto payloads = write(*held);
    const std::lock_guard lock(mutex_);
    written_.insert(written_.end(), payloads.begin(), payloads.end());
  });
}

std::vector<Payload> PartWriter::take_written() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

void PartWriter::synchronize() {
  behind_.wait();
  file_.synchronize();
}

std::vector<Payload> PartWriter::write(const Quantities& quantities) {
  TESSERA_CHECK(quantities.size() == encodings_.size());
  std::vector<Payload> payloads;
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    std::vector<std::byte> encoded;
    auto bytes = std::as_bytes(std::span(quantities[q]));
    if (encodings_[q].kind == EncodingKind::moved)
      bytes = encoded = moved_[q].encode(quantities[q]);
    else if (encodings_[q].kind != EncodingKind::float32)
      bytes = encoded = encode(quantities[q], encodings_[q]);
    file_.write_at(bytes.data(), bytes.size(), end_);
    payloads.push_back({end_, std::ssize(bytes), piece_checksum(bytes)});
    end_ += std::ssize(bytes);
  }
  if (end_ - handed_over_ >= bytes_handed_over) {
    file_.start_synchronizing(handed_over_, end_ - handed_over_);
    handed_over_ = end_;
  }
  return payloads;
}

}  // namespace tessera::io::segments
