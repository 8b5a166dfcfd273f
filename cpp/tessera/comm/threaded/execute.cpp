#include "tessera/comm/threaded/execute.h"

#include <vector>

#include "tessera/base/error.h"

namespace tessera::comm {

void execute(const collectives::MessagePlan& plan, const Communicator& comm, std::int64_t element_bytes,
             const std::byte* input, std::byte* output, const Combine& combine) {
  using collectives::Buffer;
  constexpr int tag = -2;  // of no message of users
  std::vector<std::byte> scratch(static_cast<std::size_t>(plan.scratch * element_bytes));
  const auto to_write = [&](Buffer buffer, std::int64_t element) {
    TESSERA_CHECK(buffer != Buffer::input);
    return (buffer == Buffer::output ? output : scratch.data()) + element * element_bytes;
  };
  const auto to_read = [&](Buffer buffer, std::int64_t element) {
    return buffer == Buffer::input ? input + element * element_bytes : to_write(buffer, element);
  };
  for (const auto& message : plan.messages) {
    const bool is_from = message.from == comm.rank(), is_to = message.to == comm.rank();
    std::vector<std::byte> elements(static_cast<std::size_t>(message.length * element_bytes));
    if (is_from) {
      const auto* begin = to_read(message.source, message.begin);
      if (!is_to) comm.start_send({begin, elements.size()}, message.to, tag);
      if (is_to) elements.assign(begin, begin + elements.size());
    }
    if (!is_to) continue;
    if (!is_from) {
      auto request = comm.start_receive(elements, message.from, tag);
      Communicator::wait_all({&request, 1});
    }
    auto* target = to_write(message.target, message.at);
    if (message.effect == collectives::Effect::replace)
      std::copy(elements.begin(), elements.end(), target);
    else if (!elements.empty())
      combine(elements.data(), target, message.length);
  }
}

}  // namespace tessera::comm
