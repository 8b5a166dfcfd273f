#include "tessera/app/trajectory/single_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/comm/on_root.h"
#include "tessera/io/dcd.h"
#include "tessera/io/h5md.h"
#include "tessera/io/xtc.h"

namespace tessera::app {

namespace {

void append_to(io::XtcWriter& file, const Frame& frame) {
  file.append(frame.step, frame.time, frame.box, frame.positions);
}
void append_to(io::H5mdWriter& file, const Frame& frame) {
  file.append(frame.step, frame.time, frame.box, frame.positions, frame.velocities);
}

template <class Writer>
class SingleFile final : public FrameSink {
 public:
  template <class Open>
  SingleFile(const comm::Communicator& comm, Open&& open) : comm_(comm) {
    comm::on_root(comm, [&] { file_.emplace(open()); });
  }
  void append(Frame frame) override {
    comm::on_root(comm_, [&] { append_to(*file_, frame); });
  }
  void synchronize() override {
    comm::on_root(comm_, [&] { file_->synchronize(); });
  }
  std::int64_t n_frames() const override { return file_ ? file_->n_frames() : 0; }
  bool is_in_place() const override { return !file_ || file_->is_in_place(); }

 private:
  const comm::Communicator& comm_;
  std::optional<Writer> file_;  // on the root
};

/// Begins a file, or goes on with one.
template <class Writer, class... Header>
Writer open_writer(const std::string& path, std::optional<std::int64_t> frames, const Header&... header) {
  std::error_code ignored;
  return frames && std::filesystem::exists(path, ignored) ? Writer::continue_after(path, *frames, header...)
                                                          : Writer::create(path, header...);
}

/// A file of which each writer of the exchange has it open and writes its rows, at places that follow from their
/// numbers.
class SharedDcd final : public FrameSink {
 public:
  SharedDcd(const std::string& path, std::optional<std::int64_t> frames, const io::DcdHeader& header,
            const FrameExchange& exchange, const comm::Communicator& comm)
      : exchange_(exchange), comm_(comm) {
    comm::on_root(comm, [&] { file_.emplace(open_writer<io::DcdWriter>(path, frames, header)); });
    comm::on_each_rank(comm, [&] {
      if (!file_ && exchange.own_share() >= 0)
        file_.emplace(io::DcdWriter::open_beside(path, frames.value_or(0), header));
    });
  }
  void append(Frame frame) override {
    comm::on_each_rank(comm_, [&] {
      const auto own = exchange_.own_share();
      if (own >= 0) file_->put_rows(exchange_.shares().first_row(own), frame.positions);
    });
    comm::on_root(comm_, [&] { file_->finish_frame(frame.box); });
    if (file_ && !comm_.is_root()) file_->skip_frame();
  }
  void synchronize() override {
    comm::on_each_rank(comm_, [&] {
      if (file_) file_->synchronize();
    });
  }
  std::int64_t n_frames() const override { return file_ ? file_->n_frames() : 0; }
  bool is_in_place() const override { return !file_ || file_->is_in_place(); }

 private:
  const FrameExchange& exchange_;
  const comm::Communicator& comm_;
  std::optional<io::DcdWriter> file_;  // on the root and on writers
};

template <class Writer, class... Header>
std::unique_ptr<FrameSink> open_file(const comm::Communicator& comm, const std::string& path,
                                     std::optional<std::int64_t> frames, const Header&... header) {
  return std::make_unique<SingleFile<Writer>>(comm, [&] { return open_writer<Writer>(path, frames, header...); });
}

}  // namespace

std::unique_ptr<FrameSink> open_single_file(const TrajectorySettings& settings, const RunConfig& config,
                                            const model::System& system, const FrameExchange& exchange,
                                            std::int64_t first_step, std::optional<std::int64_t> frames,
                                            const comm::Communicator& comm) {
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
      return std::make_unique<SharedDcd>(path, frames, header, exchange, comm);
    }
    case TrajectoryFormat::xtc:
      return open_file<io::XtcWriter>(comm, path, frames, n_atoms);
    default: {
      const io::H5mdHeader header{.n_atoms = n_atoms,
                                  .has_velocities = settings.contents.velocities,
                                  .is_periodic = system.is_periodic,
                                  .creator_version = TESSERA_VERSION};
      return open_file<io::H5mdWriter>(comm, path, frames, header);
    }
  }
}

}  // namespace tessera::app
