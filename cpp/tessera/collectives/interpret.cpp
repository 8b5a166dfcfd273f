#include "tessera/collectives/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace tessera::collectives {
namespace {

constexpr std::size_t most_faults = 5;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

const char* name_of(Buffer buffer) {
  return buffer == Buffer::input ? "input" : buffer == Buffer::output ? "output" : "scratch";
}

std::string text(const std::vector<Contribution>& contributions) {
  if (contributions.empty()) return "nothing";
  std::string text;
  for (const auto& [rank, element] : contributions) text += fmt::format(" {}:{}", rank, element);
  return text.substr(1);
}

/// Returns the contributions that an element should have; none where the operation leaves it undefined.
std::optional<std::vector<Contribution>> expected(const CollectiveProblem& problem,
                                                  const std::vector<std::int64_t>& offsets, int rank,
                                                  std::int64_t element) {
  const auto block = std::upper_bound(offsets.begin(), offsets.end(), element) - offsets.begin() - 1;
  const auto of_ranks = [&](int end) {
    std::vector<Contribution> all;
    for (int from = 0; from < end; ++from) all.push_back({from, element});
    return all;
  };
  const auto only = [](bool is_defined, std::vector<Contribution> contributions) {
    return is_defined ? std::optional(std::move(contributions)) : std::nullopt;
  };
  const int owner = static_cast<int>(block);
  switch (problem.operation) {
    case Operation::barrier:
      return std::nullopt;
    case Operation::broadcast:
      return {{{problem.root, element}}};
    case Operation::scatter:
      return only(owner == rank, {{problem.root, element}});
    case Operation::gather:
      return only(rank == problem.root, {{owner, element}});
    case Operation::all_gather:
      return {{{owner, element}}};
    case Operation::all_to_all:
      return {{{owner, offsets[index(rank)] + element - offsets[index(block)]}}};
    case Operation::reduce:
      return only(rank == problem.root, of_ranks(problem.n_ranks));
    case Operation::all_reduce:
      return of_ranks(problem.n_ranks);
    case Operation::reduce_scatter:
      return only(owner == rank, of_ranks(problem.n_ranks));
    case Operation::scan:
      return of_ranks(rank + 1);
    case Operation::exscan:
      return only(rank > 0, of_ranks(rank));
  }
  return std::nullopt;
}

/// Says how contributions differ from what they should be; the text is empty where they do not.
std::string difference(std::vector<Contribution> found, std::vector<Contribution> wanted, bool order_matters) {
  if (found == wanted) return "";
  std::sort(found.begin(), found.end());
  std::sort(wanted.begin(), wanted.end());
  if (found == wanted) return order_matters ? "misordered" : "";
  if (std::adjacent_find(found.begin(), found.end()) != found.end()) return "doubled";
  std::vector<Contribution> strange;
  std::set_difference(found.begin(), found.end(), wanted.begin(), wanted.end(), std::back_inserter(strange));
  return strange.empty() ? "missing" : "misplaced";
}

}  // namespace

Contents::Contents(const CollectiveProblem& problem, std::int64_t scratch)
    : is_barrier_(problem.operation == Operation::barrier),
      n_ranks_(problem.n_ranks),
      buffers_(index(problem.n_ranks)) {
  const auto offsets = problem.offsets();
  const auto length = is_barrier_ ? 1 : offsets.back();
  for (int rank = 0; rank < n_ranks_; ++rank) {
    const auto fill = [&](Buffer which, std::int64_t begin, std::int64_t end, std::int64_t shift = 0) {
      for (auto i = begin; i < end; ++i) buffer(rank, which)[index(i)] = make({{rank, i + shift}});
    };
    buffer(rank, Buffer::output).assign(index(length), -1);
    buffer(rank, Buffer::scratch).assign(index(scratch), -1);
    const auto own_begin = offsets.size() > index(rank) + 1 ? offsets[index(rank)] : 0;
    const auto own_end = offsets.size() > index(rank) + 1 ? offsets[index(rank) + 1] : 0;
    switch (problem.operation) {
      case Operation::barrier:
        fill(Buffer::output, 0, length);
        fill(Buffer::scratch, 0, scratch);
        break;
      case Operation::broadcast:
      case Operation::scatter:
        if (rank == problem.root) fill(Buffer::output, 0, length);
        break;
      case Operation::gather:
      case Operation::all_gather:
        fill(Buffer::output, own_begin, own_end);
        break;
      case Operation::all_to_all:
        buffer(rank, Buffer::input).assign(index(length), -1);
        fill(Buffer::input, 0, length);
        fill(Buffer::output, own_begin, own_end);
        break;
      default:
        fill(Buffer::output, 0, length);
    }
  }
}

int Contents::make(const Operand& value) {
  values_.push_back(value);
  return static_cast<int>(values_.size()) - 1;
}

std::vector<int>& Contents::buffer(int rank, Buffer buffer) { return buffers_[index(rank)][index(int(buffer))]; }

void Contents::add_fault(const std::string& fault) {
  if (faults_.size() < most_faults) faults_.push_back(fault);
}

bool Contents::is_inside(const PlannedMessage& message, int rank, Buffer which, std::int64_t begin) {
  const bool is_rank = rank >= 0 && rank < n_ranks_;
  if (is_rank && message.length > 0 && begin >= 0 &&
      begin + message.length <= static_cast<std::int64_t>(buffer(rank, which).size()))
    return true;
  add_fault(fmt::format("message {} to {}: {} elements from {} of rank {}'s {}, which are not there", message.from,
                        message.to, message.length, begin, rank, name_of(which)));
  return false;
}

std::vector<int> Contents::read(const PlannedMessage& message) {
  if (!is_inside(message, message.from, message.source, message.begin)) return {};
  const auto first = buffer(message.from, message.source).begin() + message.begin;
  std::vector<int> values(first, first + message.length);
  if (std::find(values.begin(), values.end(), -1) != values.end())
    add_fault(fmt::format("message {} to {}: reads from {} elements from {} of the sender's {}, some never written",
                          message.from, message.to, message.length, message.begin, name_of(message.source)));
  return values;
}

void Contents::write(const PlannedMessage& message, const std::vector<int>& values) {
  if (!is_inside(message, message.to, message.target, message.at)) return;
  auto& target = buffer(message.to, message.target);
  for (std::size_t i = 0; i < values.size(); ++i) {
    int& element = target[index(message.at) + i];
    const auto effect = is_barrier_ ? Effect::combine_left : message.effect;
    if (effect != Effect::replace && element < 0)
      add_fault(fmt::format("message {} to {}: combines with element {} of the receiver's {}, which was never written",
                            message.from, message.to, message.at + static_cast<std::int64_t>(i),
                            name_of(message.target)));
    if (effect == Effect::replace || element < 0)
      element = values[i];
    else if (values[i] >= 0)
      element = effect == Effect::combine_left ? make({{}, values[i], element}) : make({{}, element, values[i]});
  }
}

std::vector<Contribution> Contents::at(int rank, Buffer which, std::int64_t element) const {
  std::vector<Contribution> contributions;
  std::vector<int> waiting{buffers_[index(rank)][index(int(which))][index(element)]};
  while (!waiting.empty() && contributions.size() < index(n_ranks_) + 2) {
    const int top = waiting.back();
    waiting.pop_back();
    if (top < 0) continue;
    const auto& value = values_[index(top)];
    if (value.left < 0) {
      contributions.push_back(value.own);
    } else {
      waiting.push_back(value.right);
      waiting.push_back(value.left);
    }
  }
  return contributions;
}

std::vector<bool> Contents::heard_by(int rank) const {
  std::vector<bool> heard(index(n_ranks_), false), seen(values_.size(), false);
  std::vector<int> waiting;
  for (const auto& elements : buffers_[index(rank)]) waiting.insert(waiting.end(), elements.begin(), elements.end());
  while (!waiting.empty()) {
    const int top = waiting.back();
    waiting.pop_back();
    if (top < 0 || seen[index(top)]) continue;
    seen[index(top)] = true;
    const auto& value = values_[index(top)];
    if (value.left < 0)
      heard[index(value.own.rank)] = true;
    else
      waiting.insert(waiting.end(), {value.left, value.right});
  }
  return heard;
}

Contents interpret(const MessagePlan& plan, const CollectiveProblem& problem) {
  Contents contents(problem, plan.scratch);
  for (const auto& message : plan.messages) contents.write(message, contents.read(message));
  return contents;
}

namespace {

/// One message as its sender and its receiver know it.
struct Transfer {
  struct Side {
    int rank = -1;
    PlannedMessage message;
    int n_waits = 0;             // actions of this rank that must be done before
    std::vector<int> followers;  // transfers whose side on this rank waits for this one
    bool is_done = false;
  };
  Side sender, receiver;  // of a message to oneself both are the same action, kept as the receiver
  std::optional<std::vector<int>> on_its_way;
  bool is_held = false;  // leaves only when the receiver is there, as large messages do

  bool is_local() const { return sender.rank < 0; }
};

class RandomRun {
 public:
  RandomRun(const std::vector<std::vector<Action>>& actions, std::int64_t scratch, const CollectiveProblem& problem,
            std::mt19937_64& random)
      : contents_(problem, scratch), random_(random) {
    for (int rank = 0; rank < problem.n_ranks; ++rank) add_actions(actions[index(rank)], rank);
  }

  Contents run() {
    ready_.resize(transfers_.size());
    std::iota(ready_.begin(), ready_.end(), 0);
    while (!ready_.empty()) {
      std::swap(ready_[random_() % ready_.size()], ready_.back());
      const int picked = ready_.back();
      ready_.pop_back();
      advance(picked);
    }
    const auto n_left = std::count_if(transfers_.begin(), transfers_.end(),
                                      [](const Transfer& transfer) { return !transfer.receiver.is_done; });
    if (n_left > 0) contents_.add_fault(fmt::format("{} messages wait for ever", n_left));
    return std::move(contents_);
  }

 private:
  void add_actions(const std::vector<Action>& actions, int rank) {
    std::vector<int> transfer_of;
    for (const auto& action : actions) {
      const auto& message = action.message;
      const auto [found, is_new] =
          transfer_by_tag_.try_emplace({message.from, message.to, action.tag}, static_cast<int>(transfers_.size()));
      if (is_new) transfers_.emplace_back().is_held = random_() % 2 == 0;
      transfer_of.push_back(found->second);
      auto& own = side(found->second, rank, message);
      own.rank = rank;
      own.message = message;
      own.n_waits = static_cast<int>(action.depends_on.size());
      for (const int before : action.depends_on) {
        const int transfer = transfer_of[index(before)];
        side(transfer, rank, actions[index(before)].message).followers.push_back(found->second);
      }
    }
  }

  Transfer::Side& side(int transfer, int rank, const PlannedMessage& message) {
    auto& both = transfers_[index(transfer)];
    return message.to == rank ? both.receiver : both.sender;
  }

  static bool is_ready(const Transfer::Side& side) { return side.rank >= 0 && side.n_waits == 0 && !side.is_done; }

  /// Lets a message leave or arrive if it can. This is called again whenever one of its sides becomes ready.
  void advance(int i) {
    auto& transfer = transfers_[index(i)];
    auto& [sender, receiver, on_its_way, is_held] = transfer;
    if (transfer.is_local()) {
      if (!is_ready(receiver)) return;
      contents_.write(receiver.message, contents_.read(receiver.message));
      finish(receiver);
      return;
    }
    if (is_ready(sender) && (!is_held || is_ready(receiver))) {
      on_its_way = contents_.read(sender.message);
      finish(sender);
      ready_.push_back(i);
      if (!is_held) return;
    }
    if (!on_its_way || !is_ready(receiver)) return;
    if (receiver.message.length == sender.message.length)
      contents_.write(receiver.message, *on_its_way);
    else
      contents_.add_fault(fmt::format("message {} to {}: {} elements sent, {} expected", sender.rank, receiver.rank,
                                      sender.message.length, receiver.message.length));
    finish(receiver);
  }

  void finish(Transfer::Side& side) {
    side.is_done = true;
    for (const int follower : side.followers) {
      auto& transfer = transfers_[index(follower)];
      auto& waiting = transfer.receiver.rank == side.rank ? transfer.receiver : transfer.sender;
      if (--waiting.n_waits == 0) ready_.push_back(follower);
    }
  }

  Contents contents_;
  std::mt19937_64& random_;
  std::map<std::tuple<int, int, int>, int> transfer_by_tag_;
  std::vector<Transfer> transfers_;
  std::vector<int> ready_;
};

std::string barrier_result(const CollectiveProblem& problem, const Contents& contents) {
  for (int rank = 0; rank < problem.n_ranks; ++rank) {
    const auto heard = contents.heard_by(rank);
    if (const auto silent = std::find(heard.begin(), heard.end(), false); silent != heard.end())
      return fmt::format("rank {} leaves the barrier without news of rank {}", rank, silent - heard.begin());
  }
  return "";
}

}  // namespace

Contents interpret_at_random(const MessagePlan& plan, const CollectiveProblem& problem, std::mt19937_64& random) {
  std::vector<std::vector<Action>> actions;
  for (int rank = 0; rank < problem.n_ranks; ++rank) actions.push_back(actions_of(plan, rank));
  return interpret_at_random(actions, plan.scratch, problem, random);
}

Contents interpret_at_random(const std::vector<std::vector<Action>>& actions, std::int64_t scratch,
                             const CollectiveProblem& problem, std::mt19937_64& random) {
  return RandomRun(actions, scratch, problem, random).run();
}

std::string check_result(const CollectiveProblem& problem, const Contents& contents) {
  if (!contents.faults().empty()) return contents.faults().front();
  if (problem.operation == Operation::barrier) return barrier_result(problem, contents);
  const auto offsets = problem.offsets();
  const bool order_matters = problem.reduces() && !problem.commutative;
  for (int rank = 0; rank < problem.n_ranks; ++rank)
    for (std::int64_t element = 0; element < offsets.back(); ++element) {
      const auto wanted = expected(problem, offsets, rank, element);
      if (!wanted) continue;
      const auto found = contents.at(rank, Buffer::output, element);
      if (const auto how = difference(found, *wanted, order_matters); !how.empty())
        return fmt::format("rank {}, element {}: {} contributions: {}, expected {}", rank, element, how, text(found),
                           text(*wanted));
    }
  return "";
}

}  // namespace tessera::collectives
