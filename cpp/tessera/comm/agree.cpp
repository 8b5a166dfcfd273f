#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"

namespace tessera::comm {

namespace {

/// The text of the lowest rank that has one; empty where none has.
std::string first_message(const Communicator& comm, const std::string& message) {
  std::int64_t first = message.empty() ? comm.size() : comm.rank();
  comm.all_reduce_min(std::span(&first, 1));
  if (first == comm.size()) return {};
  std::int64_t length = static_cast<std::int64_t>(message.size());
  comm.broadcast(std::as_writable_bytes(std::span(&length, 1)), static_cast<int>(first));
  std::string text = message;
  text.resize(static_cast<std::size_t>(length));
  comm.broadcast(std::as_writable_bytes(std::span(text.data(), text.size())), static_cast<int>(first));
  return text;
}

}  // namespace

void agree_on_input(const Communicator& comm, const std::string& message) {
  if (const auto text = first_message(comm, message); !text.empty()) throw InputError(text);
}

void agree_on_run(const Communicator& comm, const std::string& message) {
  if (const auto text = first_message(comm, message); !text.empty()) throw RunError(text);
}

}  // namespace tessera::comm
