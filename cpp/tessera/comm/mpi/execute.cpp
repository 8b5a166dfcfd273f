#include "tessera/comm/mpi/execute.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "tessera/base/error.h"

namespace tessera::comm::mpi {

using collectives::Effect;
using collectives::PlannedMessage;

Schedule::Schedule(const collectives::MessagePlan& plan, int rank)
    : Schedule(collectives::actions_of(plan, rank), rank) {
  window_ = plan.window;
  horizon_ = plan.horizon;
}

Schedule::Schedule(std::vector<Action> actions, int rank) : actions_(std::move(actions)) {
  const auto n = actions_.size();
  first_.assign(n + 1, 0);
  neighbour_.assign(n, -1);
  std::map<int, int> neighbour_of_rank;
  for (std::size_t i = 0; i < n; ++i) {
    const auto& [message, tag, depends_on] = actions_[i];
    const bool combines = message.effect != Effect::replace;
    if (message.length == 0) {
      roles_.push_back(Role::nothing);
    } else if (message.from == message.to) {
      roles_.push_back(Role::copy);
    } else if (message.from == rank) {
      roles_.push_back(Role::send);
      neighbour_[i] =
          neighbour_of_rank.try_emplace(message.to, static_cast<int>(neighbour_of_rank.size())).first->second;
      sends_.resize(neighbour_of_rank.size());
      sends_[static_cast<std::size_t>(neighbour_[i])].push_back(static_cast<int>(i));
    } else {
      roles_.push_back(combines ? Role::combine : Role::receive);
    }
    if (message.from == rank)
      touched_[static_cast<std::size_t>(message.source)].include({message.begin, message.length});
    if (message.to == rank) {
      const ElementRange range{message.at, message.length};
      touched_[static_cast<std::size_t>(message.target)].include(range);
      written_[static_cast<std::size_t>(message.target)].include(range);
      if (combines) longest_combined_ = std::max(longest_combined_, message.length);
    }
    n_waits_.push_back(static_cast<int>(depends_on.size()));
    for (const int before : depends_on) ++first_[static_cast<std::size_t>(before) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  followers_.resize(static_cast<std::size_t>(first_.back()));
  auto at = first_;
  for (std::size_t i = 0; i < n; ++i)
    for (const int before : actions_[i].depends_on)
      followers_[static_cast<std::size_t>(at[static_cast<std::size_t>(before)]++)] = static_cast<int>(i);
}

Executor::Executor(MPI_Comm comm, const Limits& limits) : comm_(comm), limits_(limits) {
  MPI_Comm_rank(comm, &rank_);
  void* bound = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &is_set);
  const int most = is_set ? *static_cast<int*>(bound) : 32767;  // which every library has
  if (limits_.tags <= 0 || limits_.tags > most) limits_.tags = most;
}

std::byte* Executor::address(Buffer buffer, std::int64_t element) const {
  std::byte* const base = buffer == Buffer::input    ? vectors_.input
                          : buffer == Buffer::output ? vectors_.output
                                                     : vectors_.scratch;
  return base + element * element_.extent;
}

/// Returns the address of element 0 of a slot.
std::byte* Executor::landing(int slot) { return landing_base_ + slot * slot_stride_; }

int Executor::execute(const Schedule& schedule, const BufferAddresses& vectors, const Element& element,
                      const Reduction& reduction) {
  vectors_ = vectors;
  element_ = element;
  reduction_ = reduction;
  begin(schedule);
  const auto n = static_cast<int>(schedule.actions_.size());
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    code = do_local_work();
    if (code != MPI_SUCCESS || n_done_ == n) break;
    code = start_messages(ready_receives_, false);
    if (code != MPI_SUCCESS) break;
    code = start_messages(ready_sends_, true);
    if (code != MPI_SUCCESS) break;
    TESSERA_CHECK(!requests_.empty());
    code = wait();
  }
  if (code != MPI_SUCCESS) abandon();
  landing_.trim();
  return code;
}

void Executor::begin(const Schedule& schedule) {
  schedule_ = &schedule;
  const auto n = schedule.actions_.size();
  waits_ = schedule.n_waits_;
  is_done_.assign(n, 0);
  slot_.assign(n, -1);
  has_arrived_.assign(n, 0);
  sent_.assign(n, 0);
  is_started_.assign(n, 0);
  n_started_in_order_.assign(schedule.sends_.size(), 0);
  n_ahead_.assign(schedule.sends_.size(), 0);
  held_.assign(schedule.sends_.size(), {});
  ready_sends_.clear();
  ready_receives_.clear();
  local_.clear();
  requests_.clear();
  owners_.clear();
  n_sends_ = n_receives_ = n_done_ = frontier_ = 0;
  free_slots_.clear();
  if (schedule.longest_combined_ > 0) {
    const auto span = std::abs((schedule.longest_combined_ - 1) * element_.extent) + element_.true_extent;
    slot_stride_ = std::max<std::int64_t>(1, (span + 63) / 64) * 64;  // 64: a cache line
    // The first slot is for work on this rank, and one is reserved for the action at the frontier.
    const auto n_slots = 2 + std::clamp<std::int64_t>(limits_.landing_bytes / slot_stride_, 1, limits_.receives);
    const auto lowest =
        std::min<std::int64_t>(0, (schedule.longest_combined_ - 1) * element_.extent) + element_.true_lower;
    landing_base_ = landing_.bytes(n_slots * slot_stride_) - lowest;
    for (auto slot = n_slots - 1; slot > 0; --slot) free_slots_.push_back(static_cast<int>(slot));
  }
  for (std::size_t i = 0; i < n; ++i) {
    // A message that is combined is received in separate storage, so it may arrive before its turn.
    if (schedule.roles_[i] == Role::combine) ready_receives_.push_back(static_cast<int>(i));
    if (waits_[i] == 0) make_ready(static_cast<int>(i));
  }
}

void Executor::make_ready(int action) {
  const auto push = [&](std::vector<int>& heap) {
    heap.push_back(action);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  const auto i = static_cast<std::size_t>(action);
  switch (schedule_->roles_[i]) {
    case Role::send:
      push(ready_sends_);
      break;
    case Role::receive:
      push(ready_receives_);
      break;
    case Role::combine:
      if (has_arrived_[i]) local_.push_back(action);
      break;
    case Role::copy:
    case Role::nothing:
      local_.push_back(action);
      break;
  }
}

void Executor::finish(int action) {
  const auto i = static_cast<std::size_t>(action);
  is_done_[i] = 1;
  ++n_done_;
  while (frontier_ < static_cast<int>(is_done_.size()) && is_done_[static_cast<std::size_t>(frontier_)]) ++frontier_;
  if (slot_[i] >= 0) free_slots_.push_back(slot_[i]);
  for (int f = schedule_->first_[i]; f < schedule_->first_[i + 1]; ++f) {
    const int follower = schedule_->followers_[static_cast<std::size_t>(f)];
    if (--waits_[static_cast<std::size_t>(follower)] == 0) make_ready(follower);
  }
}

int Executor::do_local_work() {
  while (!local_.empty()) {
    const int action = local_.back();
    local_.pop_back();
    const auto i = static_cast<std::size_t>(action);
    const auto& message = schedule_->actions_[i].message;
    int code = MPI_SUCCESS;
    if (schedule_->roles_[i] == Role::combine) {
      code = combine(landing(slot_[i]), message, true);
    } else if (schedule_->roles_[i] == Role::copy) {
      const auto* from = address(message.source, message.begin);
      code = message.effect == Effect::replace
                 ? copy(from, address(message.target, message.at), message.length, element_)
                 : combine(from, message, false);
    }
    if (code != MPI_SUCCESS) return code;
    finish(action);
  }
  return MPI_SUCCESS;
}

/// Combines elements with the target of a message. Where `from_is_ours`, `from` may be overwritten.
int Executor::combine(const std::byte* from, const PlannedMessage& message, bool from_is_ours) {
  if (element_.is_empty) return MPI_SUCCESS;
  auto* target = address(message.target, message.at);
  if (message.effect == Effect::combine_left || reduction_.is_commutative) return reduce(from, target, message.length);
  // The result replaces the right operand.
  auto* right = from_is_ours ? const_cast<std::byte*>(from) : landing(0);
  if (!from_is_ours)
    if (const int code = copy(from, right, message.length, element_); code != MPI_SUCCESS) return code;
  if (const int code = reduce(target, right, message.length); code != MPI_SUCCESS) return code;
  return copy(right, target, message.length, element_);
}

/// Computes right = left ∘ right.
int Executor::reduce(const std::byte* left, std::byte* right, std::int64_t count) {
  for (std::int64_t begin = 0; begin < count; begin += limits_.piece) {
    const auto n = static_cast<int>(std::min(limits_.piece, count - begin));
    const auto offset = begin * element_.extent;
    const int code = MPI_Reduce_local(left + offset, right + offset, n, element_.type, reduction_.operation);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Executor::copy(const std::byte* from, std::byte* to, std::int64_t count, const Element& element) {
  if (element.is_empty || count == 0) return MPI_SUCCESS;
  if (!element.has_holes()) {
    std::memcpy(to, from, static_cast<std::size_t>(count * element.extent));
    return MPI_SUCCESS;
  }
  // Holes belong to the user, and the library knows where they are. No other rank sends on this communicator with this
  // rank as the source.
  for (std::int64_t begin = 0; begin < count; begin += limits_.piece) {
    const auto n = static_cast<int>(std::min(limits_.piece, count - begin));
    const auto offset = begin * element.extent;
    const int code = MPI_Sendrecv(from + offset, n, element.type, rank_, 0, to + offset, n, element.type, rank_, 0,
                                  comm_, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Executor::start_messages(std::vector<int>& ready, bool are_sends) {
  int& n_under_way = are_sends ? n_sends_ : n_receives_;
  int limit = are_sends ? limits_.sends : limits_.receives;
  int furthest = limits_.tags;
  if (are_sends && schedule_->window_ > 0) limit = std::min(limit, schedule_->window_);
  if (are_sends && schedule_->horizon_ > 0) furthest = std::min(furthest, schedule_->horizon_);
  while (!ready.empty()) {
    const int action = ready.front();
    const auto i = static_cast<std::size_t>(action);
    const bool is_first = action == frontier_;
    // Two messages between the same ranks may bear the same tag only where one is done before the other starts.
    if (!is_first && (n_under_way >= limit || action - frontier_ >= furthest)) break;
    if (schedule_->roles_[i] == Role::combine) {
      if (free_slots_.size() < (is_first ? 1U : 2U)) break;
      slot_[i] = free_slots_.back();
      free_slots_.pop_back();
    }
    std::pop_heap(ready.begin(), ready.end(), std::greater<>());
    ready.pop_back();
    if (are_sends && !may_go_ahead(action)) {
      held_[static_cast<std::size_t>(schedule_->neighbour_[i])].push_back(action);
      continue;
    }
    if (are_sends) note_start(action);
    ++n_under_way;
    if (const int code = start_piece(action); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

/// Tells whether a send may start before earlier ones to the same neighbour. The first of them always may.
bool Executor::may_go_ahead(int action) const {
  const auto neighbour = static_cast<std::size_t>(schedule_->neighbour_[static_cast<std::size_t>(action)]);
  return schedule_->sends_[neighbour][n_started_in_order_[neighbour]] == action || n_ahead_[neighbour] < limits_.ahead;
}

/// Notes that a send has started. Sends that were held back become ready again when an earlier one starts.
void Executor::note_start(int action) {
  const auto neighbour = static_cast<std::size_t>(schedule_->neighbour_[static_cast<std::size_t>(action)]);
  const auto& sends = schedule_->sends_[neighbour];
  auto& in_order = n_started_in_order_[neighbour];
  is_started_[static_cast<std::size_t>(action)] = 1;
  if (sends[in_order] != action) {
    ++n_ahead_[neighbour];
    return;
  }
  for (++in_order; in_order < sends.size() && is_started_[static_cast<std::size_t>(sends[in_order])]; ++in_order)
    --n_ahead_[neighbour];
  for (const int held : held_[neighbour]) make_ready(held);
  held_[neighbour].clear();
}

/// Starts the next piece of a message. Pieces follow each other, so that they arrive in order.
int Executor::start_piece(int action) {
  const auto i = static_cast<std::size_t>(action);
  const auto& [message, number, depends_on] = schedule_->actions_[i];
  const auto kind = schedule_->roles_[i];
  const auto length = std::min(limits_.piece, message.length - sent_[i]);
  const auto count = element_.is_empty ? 0 : static_cast<int>(length);
  const int tag = number % limits_.tags;
  auto* memory = kind == Role::send      ? address(message.source, message.begin + sent_[i])
                 : kind == Role::combine ? landing(slot_[i]) + sent_[i] * element_.extent
                                         : address(message.target, message.at + sent_[i]);
  sent_[i] += length;
  owners_.push_back(action);
  auto& request = requests_.emplace_back(MPI_REQUEST_NULL);
  if (kind != Role::send) return MPI_Irecv(memory, count, element_.type, message.from, tag, comm_, &request);
  // A send may be complete as soon as the library has a copy, a synchronous one only when its receiver has taken it.
  const auto send = schedule_->window_ > 0 ? MPI_Issend : MPI_Isend;
  return send(memory, count, element_.type, message.to, tag, comm_, &request);
}

/// Waits inside MPI until messages were sent or received, and continues with what depended on them.
int Executor::wait() {
  const auto n = requests_.size();
  completed_.resize(n);
  statuses_.resize(n);
  int n_completed = 0;
  const int code =
      MPI_Waitsome(static_cast<int>(n), requests_.data(), &n_completed, completed_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (int c = 0; c < n_completed; ++c)
      if (const int error = statuses_[static_cast<std::size_t>(c)].MPI_ERROR; error != MPI_SUCCESS) return error;
  }
  if (code != MPI_SUCCESS) return code;
  for (int c = 0; c < n_completed; ++c) {
    auto& place = completed_[static_cast<std::size_t>(c)];
    place = owners_[static_cast<std::size_t>(place)];  // from here on: the action
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    owners_[kept++] = owners_[i];
  }
  requests_.resize(kept);
  owners_.resize(kept);
  for (int c = 0; c < n_completed; ++c) {
    const int action = completed_[static_cast<std::size_t>(c)];
    const auto i = static_cast<std::size_t>(action);
    if (sent_[i] < schedule_->actions_[i].message.length) {
      if (const int error = start_piece(action); error != MPI_SUCCESS) return error;
      continue;
    }
    --(schedule_->roles_[i] == Role::send ? n_sends_ : n_receives_);
    if (schedule_->roles_[i] == Role::combine) {
      has_arrived_[i] = 1;
      if (waits_[i] == 0) local_.push_back(action);
    } else {
      finish(action);
    }
  }
  return MPI_SUCCESS;
}

/// Cancels messages after an error, so that those that still arrive do not touch our memory.
void Executor::abandon() {
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    if (requests_[r] == MPI_REQUEST_NULL) continue;
    if (schedule_->roles_[static_cast<std::size_t>(owners_[r])] != Role::send) MPI_Cancel(&requests_[r]);
    MPI_Request_free(&requests_[r]);
  }
  requests_.clear();
  owners_.clear();
}

}  // namespace tessera::comm::mpi
