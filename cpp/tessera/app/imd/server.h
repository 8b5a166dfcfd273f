// One client at a time that watches a run. A thread of the root talks with it, so that the run waits for nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tessera/app/imd/packets.h"

namespace tessera::app::imd {

class Server {
 public:
  /// Opens the port; 0: any that is free. Throws InputError where that can't be.
  Server(const std::string& host, std::int64_t port, const Contents& contents, std::int64_t n_atoms);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Waits a second at most for the last frame to be sent.
  ~Server();

  std::int64_t port() const { return port_; }
  /// Tells whether a client is there that has got all of the last frame.
  bool wants_frame() const { return wants_frame_; }
  /// Returns how many steps apart the client wants frames; 0: it has not said.
  std::int64_t every() const { return every_; }
  /// Hands over the frame that is wanted.
  void give(Bytes frame);
  /// Returns what there is to tell people since the last call.
  std::vector<std::string> take_notes();

 private:
  void serve_all();
  void serve(int client);
  bool has_go(int client);
  /// Takes what the client has sent; returns false where it is to be left.
  bool listen_to(int client);
  bool answer(const Header& header);
  void refuse(const char* what);
  void note(const std::string& text);
  bool wait_for(int handle, short events, int milliseconds, short& found);

  Contents contents_;
  std::int64_t n_atoms_;
  int listening_ = -1;
  int wake_[2] = {-1, -1};  // a pipe: a byte wakes the thread
  std::int64_t port_ = 0;
  std::atomic<bool> wants_frame_{false}, is_ending_{false};
  std::atomic<std::int64_t> every_{0};
  std::mutex mutex_;
  Bytes next_;                      // handed over; empty: none
  std::vector<std::string> notes_;  // to be told
  // These belong to the thread.
  Bytes received_;
  std::int64_t to_skip_ = 0;  // bytes of a body that is refused
  std::set<std::string> told_;
  std::thread thread_;
};

}  // namespace tessera::app::imd
