// Writes a part of a segment on a helper thread, so that the caller goes on meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/descriptor.h"
#include "tessera/io/segments/encoding.h"
#include "tessera/io/segments/manifest.h"

namespace tessera::io::segments {

/// Not for several threads at once.
class PartWriter {
 public:
  /// Nothing may have the name. `encodings`: of each quantity. Throws RunError.
  PartWriter(const std::string& path, std::vector<Encoding> encodings, std::int64_t most_bytes_held);
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;
  /// Finishes what was handed over.
  ~PartWriter();

  /// Hands the rows of a frame over, (rows,3) of each quantity. Waits while frames with more bytes than the bound are
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

  void work();
  std::vector<Payload> write(const Quantities& quantities);
  void check() const;

  Descriptor file_;
  std::vector<Encoding> encodings_;
  std::vector<MovedRows> moved_;  // of each quantity
  std::int64_t most_held_, end_ = 0;
  std::int64_t handed_over_ = 0;  // bytes that the system was asked to bring to the disk

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Quantities> waiting_;  // the first is being written
  std::int64_t held_ = 0;           // bytes of what waits
  std::vector<Payload> written_;
  std::string problem_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace tessera::io::segments
