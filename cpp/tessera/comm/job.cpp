#include "tessera/comm/job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/files/descriptor.h"

namespace tessera::comm {

namespace {

/// Opens the null device in place of standard input, output and error where they are closed. Else the next file would
/// get their number, and what is printed would go into it.
void open_standard_files() {
  int handle = 0;
  do handle = ::open("/dev/null", O_RDWR);
  while (handle >= 0 && handle <= STDERR_FILENO);
  if (handle > STDERR_FILENO) ::close(handle);
}

}  // namespace

int run_job(const std::string& program, const std::function<int(Communicator&)>& work) {
  open_standard_files();
  std::optional<Communicator> comm;
  int status = 0;
  const auto report = [&](const char* what, int code) {
    if (!comm || comm->is_root()) fmt::print(stderr, "{}: error: {}\n", program, printable(what));
    status = code;
  };
  try {
    comm = Communicator::world();
    status = work(*comm);
    if (comm->is_root()) print("");  // flushes what was printed by other means, and throws where that fails
  } catch (const InputError& error) {
    report(error.what(), 2);
  } catch (const RunError& error) {
    report(error.what(), 3);
  } catch (const std::exception& error) {
    const bool is_full = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
    fmt::print(stderr, "{}: rank {}: {}\n", program, comm ? comm->rank() : 0,
               is_full ? "not enough memory: use more ranks or hosts, or raise the limit (ulimit -v)"
                       : printable(error.what()));
    std::fflush(stderr);
    Communicator::abort(70);
  }
  Communicator::finalize();
  return status;
}

void print_note(std::string_view program, std::string_view note) {
  fmt::print(stderr, "{}: note: {}\n", program, printable(note));
}

void print(std::string_view text) {
  const auto shown = printable(text, Lines::many);
  errno = 0;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw RunError(fmt::format("standard output can't be written to: {}",
                               errno != 0 ? system_error_text(errno) : "an earlier part of it was lost"));
}

}  // namespace tessera::comm
