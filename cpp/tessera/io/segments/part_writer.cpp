#include "tessera/io/segments/part_writer.h"

#include <signal.h>

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
    : file_(Descriptor::create(path)), encodings_(std::move(encodings)), most_held_(most_bytes_held) {
  for (const auto& encoding : encodings_) moved_.emplace_back(encoding.distance);
  // Signals are for the thread that steps.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PartWriter::~PartWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PartWriter::check() const {
  if (!problem_.empty()) throw RunError(problem_);
}

void PartWriter::append(Quantities quantities) {
  const auto bytes = bytes_of(quantities);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() || held_ + bytes <= most_held_ || !problem_.empty(); });
  check();
  held_ += bytes;
  waiting_.push_back(std::move(quantities));
  changed_.notify_all();
}

std::vector<Payload> PartWriter::take_written() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

void PartWriter::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() || !problem_.empty(); });
  check();
  file_.synchronize();
}

void PartWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty() || !problem_.empty()) {
      if (is_ending_) return;
      changed_.wait(lock, [&] { return is_ending_; });
      return;
    }
    const auto& next = waiting_.front();  // a deque's members stay where they are
    lock.unlock();
    std::vector<Payload> payloads;
    std::string problem;
    try {
      payloads = write(next);
    } catch (const RunError& error) {
      problem = error.what();
    }
    lock.lock();
    if (problem.empty()) {
      held_ -= bytes_of(waiting_.front());
      waiting_.pop_front();
      written_.insert(written_.end(), payloads.begin(), payloads.end());
    } else {
      problem_ = problem;
    }
    changed_.notify_all();
  }
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
