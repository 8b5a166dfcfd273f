// Writes a part of a segment on a helper thread, so that the caller goes on meanwhile.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/files/descriptor.h"
#include "tessera/io/segments/encoding.h"
#include "tessera/io/segments/manifest.h"
#include "tessera/io/write_behind.h"

namespace tessera::io::segments {

/// Not for several threads at once.
class PartWriter {
 public:
  /// Creates a part; nothing may have the name. `encodings`: of each quantity. Throws RunError.
  PartWriter(const std::string& path, std::vector<Encoding> encodings, std::int64_t most_bytes_held);

  /// Appends the rows of a frame, (rows,3) of each quantity. Waits while frames with more bytes than the bound are
  /// held, unless none is. Throws RunError where an earlier frame couldn't be written.
  void append(std::vector<std::vector<float>> quantities);
  /// Returns where the frames stand that were written since the last call, one payload for each quantity of each
  /// frame.
  std::vector<Payload> take_written();
  /// Waits until all is written and on the disk. Throws RunError.
  void synchronize();
  bool is_in_place() const { return file_.is_in_place(); }

 private:
  using Quantities = std::vector<std::vector<float>>;

  std::vector<Payload> write(const Quantities& quantities);

  Descriptor file_;
  std::vector<Encoding> encodings_;
  std::vector<MovedRows> moved_;  // of each quantity
  std::int64_t end_ = 0;
  std::int64_t handed_over_ = 0;  // bytes that the system was asked to bring to the disk

  std::mutex mutex_;  // of written_
  std::vector<Payload> written_;
  WriteBehind behind_;  // the last member: its thread uses the others
};

}  // namespace tessera::io::segments
