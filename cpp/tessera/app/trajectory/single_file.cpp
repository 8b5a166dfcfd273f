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

void append_to(io::DcdWriter& file, const Frame& frame) { file.append(frame.box, frame.positions); }
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

template <class Writer, class... Header>
std::unique_ptr<FrameSink> open_file(const comm::Communicator& comm, const std::string& path,
                                     std::optional<std::int64_t> frames, const Header&... header) {
  return std::make_unique<SingleFile<Writer>>(comm, [&] {
    std::error_code ignored;
    return frames && std::filesystem::exists(path, ignored) ? Writer::continue_after(path, *frames, header...)
                                                            : Writer::create(path, header...);
  });
}

}  // namespace

std::unique_ptr<FrameSink> open_single_file(const TrajectorySettings& settings, const RunConfig& config,
                                            const model::System& system, std::int64_t n_atoms, std::int64_t first_step,
                                            std::optional<std::int64_t> frames, const comm::Communicator& comm) {
  const auto& path = settings.path;
  switch (settings.format) {
    case TrajectoryFormat::dcd: {
      const auto every = settings.every;
      const io::DcdHeader header{.n_atoms = n_atoms,
                                 .first_step = frames ? (first_step / every + 1) * every : first_step,
                                 .every = every,
                                 .timestep = config.dynamics.timestep,
                                 .title = fmt::format("tessera {}", TESSERA_VERSION)};
      return open_file<io::DcdWriter>(comm, path, frames, header);
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
