// tessera-io: measures how fast ranks write files; docs/guide/io.md.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"
#include "tessera/io/write/choose.h"
#include "tessera/machine/survey/machine_file.h"
#include "tessera/programs/arguments.h"
#include "tessera/programs/io/bench.h"
#include "tessera/programs/io/bench_methods.h"
#include "tessera/programs/io/formatter.h"

namespace tessera::programs {
namespace {

struct ChoiceRequest {
  std::string map, path, format = "text", order = "sorted";
  std::int64_t atoms = 1'000'000;
  int ranks = 0;
  bool one_file = false;
};

nlohmann::json choose(const ChoiceRequest& request, int n_ranks) {
  const auto file = machine::read_machine_file(request.map);
  io::write::WriteProblem problem;
  if (request.ranks > 0) n_ranks = request.ranks;
  const auto& format = io::write::format(request.format);
  for (int rank = 0; rank < n_ranks; ++rank) {
    problem.hosts.push_back(rank);
    problem.owned.push_back(request.atoms / n_ranks + (rank < request.atoms % n_ranks ? 1 : 0));
  }
  problem.atom_bytes = format.atom_bytes;
  const auto path = std::filesystem::weakly_canonical(request.path).string();
  const auto methods = bench_methods(request.one_file);
  const auto choice = io::write::choose(methods, problem, format,
                                        request.order == "sorted" ? io::write::Order::sorted : io::write::Order::owned,
                                        io::write::file_system_of(file.file_systems, path));
  return {{"method", choice.method->name},   {"writers", choice.options.writers},       {"batch", choice.options.batch},
          {"buffer", choice.options.buffer}, {"most_files", choice.options.most_files}, {"seconds", choice.seconds},
          {"reason", choice.reason}};
}

int run(int argc, char** argv, const comm::Communicator& comm) {
  CLI::App app{"Measures how fast ranks write files; `tessera io bench` starts it."};
  app.require_subcommand(1);
  BenchRequest request;
  auto* bench_command = app.add_subcommand("bench", "time write methods in a folder; JSON");
  bench_command->add_option("folder", request.folder, "where to write; nothing is left there")->required();
  bench_command->add_option("--atoms", request.atoms, "of the configuration")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  bench_command->add_option("--candidates", request.candidates, "NAME[:writers=N][:batch=ATOMS][:buffer=BYTES], …")
      ->delimiter(',')
      ->required();
  bench_command->add_option("--formats", request.formats, "of the registry (docs/guide/io.md)")
      ->delimiter(',')
      ->capture_default_str();
  bench_command->add_option("--order", request.order, "sorted by number, or as owned")->capture_default_str();
  bench_command->add_option("--repeats", request.repeats, "turns of each")->check(CLI::Range(1, 1000));
  bench_command->add_option("--files", request.files, "most files at once that are tried")
      ->check(CLI::Range(0, 65'536));
  FileRequest file;
  auto* write_command = app.add_subcommand("write", "write the configuration of a bench to a file that stays; JSON");
  write_command->add_option("path", file.path, "file, or folder of pieces")->required();
  write_command->add_option("--atoms", file.atoms)->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  write_command->add_option("--candidate", file.candidate, "as of bench")->capture_default_str();
  write_command->add_option("--format", file.format)->capture_default_str();
  write_command->add_option("--order", file.order)->capture_default_str();
  ChoiceRequest choice;
  auto* choose_command = app.add_subcommand("choose", "say which method a map recommends; JSON");
  choose_command->add_option("map", choice.map, "machine file")->required();
  choose_command->add_option("path", choice.path, "file to write")->required();
  choose_command->add_option("--format", choice.format)->capture_default_str();
  choose_command->add_option("--order", choice.order)->check(CLI::IsMember({"sorted", "owned"}));
  choose_command->add_option("--atoms", choice.atoms)->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  choose_command->add_option("--ranks", choice.ranks, "default: those of this job")->check(CLI::Range(1, 1 << 24));
  choose_command->add_flag("--one-file", choice.one_file, "no folder of pieces");
  std::string path;
  std::int64_t n_atoms = 1'000'000;
  int repeats = 5;
  auto* formatter = app.add_subcommand("formatter", "time how one core makes text; JSON");
  formatter->add_option("path", path, "a file to make and remove, best in memory (/dev/shm/…)")->required();
  formatter->add_option("--atoms", n_atoms)->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  formatter->add_option("--repeats", repeats)->check(CLI::Range(1, 1000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    print_help(app, error, comm);
    return 0;
  }
  std::optional<nlohmann::json> found;
  if (*bench_command)
    found = bench(request, comm);
  else if (*write_command)
    found = write_file(file, comm);
  else if (comm.is_root())
    found = *formatter ? time_formatter(path, n_atoms, repeats) : choose(choice, comm.size());
  if (comm.is_root()) comm::print(found->dump() + "\n");
  return 0;
}

}  // namespace
}  // namespace tessera::programs

int main(int argc, char** argv) {
  return tessera::comm::run_job("tessera-io",
                                [&](const auto& comm) { return tessera::programs::run(argc, argv, comm); });
}
