#include "tessera/md/pme/device/device_mesh.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/index.h"
#include "tessera/md/pme/kernel.h"

namespace tessera::md::pme {

namespace {

std::size_t points_of(const Index3& grid) { return at(grid[0] * grid[1] * grid[2]); }

device::Kernel find_kernel(const device::DeviceInUse& in_use, const std::string& what, int order) {
  return in_use.kernels().find("tessera_mesh_" + what + "_" + std::to_string(order));
}

}  // namespace

bool DeviceMesh::serves(const PmePlan& plan) {
  const auto& grid = plan.settings.grid;
  // Splines that are longer than the mesh would touch points twice.
  return std::ranges::all_of(grid, [&](std::int64_t n) { return n >= plan.settings.order; }) &&
         fft::DeviceConvolution::serves(plan.transform.problem);
}

DeviceMesh::DeviceMesh(const PmePlan& plan, const DeviceAtoms& atoms)
    : settings_(plan.settings),
      atoms_(atoms),
      spread_(find_kernel(atoms.in_use(), "spread", settings_.order)),
      convert_(atoms.in_use().kernels().find("tessera_mesh_convert")),
      gather_(find_kernel(atoms.in_use(), "gather", settings_.order)),
      convolution_(settings_.grid, atoms.in_use()),
      fixed_(atoms.device(), points_of(settings_.grid)),
      points_(atoms.device(), points_of(settings_.grid)),
      influence_(atoms.device(), at(convolution_.n_waves())),
      to_force_(atoms.device(), 9),
      n_too_great_(atoms.device(), 1),
      charge_(atoms.device()),
      host_spectrum_(atoms.device()),
      host_too_great_(atoms.device()) {
  host_too_great_.resize(atoms.device(), 2);
}

DeviceMesh::~DeviceMesh() { atoms_.stream().end(); }

void DeviceMesh::set_charges(std::span<const float> charge) {
  const auto& on = atoms_.device();
  atoms_.stream().wait();
  TESSERA_CHECK(charge.size() < (std::size_t{1} << 28));  // kernels number lanes and values of atoms in 32 bits
  charge_.reserve(on, charge.size());
  charge_.start_copy_from(charge, atoms_.stream());
  atoms_.stream().wait();  // what was copied may change or go now
}

void DeviceMesh::follow(const Renumbering& to) { atoms_.move(charge_, to); }

void DeviceMesh::set_box(std::span<const float> influence, const std::array<Vec3, 3>& to_force) {
  atoms_.device();
  std::vector<double> values;
  for (const auto& v : to_force) values.insert(values.end(), {v.x, v.y, v.z});
  influence_.start_copy_from(influence, atoms_.stream());
  to_force_.start_copy_from(values, atoms_.stream());
  atoms_.stream().wait();
}

MeshArguments DeviceMesh::arguments(std::int64_t* total) const {
  const MeshWindow window(settings_.grid, {0, 0, 0}, settings_.grid, settings_.grid[2], settings_.order);
  MeshArguments arguments{
      .n_atoms = atoms_.n_slots(),
      .grid = {},
      .offset = {},
      .position = atoms_.position(),
      .charge = charge_.data(),
      .fixed = fixed_.data(),
      .potential = points_.data(),
      .to_force = to_force_.data(),
      .total = total,
  };
  for (std::size_t d = 0; d < 3; ++d) {
    arguments.grid[d] = static_cast<std::uint32_t>(window.grid[d]);
    arguments.offset[d] = static_cast<std::uint32_t>(window.offset[d]);
  }
  return arguments;
}

void DeviceMesh::start(std::int64_t* total, bool with_spectrum) {
  const auto& stream = atoms_.stream();
  fixed_.start_clear(stream);
  n_too_great_.start_clear(stream);
  host_spectrum_.resize(atoms_.device(), with_spectrum ? at(2 * convolution_.n_waves()) : 0);

  const auto of_atoms = arguments(total);
  const auto warps = device::warps_of(std::int64_t{of_atoms.n_atoms} * (settings_.order > 4 ? 8 : 4));
  spread_.start_warps(stream, warps, of_atoms);
  const ConvertArguments of_points{
      .n = static_cast<std::int32_t>(points_.size()),
      .fixed = fixed_.data(),
      .charge = points_.data(),
      .limit = std::numeric_limits<FixedCharge<float>>::max() / 2,  // as Pme::spread() has it
      .n_too_great = n_too_great_.data(),
  };
  convert_.start_warps(stream, device::warps_of(of_points.n), of_points);
  convolution_.start(points_.data(), influence_.data(), host_spectrum_.get(), stream);
  gather_.start_warps(stream, warps, of_atoms);
  n_too_great_.start_copy_to(host_too_great_.get().first(1), stream);
}

std::int64_t DeviceMesh::bytes() const {
  const auto of_mesh = sizeof(std::int32_t) * fixed_.size() + sizeof(float) * (points_.size() + influence_.size());
  return static_cast<std::int64_t>(of_mesh + charge_.bytes()) + convolution_.bytes();
}

std::int64_t DeviceMesh::planned_bytes(const PmeSettings& settings, std::int64_t slots) {
  const auto& n = settings.grid;
  const std::int64_t waves = (n[0] / 2 + 1) * n[1] * n[2];
  const auto of_mesh = static_cast<std::int64_t>(points_of(n) * (sizeof(std::int32_t) + sizeof(float)));
  constexpr double of_slot = 2 * sizeof(float);  // SlotArray
  return of_mesh + waves * std::int64_t{sizeof(float)} + fft::DeviceConvolution::planned_bytes(waves) +
         static_cast<std::int64_t>(device::GrowingArray<char>::room * of_slot * static_cast<double>(slots));
}

}  // namespace tessera::md::pme
