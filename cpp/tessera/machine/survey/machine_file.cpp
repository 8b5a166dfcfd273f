#include "tessera/machine/survey/machine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/machine/json_reader.h"
#include "tessera/machine/survey/read_text.h"

namespace tessera::machine {
namespace {

/// Reads a time, or null if it was not measured.
double time_of(const nlohmann::json& value, const std::string& where) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : JsonReader::convert<double>(value, where);
}

std::vector<double> times_of(const nlohmann::json& list, std::size_t n_expected, const std::string& where) {
  if (!list.is_array() || list.size() != n_expected)
    throw InputError(fmt::format("{} has {} times, expected {}: one of each size", where,
                                 list.is_array() ? std::to_string(list.size()) : "no list of", n_expected));
  std::vector<double> times;
  for (const auto& value : list) times.push_back(time_of(value, where));
  return times;
}

class HostIndex {
 public:
  void add(const std::string& host) { index_.emplace(host, static_cast<int>(index_.size())); }

  int at(const nlohmann::json& name, const std::string& where) const {
    const auto host = JsonReader::convert<std::string>(name, where);
    const auto found = index_.find(host);
    if (found == index_.end())
      throw InputError(fmt::format("{} names {}, which is not one of measurements.hosts", where, host));
    return found->second;
  }

 private:
  std::unordered_map<std::string, int> index_;
};

Experiment experiment_of(const nlohmann::json& json, const std::string& where, const HostIndex& index) {
  const JsonReader reader(json, where);
  Experiment experiment;
  experiment.bytes = reader.get<std::int64_t>("bytes");
  experiment.piece = reader.get<std::int64_t>("piece", 0);
  for (const auto& flow : reader.list("flows")) {
    if (!flow.is_array() || flow.size() != 2)
      throw InputError(fmt::format("{} holds {}, expected pairs of hosts", reader.where("flows"), flow.dump()));
    experiment.flows.push_back({index.at(flow[0], reader.where("flows")), index.at(flow[1], reader.where("flows"))});
  }
  for (const auto& [key, seconds] : {std::pair("alone", &experiment.alone), {"together", &experiment.together}})
    if (reader.has(key))
      for (const auto& time : reader.list(key))
        seconds->push_back(JsonReader::convert<double>(time, reader.where(key)));
  return experiment;
}

nlohmann::json to_json(const Trial& trial) {
  nlohmann::json json{{"library", trial.library}, {"operation", trial.operation}, {"ranks", trial.n_ranks},
                      {"bytes", trial.bytes},     {"entry", trial.entry},         {"predicted", trial.predicted},
                      {"seconds", trial.seconds}};
  if (trial.least_gain > 0) json["least_gain"] = trial.least_gain;
  if (!trial.placement.empty()) json["placement"] = trial.placement;
  return json;
}

Trial trial_of(const nlohmann::json& json, const std::string& where) {
  const JsonReader reader(json, where);
  Trial trial{reader.get<std::string>("library"),
              reader.get<std::string>("operation"),
              reader.get<int>("ranks"),
              reader.get<std::int64_t>("bytes"),
              reader.get<std::string>("entry"),
              reader.get<double>("predicted"),
              reader.get<double>("seconds"),
              reader.has("least_gain") ? reader.get<double>("least_gain") : 0,
              reader.has("placement") ? reader.get<std::string>("placement") : ""};
  for (const char* key : {"predicted", "seconds", "least_gain"})
    if (const auto value = reader.has(key) ? reader.get<double>(key) : 1; !is_time(value))
      throw InputError(fmt::format("{} is {}, expected a number from 1e-15 to 1e15", reader.where(key), value));
  return trial;
}

nlohmann::json to_json(const MessageOverlap& overlap) {
  return {{"ranks", overlap.n_ranks}, {"threads", overlap.threads}, {"share", overlap.share}};
}

MessageOverlap overlap_of(const nlohmann::json& json, const std::string& where) {
  const JsonReader reader(json, where);
  const MessageOverlap overlap{reader.get<int>("ranks"), reader.get<int>("threads"), reader.get<double>("share")};
  if (!(overlap.share >= 0 && overlap.share <= 1))
    throw InputError(fmt::format("{} is {}, expected a number from 0 to 1", reader.where("share"), overlap.share));
  return overlap;
}

/// Writes each member of an object on a line of its own, and each entry of a list of lists or objects; the numbers of a
/// list are on one line.
void write(const nlohmann::json& json, const std::string& indent, int depth, std::string& text) {
  const bool is_list = json.is_array() && !json.empty() && json[0].is_structured();
  if ((!is_list && !json.is_object()) || json.empty() || depth == 0) {
    text += json.dump();
    return;
  }
  const auto inner = indent + "  ";
  const char* separator = "";
  text += is_list ? "[" : "{";
  for (const auto& [key, value] : json.items()) {
    text += separator + ("\n" + inner);
    if (!is_list) text += nlohmann::json(key).dump() + ": ";
    write(value, inner, is_list ? 0 : depth - 1, text);
    separator = ",";
  }
  text += "\n" + indent + (is_list ? "]" : "}");
}

/// Returns the place of a byte as "line 3, column 7", counted from 1.
std::string place(const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(byte > 0 ? byte - 1 : 0, text.size()));
  const auto line = std::count(text.begin(), end, '\n') + 1;
  const auto before = std::string_view(text.data(), static_cast<std::size_t>(end - text.begin()));
  const auto newline = before.rfind('\n');
  return fmt::format("line {}, column {}", line,
                     before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1);
}

nlohmann::json parse(const std::string& text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw InputError(fmt::format("{}: is empty, expected a machine file; measure the machine again", name));
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    if (error.byte > text.size())
      throw InputError(fmt::format("{}: is cut off after {}; copy it again or measure the machine again", name,
                                   place(text, text.size())));
    throw InputError(fmt::format("{}: is not JSON at {}; expected a machine file as tessera machine measure writes it",
                                 name, place(text, error.byte)));
  } catch (const nlohmann::json::out_of_range&) {
    throw InputError(fmt::format("{}: holds a number that is not finite", name));
  }
}

}  // namespace

nlohmann::json to_json(const Measurements& measurements) {
  auto hosts = nlohmann::json::array();
  const int n = static_cast<int>(measurements.hosts.size());
  const auto n_sizes = measurements.sizes.size();
  for (std::size_t h = 0; h < measurements.hosts.size(); ++h) {
    const auto& host = measurements.hosts[h];
    auto inside = nlohmann::json::array();
    for (std::size_t k = 0; k < n_sizes; ++k) inside.push_back(measurements.inside[k][h]);
    hosts.push_back({{"name", host.name},
                     {"slots", host.slots},
                     {"ranks", host.ranks},
                     {"kernel", host.kernel},
                     {"inside", std::move(inside)},
                     {"node", to_json(host.node)}});
  }
  auto pairs = nlohmann::json::array();
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      auto seconds = nlohmann::json::array();
      bool is_known = false;
      for (const auto& times : measurements.times) {
        seconds.push_back(times.at(a, b));
        is_known |= !std::isnan(times.at(a, b));
      }
      const auto name = [&](int host) { return measurements.hosts[static_cast<std::size_t>(host)].name; };
      if (is_known) pairs.push_back({{"from", name(a)}, {"to", name(b)}, {"seconds", std::move(seconds)}});
    }
  auto experiments = nlohmann::json::array();
  for (const auto& experiment : measurements.experiments) {
    auto flows = nlohmann::json::array();
    for (const auto& flow : experiment.flows)
      flows.push_back({measurements.hosts[static_cast<std::size_t>(flow.from)].name,
                       measurements.hosts[static_cast<std::size_t>(flow.to)].name});
    experiments.push_back({{"flows", std::move(flows)},
                           {"bytes", experiment.bytes},
                           {"piece", experiment.piece},
                           {"alone", experiment.alone},
                           {"together", experiment.together}});
  }
  return {{"hosts", std::move(hosts)},
          {"sizes", measurements.sizes},
          {"pairs", std::move(pairs)},
          {"experiments", std::move(experiments)}};
}

Measurements measurements_from_json(const nlohmann::json& json, const std::string& name) {
  const JsonReader reader(json, name + ": measurements");
  std::vector<std::int64_t> sizes;
  for (const auto& size : reader.list("sizes"))
    sizes.push_back(JsonReader::convert<std::int64_t>(size, reader.where("sizes")));
  std::vector<MeasuredHost> hosts;
  std::vector<std::vector<double>> inside;
  HostIndex index;
  for (const auto& entry : reader.list("hosts")) {
    const JsonReader host(entry, fmt::format("{}[{}]", reader.where("hosts"), hosts.size()));
    MeasuredHost measured{host.get<std::string>("name"), host.get<int>("slots", 1), {}, {}, -1};
    if (host.has("ranks"))
      for (const auto& rank : host.list("ranks"))
        measured.ranks.push_back(JsonReader::convert<int>(rank, host.where("ranks")));
    measured.kernel = host.get<int>("kernel", -1);
    if (host.has("node")) measured.node = machine_from_json(host.at("node"), host.where("node"));
    inside.push_back(host.has("inside") ? times_of(host.at("inside"), sizes.size(), host.where("inside"))
                                        : std::vector<double>(sizes.size(), std::nan("")));
    index.add(measured.name);
    hosts.push_back(std::move(measured));
  }
  auto measurements = Measurements::of(std::move(hosts), std::move(sizes));
  for (std::size_t k = 0; k < measurements.sizes.size(); ++k)
    for (std::size_t h = 0; h < inside.size(); ++h) measurements.inside[k][h] = inside[h][k];
  std::size_t n_pairs = 0;
  for (const auto& entry : reader.list("pairs")) {
    const JsonReader pair(entry, fmt::format("{}[{}]", reader.where("pairs"), n_pairs++));
    const int from = index.at(pair.at("from"), pair.where("from"));
    const int to = index.at(pair.at("to"), pair.where("to"));
    const auto seconds = times_of(pair.at("seconds"), measurements.sizes.size(), pair.where("seconds"));
    for (std::size_t k = 0; k < seconds.size(); ++k) measurements.times[k].at(from, to) = seconds[k];
  }
  if (reader.has("experiments"))
    for (const auto& entry : reader.list("experiments"))
      measurements.experiments.push_back(experiment_of(
          entry, fmt::format("{}[{}]", reader.where("experiments"), measurements.experiments.size()), index));
  measurements.check(name + ": measurements");
  return measurements;
}

std::string machine_file_text(const MachineFile& file) {
  auto json = to_json(file.machine);
  json["measurements"] = file.measurements ? to_json(*file.measurements) : nlohmann::json(nullptr);
  json["trials"] = nlohmann::json::array();
  for (const auto& trial : file.trials) json["trials"].push_back(to_json(trial));
  json["file_systems"] = nlohmann::json::array();
  for (const auto& system : file.file_systems) json["file_systems"].push_back(to_json(system));
  for (const auto& overlap : file.overlaps) json["overlaps"].push_back(to_json(overlap));
  std::string text;
  write(json, "", 3, text);
  return text + "\n";
}

MachineFile machine_file_from_text(const std::string& text, const std::string& name) {
  const auto json = parse(text, name);
  MachineFile file{machine_from_json(json, name), std::nullopt, {}, {}, {}};
  const auto measurements = json.find("measurements");
  if (measurements != json.end() && !measurements->is_null())
    file.measurements = measurements_from_json(*measurements, name);
  const JsonReader reader(json, name + ": ");
  if (reader.has("trials"))
    for (const auto& trial : reader.list("trials"))
      file.trials.push_back(trial_of(trial, fmt::format("{}[{}]", reader.where("trials"), file.trials.size())));
  if (reader.has("file_systems"))
    for (const auto& system : reader.list("file_systems"))
      file.file_systems.push_back(
          file_system_from_json(system, fmt::format("{}[{}]", reader.where("file_systems"), file.file_systems.size())));
  if (reader.has("overlaps"))
    for (const auto& overlap : reader.list("overlaps"))
      file.overlaps.push_back(
          overlap_of(overlap, fmt::format("{}[{}]", reader.where("overlaps"), file.overlaps.size())));
  return file;
}

MachineFile read_machine_file(const std::filesystem::path& path) {
  return machine_file_from_text(read_text(path), path.string());
}

Network read_network(const std::filesystem::path& path) { return network_of(read_machine_file(path), path); }

const Network& network_of(const MachineFile& file, const std::filesystem::path& path) {
  if (!file.machine.network)
    throw InputError(path.string() + ": knows no network; measure it between the hosts (tessera machine measure)");
  return *file.machine.network;
}

std::vector<Trial> trials_of(MachineFile file, const std::string& library) {
  std::erase_if(file.trials, [&](const Trial& trial) { return trial.library != library; });
  return std::move(file.trials);
}

}  // namespace tessera::machine
