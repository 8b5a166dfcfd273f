#include "tessera/comm/job.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "tessera/base/error.h"

namespace tessera::comm {

int run_job(const std::string& program, const std::function<int(const Communicator&)>& work) {
  std::optional<Communicator> comm;
  int status = 0;
  const auto report = [&](const char* what, int code) {
    if (!comm || comm->is_root()) fmt::print(stderr, "{}: error: {}\n", program, what);
    status = code;
  };
  try {
    comm = Communicator::world();
    status = work(*comm);
  } catch (const InputError& error) {
    report(error.what(), 2);
  } catch (const RunError& error) {
    report(error.what(), 3);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: rank {}: {}\n", program, comm ? comm->rank() : 0, error.what());
    std::fflush(stderr);
    Communicator::abort(70);
  }
  Communicator::finalize();
  return status;
}

}  // namespace tessera::comm
