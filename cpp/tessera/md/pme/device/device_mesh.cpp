#include "tessera/md/pme/device/device_mesh.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/fixed_point.h"
#include "tessera/base/index.h"
#include "tessera/md/pme/kernel.h"

namespace tessera::md::pme {

namespace {

constexpr std::int64_t lanes_of_warp = 32, warps_of_block = 4;  // as the kernels are compiled

std::size_t points_of(const Index3& grid) { return at(grid[0] * grid[1] * grid[2]); }

device::Kernel find_kernel(const device::DeviceInUse& in_use, const std::string& what, int order) {
  return in_use.kernels().find("tessera_mesh_" + what + "_" + std::to_string(order));
}

/// Begins a kernel of so many lanes at least.
template <class Arguments>
void start_lanes(const device::Kernel& kernel, const device::Stream& stream, std::int64_t lanes,
                 const Arguments& arguments) {
  constexpr auto of_block = lanes_of_warp * warps_of_block;
  const auto blocks = static_cast<unsigned>((lanes + of_block - 1) / of_block);
  if (blocks > 0) kernel.start(stream, blocks, of_block, arguments);
}

}  // namespace

bool DeviceMesh::serves(const PmePlan& plan) {
  const auto& grid = plan.settings.grid;
  // Splines that are longer than the mesh would touch points twice.
  return std::ranges::all_of(grid, [&](std::int64_t n) { return n >= plan.settings.order; }) &&
         fft::DeviceConvolution::serves(plan.transform.problem);
}

DeviceMesh::DeviceMesh(const PmePlan& plan, const device::DeviceInUse& in_use, ThreadPool& threads)
    : settings_(plan.settings),
      threads_(threads),
      device_(in_use.device().made_current()),  // a program in Python may do each step on another thread
      stream_(device_),
      spread_(find_kernel(in_use, "spread", settings_.order)),
      convert_(in_use.kernels().find("tessera_mesh_convert")),
      gather_(find_kernel(in_use, "gather", settings_.order)),
      convolution_(settings_.grid, in_use),
      fixed_(device_, points_of(settings_.grid)),
      points_(device_, points_of(settings_.grid)),
      influence_(device_, at(convolution_.n_waves())),
      to_force_(device_, 9),
      n_too_great_(device_, 1),
      charge_(device_),
      position_(device_),
      total_(device_),
      host_position_(device_),
      host_total_(device_),
      host_spectrum_(device_),
      host_too_great_(device_) {
  host_too_great_.resize(device_, 1);
}

DeviceMesh::~DeviceMesh() { stream_.end(); }

void DeviceMesh::set_charges(std::span<const float> charge) {
  device_.make_current();
  stream_.wait();
  n_slots_ = charge.size();
  TESSERA_CHECK(n_slots_ < (std::size_t{1} << 28));  // kernels number lanes and values of atoms in 32 bits
  charge_.reserve(device_, n_slots_);
  position_.reserve(device_, n_slots_);
  total_.reserve(device_, 3 * n_slots_);
  host_position_.resize(device_, n_slots_);
  host_total_.resize(device_, 3 * n_slots_);
  charge_.start_copy_from(charge, stream_);
  stream_.wait();  // what was copied may change or go now
}

void DeviceMesh::set_box(std::span<const float> influence, const std::array<Vec3, 3>& to_force) {
  device_.make_current();
  std::vector<double> values;
  for (const auto& v : to_force) values.insert(values.end(), {v.x, v.y, v.z});
  influence_.start_copy_from(influence, stream_);
  to_force_.start_copy_from(values, stream_);
  stream_.wait();
}

MeshArguments DeviceMesh::arguments() const {
  const MeshWindow window(settings_.grid, {0, 0, 0}, settings_.grid, settings_.grid[2], settings_.order);
  MeshArguments arguments{
      .n_atoms = static_cast<std::int32_t>(n_slots_),
      .grid = {},
      .offset = {},
      .position = position_.data(),
      .charge = charge_.data(),
      .fixed = fixed_.data(),
      .potential = points_.data(),
      .to_force = to_force_.data(),
      .total = total_.data(),
  };
  for (std::size_t d = 0; d < 3; ++d) {
    arguments.grid[d] = static_cast<std::uint32_t>(window.grid[d]);
    arguments.offset[d] = static_cast<std::uint32_t>(window.offset[d]);
  }
  return arguments;
}

void DeviceMesh::start(std::span<const Fraction> position, bool with_spectrum) {
  TESSERA_CHECK(position.size() == n_slots_);
  device_.make_current();
  stream_.wait();  // a step that was broken off may still be at work
  const auto staged = host_position_.get();
  threads_.parallel_for(std::ssize(staged), [&](std::int64_t begin, std::int64_t end) {
    std::copy(position.begin() + begin, position.begin() + end, staged.begin() + begin);
  });
  position_.start_copy_from(staged, stream_);
  fixed_.start_clear(stream_);
  n_too_great_.start_clear(stream_);
  host_spectrum_.resize(device_, with_spectrum ? at(2 * convolution_.n_waves()) : 0);

  const auto of_atoms = arguments();
  const std::int64_t lanes = std::int64_t{of_atoms.n_atoms} * (settings_.order > 4 ? 8 : 4);
  start_lanes(spread_, stream_, lanes, of_atoms);
  const ConvertArguments of_points{
      .n = static_cast<std::int32_t>(points_.size()),
      .fixed = fixed_.data(),
      .charge = points_.data(),
      .limit = std::numeric_limits<FixedCharge<float>>::max() / 2,  // as Pme::spread() has it
      .n_too_great = n_too_great_.data(),
  };
  start_lanes(convert_, stream_, of_points.n, of_points);
  convolution_.start(points_.data(), influence_.data(), host_spectrum_.get(), stream_);
  start_lanes(gather_, stream_, lanes, of_atoms);
  total_.start_copy_to(host_total_.get(), stream_);
  n_too_great_.start_copy_to(host_too_great_.get(), stream_);
}

bool DeviceMesh::finish(std::span<std::int64_t> total) {
  device_.make_current();
  stream_.wait();
  if (host_too_great_.get().front() > 0) return false;
  const auto found = host_total_.get();
  threads_.parallel_for(std::ssize(found), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) add_fixed(total[at(i)], found[at(i)]);
  });
  return true;
}

std::int64_t DeviceMesh::bytes() const {
  const auto of_mesh = sizeof(std::int32_t) * fixed_.size() + sizeof(float) * (points_.size() + influence_.size());
  const auto of_atoms = charge_.bytes() + position_.bytes() + total_.bytes();
  return static_cast<std::int64_t>(of_mesh + of_atoms) + convolution_.bytes();
}

std::int64_t DeviceMesh::planned_bytes(const PmeSettings& settings, std::int64_t slots) {
  const auto& n = settings.grid;
  const std::int64_t waves = (n[0] / 2 + 1) * n[1] * n[2];
  const auto of_mesh = static_cast<std::int64_t>(points_of(n) * (sizeof(std::int32_t) + sizeof(float)));
  constexpr double of_slot = sizeof(float) + sizeof(Fraction) + 3 * sizeof(std::int64_t);
  return of_mesh + waves * std::int64_t{sizeof(float)} + fft::DeviceConvolution::planned_bytes(waves) +
         static_cast<std::int64_t>(device::GrowingArray<char>::room * of_slot * static_cast<double>(slots));
}

}  // namespace tessera::md::pme
