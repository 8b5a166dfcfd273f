#include "tessera/app/imd/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/base/threads.h"

namespace tessera::app::imd {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int nobody = -1;    // a handle that poll passes over
constexpr int second = 1000;  // ms: for a client to say go, as the protocol has it, and for the last frame

void make_nonblocking(int handle) { (void)::fcntl(handle, F_SETFL, ::fcntl(handle, F_GETFL) | O_NONBLOCK); }

/// Returns the milliseconds until a time, not less than 0.
int until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

/// Sets how much of a frame waits for a slow client, and after how long one whose host has vanished is left.
void prepare(int client) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(client, level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_SNDBUF, 256 << 10);  // bytes: what a slow client gets is not to be older than that
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);  // seconds
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
}

/// Opens a socket that listens.
int listen_at(const std::string& host, std::int64_t port) {
  const auto place = fmt::format("output.imd = {} at {}", port, host);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICHOST;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0 || found == nullptr)
    throw InputError(fmt::format("output.imd_host is {}, expected an address of this host such as 127.0.0.1", host));
  const int handle = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (handle >= 0) (void)::setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool listens =
      handle >= 0 && ::bind(handle, found->ai_addr, found->ai_addrlen) == 0 && ::listen(handle, 1) == 0;
  const int error = errno;
  ::freeaddrinfo(found);
  if (listens) return handle;
  if (handle >= 0) ::close(handle);
  throw InputError(
      fmt::format("{} can't be listened at: {}; choose another port, or 0 for none", place, system_error_text(error)));
}

}  // namespace

Server::Server(const std::string& host, std::int64_t port, const Contents& contents, std::int64_t n_atoms)
    : contents_(contents), n_atoms_(n_atoms), listening_(listen_at(host, port)), port_(port) {
  make_nonblocking(listening_);
  if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) {
    ::close(listening_);
    throw RunError(fmt::format("a pipe for output.imd can't be made: {}", system_error_text(errno)));
  }
  thread_ = start_without_signals([this] { serve_all(); });
}

Server::~Server() {
  is_ending_ = true;
  (void)!::write(wake_[1], "", 1);
  thread_.join();
  for (const int handle : {listening_, wake_[0], wake_[1]}) ::close(handle);
}

void Server::give(Bytes frame) {
  wants_frame_ = false;  // before the thread can have sent this frame
  {
    const std::scoped_lock lock(mutex_);
    next_ = std::move(frame);
  }
  (void)!::write(wake_[1], "", 1);
}

std::vector<std::string> Server::take_notes() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(notes_, {});
}

/// Tells something once, however often it happens.
void Server::note(const std::string& text) {
  if (!told_.insert(text).second) return;
  const std::scoped_lock lock(mutex_);
  notes_.push_back(text);
}

void Server::refuse(const char* what) {
  note(fmt::format("a program that watches this run asks for what it is refused: {}", what));
}

/// Waits for events of a handle or until give() or the end wakes the thread; returns false where time has passed.
bool Server::wait_for(int handle, short events, int milliseconds, short& found) {
  std::array<pollfd, 2> handles = {pollfd{handle, events, 0}, pollfd{wake_[0], POLLIN, 0}};
  const int n = ::poll(handles.data(), handles.size(), milliseconds);
  found = n > 0 ? handles[0].revents : short{0};
  std::array<char, 64> ignored;
  if (n > 0 && handles[1].revents != 0)
    while (::read(wake_[0], ignored.data(), ignored.size()) > 0) {
    }
  return n != 0;
}

void Server::serve_all() {
  constexpr int for_ever = -1;
  while (!is_ending_) {
    short found = 0;
    (void)wait_for(listening_, POLLIN, for_ever, found);
    if (found == 0) continue;
    const int client = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) {
      // Where descriptors are short, the client waits and wakes poll again and again.
      (void)wait_for(nobody, 0, second, found);
      continue;
    }
    prepare(client);
    serve(client);
    wants_frame_ = false;
    every_ = 0;
    ::close(client);
  }
}

/// Sends a client what it gets first and waits until it says go; returns whether it does in time.
bool Server::has_go(int client) {
  const auto hello = greeting(contents_);  // which fits into any buffer of the system
  if (::send(client, hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) return false;
  const auto end = Clock::now() + std::chrono::milliseconds(second);
  std::array<std::byte, Header::bytes> bytes;
  std::size_t have = 0;
  while (!is_ending_ && until(end) > 0) {
    short found = 0;
    (void)wait_for(client, POLLIN, until(end), found);
    if ((found & POLLIN) == 0) {
      if (found != 0) return false;
      continue;
    }
    const auto n = ::recv(client, bytes.data() + have, bytes.size() - have, 0);
    if (n <= 0) return false;
    have += static_cast<std::size_t>(n);
    if (have < bytes.size()) continue;
    if (header_from(bytes.data()).kind == static_cast<std::int32_t>(Kind::go)) return true;
    break;
  }
  if (!is_ending_) note("a program that connected to output.imd did not say go within a second, and is left");
  return false;
}

void Server::serve(int client) {
  received_.clear();
  to_skip_ = 0;
  {
    const std::scoped_lock lock(mutex_);
    next_.clear();
  }
  if (!has_go(client)) return;
  Bytes frame;
  std::size_t sent = 0;
  wants_frame_ = true;
  Clock::time_point end{};
  for (;;) {
    if (frame.empty()) {
      const std::scoped_lock lock(mutex_);
      std::swap(frame, next_);
      sent = 0;
    }
    if (is_ending_) {
      if (end == Clock::time_point{}) end = Clock::now() + std::chrono::milliseconds(second);
      if (frame.empty() || until(end) == 0) return;
    }
    short found = 0;
    (void)wait_for(client, static_cast<short>(frame.empty() ? POLLIN : POLLIN | POLLOUT), is_ending_ ? until(end) : -1,
                   found);
    if ((found & POLLIN) != 0 && !listen_to(client)) return;
    if ((found & (POLLERR | POLLHUP)) != 0) return;
    if ((found & POLLOUT) == 0) continue;
    const auto n = ::send(client, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return;
    sent += static_cast<std::size_t>(std::max<ssize_t>(0, n));
    if (sent < frame.size()) continue;
    frame.clear();
    wants_frame_ = true;
  }
}

bool Server::listen_to(int client) {
  std::array<std::byte, 4096> bytes;
  const auto n = ::recv(client, bytes.data(), bytes.size(), 0);
  if (n == 0) return false;
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  received_.insert(received_.end(), bytes.begin(), bytes.begin() + n);
  std::size_t at = 0;
  for (;;) {
    const auto skipped = std::min(to_skip_, std::ssize(received_) - static_cast<std::int64_t>(at));
    to_skip_ -= skipped;
    at += static_cast<std::size_t>(skipped);
    if (received_.size() - at < Header::bytes) break;
    if (!answer(header_from(received_.data() + at))) return false;
    at += Header::bytes;
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

/// Does what a client may ask for. Returns false where it leaves, or is left as it sends what the protocol does not
/// have.
bool Server::answer(const Header& header) {
  constexpr std::int64_t bytes_of_force = 16;  // an index and three numbers
  switch (static_cast<Kind>(header.kind)) {
    case Kind::disconnect:
      return false;
    case Kind::go:
      return true;
    case Kind::rate:
      every_ = std::max(0, header.number);
      return true;
    case Kind::kill:
      refuse("to end the run");
      return true;
    case Kind::pause:
    case Kind::resume:
    case Kind::wait:
      refuse("to pause the run");
      return true;
    case Kind::forces_of_client:
      refuse("to apply forces");
      to_skip_ = bytes_of_force * header.number;
      return header.number >= 0 && header.number <= n_atoms_;
    default:
      note("a program that watched this run sent what IMD does not have, and is left");
      return false;
  }
}

}  // namespace tessera::app::imd
