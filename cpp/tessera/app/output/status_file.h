// status.json says how far a run is, for programs that watch it: docs/reference/status.md lists its keys.
//
// It appears when step 1 is done and is replaced as a whole, at most once a second, by what the root knows: no rank is
// asked for anything. At the end it says how the run has ended.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tessera::app {

inline constexpr std::string_view status_file_name = "status.json";

/// All ranks have one; only the root writes.
class StatusFile {
 public:
  using Clock = std::chrono::steady_clock;

  /// Writes into a folder, which need not be there before the first update. `is_writer`: on the root.
  StatusFile(std::string folder, bool is_writer) : folder_(std::move(folder)), is_writer_(is_writer) {}

  /// Sets keys that all updates from now on have, such as the stages of a protocol.
  void set(const std::string& key, nlohmann::json value) { lasting_[key] = std::move(value); }
  /// Returns whether an update is due: ask before composing it. False on other ranks.
  bool is_due() const { return is_writer_ && Clock::now() >= next_; }
  bool is_writer() const { return is_writer_; }
  /// Replaces the file by what `compose()` returns, an object, with the time and the process. A file that can't be
  /// written is left as it is: no run ends for want of one.
  template <class Compose>
  void update(Compose&& compose) {
    const auto begin = Clock::now();
    write(compose());
    plan_next(begin);
  }
  /// Says how the run has ended. Does nothing where no step was done: then the file tells of an earlier run, or is not
  /// there.
  void end(std::string_view state, int exit_status, const std::string& message);

 private:
  void write(const nlohmann::json& update);
  void place(const nlohmann::json& content);
  void plan_next(Clock::time_point begin);

  std::string folder_;
  bool is_writer_;
  Clock::time_point next_;
  double interval_ = 1;  // s
  nlohmann::json lasting_ = nlohmann::json::object(), last_;
};

}  // namespace tessera::app
