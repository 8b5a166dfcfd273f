#include "tessera/app/trajectory/one_file/single_file.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "tessera/app/trajectory/one_file/history_frames.h"
#include "tessera/app/trajectory/one_file/open_writer.h"
#include "tessera/app/trajectory/one_file/shared_file.h"
#include "tessera/app/trajectory/one_file/xtc_frames.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/dcd.h"
#include "tessera/io/h5md.h"

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

template <class File, class Header>
std::unique_ptr<FrameSink> open_shared(const std::string& path, std::optional<std::int64_t> frames,
                                       const Header& header, const FrameExchange& exchange,
                                       const comm::Communicator& comm) {
  auto file = std::make_unique<File>(path, frames, header, exchange.own_share() >= 0, comm);
  return std::make_unique<SharedFileSink<File>>(std::move(file), exchange, comm);
}

}  // namespace

std::unique_ptr<FrameSink> open_single_file(const TrajectorySettings& settings, const RunConfig& config,
                                            const model::System& system, const FrameExchange& exchange,
                                            const io::write::Choice& method, std::int64_t first_step,
                                            std::optional<std::int64_t> frames, const comm::Communicator& comm) {
  const auto& path = settings.path;
  const auto n_atoms = exchange.shares().atoms().size();
  switch (settings.format) {
    case TrajectoryFormat::dcd: {
      const auto every = settings.every;
      const io::DcdHeader header{.n_atoms = n_atoms,
                                 .first_step = frames ? (first_step / every + 1) * every : first_step,
                                 .every = every,
                                 .timestep = config.dynamics.timestep,
                                 .title = fmt::format("tessera {}", TESSERA_VERSION)};
      return open_shared<DcdFile>(path, frames, header, exchange, comm);
    }
    case TrajectoryFormat::xtc:
      return std::make_unique<XtcSink>(path, frames, n_atoms, comm);
    case TrajectoryFormat::history:
      return std::make_unique<HistorySink>(settings, system, exchange, method, config.dynamics.timestep, frames, comm);
    default: {
      const io::H5mdHeader header{.n_atoms = n_atoms,
                                  .has_velocities = settings.contents.velocities,
                                  .is_periodic = system.is_periodic,
                                  .creator_version = TESSERA_VERSION};
      return open_shared<H5mdFile>(path, frames, header, exchange, comm);
    }
  }
}

}  // namespace tessera::app
