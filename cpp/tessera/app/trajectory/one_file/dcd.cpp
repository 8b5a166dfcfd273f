// DCD trajectories, of which several ranks write the atoms of their shares.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "tessera/app/trajectory/format.h"
#include "tessera/app/trajectory/one_file/open_writer.h"
#include "tessera/app/trajectory/one_file/shared_file.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/dcd.h"

namespace tessera::app {

namespace {

/// Rows stand at places that follow from their numbers.
class DcdFile {
 public:
  DcdFile(const std::string& path, std::optional<std::int64_t> frames, const io::DcdHeader& header, bool has_rows,
          const comm::Communicator& comm)
      : comm_(comm) {
    comm::on_root(comm, [&] { file_.emplace(open_writer<io::DcdWriter>(path, frames, header)); });
    comm::on_each_rank(comm, [&] {
      if (!file_ && has_rows) file_.emplace(io::DcdWriter::open_beside(path, frames.value_or(0), header));
    });
  }
  void begin() {}
  void put(std::int64_t first_row, const Frame& frame) const { file_->put_rows(first_row, frame.positions); }
  void finish(const Frame& frame) {
    comm::on_root(comm_, [&] { file_->finish_frame(frame.box); });
    if (file_ && !comm_.is_root()) file_->skip_frame();
  }
  void synchronize() const {
    if (file_) file_->synchronize();
  }
  std::int64_t n_frames() const { return file_ ? file_->n_frames() : 0; }
  bool is_in_place() const { return !file_ || file_->is_in_place(); }

 private:
  const comm::Communicator& comm_;
  std::optional<io::DcdWriter> file_;  // on the root and on writers
};

void check_dcd(const TrajectorySettings& /*settings*/, const RunConfig& /*config*/, const model::System& /*system*/,
               std::int64_t n_atoms) {
  if (n_atoms > io::most_dcd_atoms)
    throw InputError(fmt::format("a DCD holds at most {} atoms, there are {}: set output.trajectory to \"segments\"",
                                 io::most_dcd_atoms, n_atoms));
}

std::int64_t dcd_frame_bytes(const TrajectorySettings& /*settings*/, std::int64_t n_atoms, bool /*is_periodic*/) {
  return 12 * n_atoms + 80;
}

std::unique_ptr<FrameSink> open_dcd(const Opening& o) {
  const auto every = o.settings.every;
  const io::DcdHeader header{.n_atoms = o.n_atoms(),
                             .first_step = o.frames ? (o.first_step / every + 1) * every : o.first_step,
                             .every = every,
                             .timestep = o.config.dynamics.timestep,
                             .title = fmt::format("tessera {}", TESSERA_VERSION)};
  return open_shared<DcdFile>(o, header);
}

}  // namespace

extern constinit const TrajectoryFormat dcd_format = {
    .name = "dcd", .method = "pdaw", .check = check_dcd, .frame_bytes = dcd_frame_bytes, .open = open_dcd};

}  // namespace tessera::app
