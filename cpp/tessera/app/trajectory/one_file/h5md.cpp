// H5MD trajectories, of which several ranks write the atoms of their shares.
#include <optional>
#include <span>
#include <string>

#include "tessera/app/trajectory/format.h"
#include "tessera/app/trajectory/one_file/open_writer.h"
#include "tessera/app/trajectory/one_file/shared_file.h"
#include "tessera/app/trajectory/settings.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/h5md.h"

namespace tessera::app {

namespace {

/// Rows stand where HDF5 on the root has made room for them.
class H5mdFile {
 public:
  H5mdFile(const std::string& path, std::optional<std::int64_t> frames, const io::H5mdHeader& header, bool has_rows,
           const comm::Communicator& comm)
      : comm_(comm) {
    comm::on_root(comm, [&] { file_.emplace(open_writer<io::H5mdWriter>(path, frames, header)); });
    comm::on_each_rank(comm, [&] {
      if (has_rows) rows_.emplace(io::H5mdRows::open(path));
    });
  }
  void begin() {
    comm::on_root(comm_, [&] { places_ = file_->begin_frame(); });
    comm_.broadcast(std::as_writable_bytes(std::span(&places_, 1)), 0);
  }
  void put(std::int64_t first_row, const Frame& frame) const {
    rows_->put(places_, first_row, frame.positions, frame.velocities);
  }
  void finish(const Frame& frame) {
    comm::on_root(comm_, [&] { file_->finish_frame(frame.step, frame.time, frame.box); });
  }
  void synchronize() const {
    if (rows_) rows_->synchronize();
    if (file_) file_->synchronize();
  }
  std::int64_t n_frames() const { return file_ ? file_->n_frames() : 0; }
  bool is_in_place() const { return (!file_ || file_->is_in_place()) && (!rows_ || rows_->is_in_place()); }

 private:
  const comm::Communicator& comm_;
  std::optional<io::H5mdWriter> file_;  // on the root
  std::optional<io::H5mdRows> rows_;    // on writers
  io::H5mdPlaces places_;               // of the frame that is being written
};

std::int64_t h5md_frame_bytes(const TrajectorySettings& settings, std::int64_t n_atoms, bool /*is_periodic*/) {
  return 12 * settings.contents.n_quantities() * n_atoms + 136;
}

std::unique_ptr<FrameSink> open_h5md(const Opening& o) {
  const io::H5mdHeader header{.n_atoms = o.n_atoms(),
                              .has_velocities = o.settings.contents.velocities,
                              .is_periodic = o.system.is_periodic,
                              .creator_version = TESSERA_VERSION};
  return open_shared<H5mdFile>(o, header);
}

}  // namespace

extern constinit const TrajectoryFormat h5md_format = {
    .name = "h5md",
    .method = "pdaw",
    .has_velocities = true,
    .header_bytes = 150'000,  // room for the first thousand steps, times and boxes
    .frame_bytes = h5md_frame_bytes,
    .open = open_h5md};

}  // namespace tessera::app
