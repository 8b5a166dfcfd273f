#include "tessera/app/output/status_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tessera/app/config/schema.h"
#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"

namespace tessera::app {

namespace {

/// Returns the time of the system's clock: "2026-11-28T06:15:00.123Z".
std::string time_text() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto whole = std::chrono::time_point_cast<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)),
                     (now - whole).count());
}

}  // namespace

void StatusFile::write(const nlohmann::json& update) {
  if (!is_writer_) return;
  nlohmann::json content = {{"format", "tessera-status"},
                            {"version", 1},
                            {"state", "running"},
                            {"process", {{"host", host_name()}, {"id", ::getpid()}, {"tessera", TESSERA_VERSION}}},
                            {"end", nullptr}};
  content.update(lasting_);
  content.update(update);
  // A watcher tells from it when silence is a sign: steps may be longer than a second.
  const auto& rate = content.value("steps_per_second", nlohmann::json(nullptr));
  const double a_step = rate.is_number() && rate.get<double>() > 0 ? 1 / rate.get<double>() : 0;
  content["interval_seconds"] = std::max(interval_, a_step);
  place(content);
  last_ = std::move(content);
}

void StatusFile::place(const nlohmann::json& content) {
  auto timed = content;
  timed["time"] = time_text();
  try {
    // It is not brought to the disk: after a failure of the machine nothing is watched, and waiting for the disk would
    // slow the run.
    const auto text = json_text(timed) + "\n";
    AtomicFile file(fmt::format("{}/{}", folder_, status_file_name));
    file.append(std::as_bytes(std::span(text.data(), text.size())));
    file.place();
  } catch (const RunError&) {
    // A full disk is the matter of the files that count.
  } catch (const InputError&) {
    // Something else has its name.
  }
}

/// Finds when the next update is due: a slow file system gets fewer, so that they take a thousandth of the time at most.
void StatusFile::plan_next(Clock::time_point begin) {
  constexpr double least = 1, most = 60, times_its_cost = 1000;  // s
  const auto now = Clock::now();
  const double cost = std::chrono::duration<double>(now - begin).count();
  interval_ = std::clamp(times_its_cost * cost, least, most);
  next_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_));
}

void StatusFile::end(std::string_view state, int exit_status, const std::string& message) {
  if (!is_writer_ || last_.is_null()) return;
  auto content = std::exchange(last_, nullptr);
  content["state"] = state;
  content["end"] = {{"exit_status", exit_status}, {"message", message}};
  place(content);
}

}  // namespace tessera::app
