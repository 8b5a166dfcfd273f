#include "tessera/machine/storage/file_system.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/machine/json_reader.h"

namespace tessera::machine {

nlohmann::json to_json(const FileSystem& system) {
  auto trials = nlohmann::json::array();
  for (const auto& trial : system.trials)
    trials.push_back({{"method", trial.method},
                      {"format", trial.format},
                      {"order", trial.order},
                      {"ranks", trial.n_ranks},
                      {"hosts", trial.n_hosts},
                      {"writers", trial.n_writers},
                      {"files", trial.n_files},
                      {"batch", trial.batch},
                      {"buffer", trial.buffer},
                      {"bytes", trial.bytes},
                      {"seconds", trial.seconds}});
  return {{"folder", system.folder},
          {"kind", system.kind},
          {"raw", system.raw},
          {"file_seconds", system.file_seconds},
          {"most_files", system.most_files},
          {"trials", std::move(trials)}};
}

FileSystem file_system_from_json(const nlohmann::json& json, const std::string& where) {
  const JsonReader reader(json, where);
  FileSystem system{reader.get<std::string>("folder"), reader.get<std::string>("kind", "unknown"),
                    reader.get<double>("raw"),         reader.get<double>("file_seconds"),
                    reader.get<int>("most_files"),     {}};
  const auto check = [](double value, const std::string& name) {
    if (!(value >= 1e-15 && value <= 1e18))
      throw InputError(fmt::format("{} is {}, expected a number from 1e-15 to 1e18", name, value));
  };
  check(system.raw, reader.where("raw"));
  check(system.file_seconds, reader.where("file_seconds"));
  check(system.most_files, reader.where("most_files"));
  for (const auto& entry : reader.list("trials")) {
    const JsonReader one(entry, fmt::format("{}[{}]", reader.where("trials"), system.trials.size()));
    WriteTrial trial{one.get<std::string>("method"), one.get<std::string>("format"), one.get<std::string>("order"),
                     one.get<int>("ranks"),          one.get<int>("hosts", 1),       one.get<int>("writers"),
                     one.get<int>("files", 1),       one.get<std::int64_t>("batch"), one.get<std::int64_t>("buffer"),
                     one.get<std::int64_t>("bytes"), one.get<double>("seconds")};
    check(trial.n_ranks, one.where("ranks"));
    check(static_cast<double>(trial.bytes), one.where("bytes"));
    check(trial.seconds, one.where("seconds"));
    system.trials.push_back(std::move(trial));
  }
  return system;
}

}  // namespace tessera::machine
