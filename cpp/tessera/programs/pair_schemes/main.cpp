// tessera-pair-schemes: measures the published pair schemes; papers/pair_schemes.py starts it.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"
#include "tessera/programs/arguments.h"
#include "tessera/programs/pair_schemes/measure.h"

namespace tessera::programs {
namespace {

int run(int argc, char** argv, const comm::Communicator& comm) {
  CLI::App app{"Times a pair scheme on the atoms of a short run; JSON."};
  PairSchemeRequest request;
  app.add_option("system", request.system, "system file")->required();
  app.add_option("--scheme", request.scheme,
                 "list_aos, list_soa, cell_flag_aos, cell_flag_soa; cluster: the engine's own")
      ->required();
  const auto* table =
      app.add_option("--density", request.function.density,
                     "interaction functions by a table with so many points of r_c²/r²; without: by formula")
          ->check(CLI::Range(4, 10000));
  app.add_option("--set", request.overrides, "section.key=value of a run file")->take_all();
  app.add_option("-t,--threads", request.threads, "threads")->check(CLI::Range(1, 4096));
  app.add_option("--steps", request.steps, "steps after the first list")->check(CLI::Range(1, 1'000'000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    print_help(app, error, comm);
    return 0;
  }
  request.function.by_table = table->count() > 0;
  comm::print(measure(request, comm).dump() + "\n");
  return 0;
}

}  // namespace
}  // namespace tessera::programs

int main(int argc, char** argv) {
  return tessera::comm::run_job("tessera-pair-schemes",
                                [&](const auto& comm) { return tessera::programs::run(argc, argv, comm); });
}
