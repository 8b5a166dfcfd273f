// tessera-read: measures how fast ranks read files; bench/io/reader.py starts it.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tessera/comm/communicator.h"
#include "tessera/comm/job.h"
#include "tessera/programs/arguments.h"
#include "tessera/programs/read/read.h"

namespace tessera::programs {
namespace {

int run(int argc, char** argv, const comm::Communicator& comm) {
  CLI::App app{"Times how ranks read a file in shares; JSON."};
  ReadRequest request;
  app.add_option("kind", request.kind, "config (DL_POLY's), system or checkpoint")
      ->required()
      ->check(CLI::IsMember({"config", "system", "checkpoint"}));
  app.add_option("path", request.path, "the file")->required();
  app.add_option("--repeats", request.repeats, "turns")->check(CLI::Range(1, 1000));
  app.add_flag("--cold", request.is_cold, "ask the system to forget the file before each turn");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    print_help(app, error, comm);
    return 0;
  }
  const auto found = time_reading(request, comm);
  if (comm.is_root()) comm::print(found.dump() + "\n");
  return 0;
}

}  // namespace
}  // namespace tessera::programs

int main(int argc, char** argv) {
  return tessera::comm::run_job("tessera-read",
                                [&](const auto& comm) { return tessera::programs::run(argc, argv, comm); });
}
