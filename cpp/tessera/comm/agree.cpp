#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"

namespace tessera::comm {

namespace {

/// Returns the text of the lowest rank that has one; empty where none has.
std::string first_message(const Communicator& comm, const std::string& message) {
  std::int64_t first = message.empty() ? comm.size() : comm.rank();
  comm.all_reduce_min(std::span(&first, 1));
  if (first == comm.size()) return {};
  std::string text = message;
  broadcast_resized(comm, text, static_cast<int>(first));
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
