#include "tessera/programs/io/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/write/write.h"
#include "tessera/programs/io/candidates.h"
#include "tessera/programs/io/library_methods.h"
#include "tessera/programs/io/sample.h"
#include "tessera/programs/io/seconds_of.h"

namespace tessera::programs {

namespace fs = std::filesystem;
namespace write = io::write;

namespace {

/// A folder for the files of this bench, beside which nothing changes; it goes with all it holds.
class Workplace {
 public:
  Workplace(const comm::Communicator& comm, const std::string& folder) : comm_(comm) {
    comm::on_root(comm, [&] {
      path_ = (fs::path(folder) / fmt::format(".tessera-io-bench.{}", ::getpid())).string();
      std::error_code error;
      if (!fs::is_directory(folder, error))
        throw InputError(fmt::format("{}: is no folder; make it, or choose another", folder));
      if (!fs::create_directory(path_, error))
        throw RunError(fmt::format("{}: can't make the folder: {}", path_, system_error_text(error.value())));
    });
    comm::broadcast_resized(comm, path_);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    if (comm_.is_root()) remove("");
  }

  std::string at(const std::string& name) const { return (fs::path(path_) / name).string(); }
  void remove(const std::string& name) const {
    std::error_code ignored;
    fs::remove_all(name.empty() ? fs::path(path_) : fs::path(at(name)), ignored);
  }

 private:
  const comm::Communicator& comm_;
  std::string path_;
};

/// Measures one writer with large buffers and nothing else to do.
double raw_seconds(const comm::Communicator& comm, const Workplace& place, std::int64_t bytes) {
  const std::vector<char> buffer(std::size_t{8} << 20, 'x');
  double seconds = 0;
  comm::on_root(comm, [&] {
    const auto start = std::chrono::steady_clock::now();
    const auto file = Descriptor::create(place.at("raw"));
    for (std::int64_t done = 0; done < bytes; done += std::ssize(buffer))
      file.write_at(buffer.data(), static_cast<std::size_t>(std::min<std::int64_t>(bytes - done, std::ssize(buffer))),
                    done);
    file.synchronize();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    place.remove("raw");
  });
  comm.barrier();
  return seconds;
}

/// Measures how long all ranks together take to write so many files of 16 MB in all.
double many_files_seconds(const comm::Communicator& comm, const Workplace& place, int n_files) {
  constexpr std::int64_t bytes = 16'000'000;
  const std::vector<char> buffer(static_cast<std::size_t>(bytes / n_files), 'x');
  std::vector<std::string> names;
  for (int i = comm.rank(); i < n_files; i += comm.size()) names.push_back(fmt::format("file{}", i));
  const double seconds = seconds_of(comm, [&] {
    comm::on_each_rank(comm, [&] {
      for (const auto& name : names) {
        const auto file = Descriptor::create(place.at(name));
        file.write_at(buffer.data(), buffer.size(), 0);
        file.synchronize();
      }
    });
  });
  for (const auto& name : names) place.remove(name);
  comm.barrier();
  return seconds;
}

write::WriteOptions options_in(const std::string& order) {
  if (order != "sorted" && order != "owned")
    throw InputError(fmt::format("the order {} is unknown; expected sorted or owned", order));
  write::WriteOptions options;
  options.order = order == "sorted" ? write::Order::sorted : write::Order::owned;
  return options;
}

/// Returns why this program lacks a method that others have; empty where it has it.
std::string why_missing(const std::string& candidate) {
  if (candidate.starts_with("mpiw") && comm::Communicator::library_version() == "serial")
    return "needs an MPI, and this job has none";
  if (candidate.starts_with("sncw") && library_methods().empty())
    return "needs the NetCDF library; install libnetcdf-dev and build";
  return {};
}

}  // namespace

nlohmann::json write_file(const FileRequest& request, const comm::Communicator& comm) {
  const auto candidate = candidate_of(request.candidate, options_in(request.order));
  const auto report = write::write_frame(comm, request.path, sample_frame(request.atoms),
                                         sample_atoms(request.atoms, comm.rank(), comm.size()),
                                         write::format(request.format), *candidate.method, candidate.options);
  return {{"bytes", report.bytes}, {"writers", report.n_writers}, {"files", report.n_files}};
}

nlohmann::json bench(const BenchRequest& request, const comm::Communicator& comm) {
  const auto usual = options_in(request.order);
  struct Turn {
    Candidate candidate;
    const write::Format* format;
    write::WriteReport report;
    std::vector<double> seconds;
  };
  std::vector<Turn> turns;
  auto left_out = nlohmann::json::object();
  std::vector<const write::Format*> formats;
  for (const auto& name : request.formats) formats.push_back(&write::format(name));
  for (const auto& text : request.candidates) {
    if (const auto why = why_missing(text); !why.empty()) {
      left_out[text] = why;
      continue;
    }
    const auto candidate = candidate_of(text, usual);
    for (const auto* format : formats)
      if (candidate.method->can(*format)) turns.push_back({candidate, format, {}, {}});
  }

  const Workplace place(comm, request.folder);
  const auto frame = sample_frame(request.atoms);
  const auto atoms = sample_atoms(request.atoms, comm.rank(), comm.size());
  const auto raw_bytes = request.atoms * formats.front()->atom_bytes;
  std::vector<double> raw;
  for (int repeat = 0; repeat < request.repeats; ++repeat) {
    raw.push_back(raw_seconds(comm, place, raw_bytes));
    for (auto& turn : turns) {
      turn.seconds.push_back(seconds_of(comm, [&] {
        turn.report = write::write_frame(comm, place.at("new"), frame, atoms, *turn.format, *turn.candidate.method,
                                         turn.candidate.options);
      }));
      if (comm.is_root()) place.remove("new");
      comm.barrier();
    }
  }
  auto files = nlohmann::json::array();
  for (int n = 1; n <= request.files; n *= 2) {
    std::vector<double> seconds;
    for (int repeat = 0; repeat < request.repeats; ++repeat) seconds.push_back(many_files_seconds(comm, place, n));
    files.push_back({{"files", n}, {"seconds", seconds}});
  }

  const auto problem = write::problem_of(comm, frame, std::ssize(atoms), *formats.front());
  const std::set<int> hosts(problem.hosts.begin(), problem.hosts.end());
  auto trials = nlohmann::json::array();
  for (const auto& turn : turns)
    trials.push_back({{"candidate", turn.candidate.text},
                      {"method", turn.candidate.method->name},
                      {"format", turn.format->name},
                      {"order", request.order},
                      {"writers", turn.report.n_writers},
                      {"files", turn.report.n_files},
                      {"batch", turn.candidate.options.batch},
                      {"buffer", turn.candidate.options.buffer},
                      {"bytes", turn.report.bytes},
                      {"seconds", turn.seconds}});
  return {{"library", comm::Communicator::library_version()},
          {"ranks", comm.size()},
          {"hosts", hosts.size()},
          {"atoms", request.atoms},
          {"raw", {{"bytes", raw_bytes}, {"seconds", raw}}},
          {"files", std::move(files)},
          {"left_out", std::move(left_out)},
          {"trials", std::move(trials)}};
}

}  // namespace tessera::programs
