#include "tessera/md/pme/mesh.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/device/device.h"
#include "tessera/fft/transform.h"
#include "tessera/md/pme/device/device_mesh.h"
#include "tessera/md/pme/pme.h"

namespace tessera::md::pme {

namespace {

template <class Real>
struct Potentials {
  struct Part {
    static constexpr bool is_for_devices = std::is_same_v<Real, float>;

    Pme<Real> pme;
    std::vector<Real> charge;            // by slot, e; of dispersion: in units of the greatest
    std::unique_ptr<DeviceMesh> device;  // which computes it, if any does
    bool has_started = false;            // whether the device has begun, and its energies were not yet added
  };
  Part coulomb;
  std::optional<Part> dispersion;

  /// Calls function(part) for each.
  template <class Function>
  void visit(Function&& function) {
    function(coulomb);
    if (dispersion) function(*dispersion);
  }
};

fft::TransformOptions transform_options(const PmePlan& plan) {
  fft::TransformOptions options;
  options.exchange = plan.exchange;
  options.wires = plan.wires;
  return options;
}

}  // namespace

struct Mesh::Implementation {
  const domain::Domain& domain;
  const DeviceAtoms* atoms;     // nullptr: no device is used
  std::vector<double> of_type;  // what dispersion has in place of a charge, by Lennard-Jones type
  std::variant<std::monostate, Potentials<float>, Potentials<double>> potentials;

  /// Calls function(potentials) for the precision in use; does nothing without a mesh.
  template <class Function>
  void visit(Function&& function) {
    if (auto* single = std::get_if<Potentials<float>>(&potentials)) function(*single);
    if (auto* both = std::get_if<Potentials<double>>(&potentials)) function(*both);
  }
  template <class Function>
  void visit_parts(Function&& function) {
    visit([&](auto& both) { both.visit(function); });
  }

  /// Calls a function with the device that computes a part. Returns whether it did all that it should. Whatever the
  /// device failed at can be done by processors, which go on then.
  template <class Part, class Function>
  bool on_device(Part& part, Function&& function) {
    if constexpr (Part::is_for_devices) {
      if (part.device == nullptr) return false;
      if (atoms->in_use().attempt([&] { function(*part.device); })) return true;
      part.device.reset();
      part.has_started = false;
    }
    return false;
  }
  /// Lets a device compute a part from now on, if there is one that can.
  template <class Part>
  void use_device(Part& part, const PmePlan& plan) {
    if constexpr (Part::is_for_devices) {
      if (atoms == nullptr || !DeviceMesh::serves(plan)) return;
      atoms->in_use().attempt([&] {
        auto made = std::make_unique<DeviceMesh>(plan, *atoms);
        made->set_box(part.pme.influence(), part.pme.gradient_to_force());
        part.device = std::move(made);
      });
    }
  }
};

Mesh::Mesh(const EngineSettings& settings, const std::optional<PmePlan>& plan, const domain::Domain& domain,
           const comm::Communicator& comm, ThreadPool& threads, const DeviceAtoms* on_device)
    : implementation_(new Implementation{domain, on_device, {}, {}}) {
  if (!plan) return;
  const auto options = transform_options(*plan);
  const auto& box = domain.state().box;
  // The integer mesh has room for a few e at a point, so the greatest coefficient of dispersion counts as 1 e.
  auto& of_type = implementation_->of_type;
  of_type = dispersion_coefficients(domain.system().force_field);
  const double unit = std::max(1e-30, *std::max_element(of_type.begin(), of_type.end()));
  for (auto& c : of_type) c /= unit;
  const auto make = [&]<class Real>(Real) {
    auto& made = implementation_->potentials.emplace<Potentials<Real>>(
        Potentials<Real>{{Pme<Real>(*plan, box, settings.pair.coulomb_constant, comm, threads, options), {}, {}}, {}});
    if (settings.pair.lj == pair::LjModifier::pme) {
      auto of_dispersion = *plan;
      of_dispersion.settings.alpha = settings.pair.lj_alpha;
      made.dispersion.emplace(typename Potentials<Real>::Part{
          Pme<Real>(of_dispersion, box, unit * unit, comm, threads, options, Potential::dispersion), {}, {}});
    }
    made.visit([&](auto& part) { implementation_->use_device(part, *plan); });
  };
  settings.precision == pair::Precision::double_precision ? make(double()) : make(float());
}

Mesh::~Mesh() = default;
Mesh::Mesh(Mesh&&) noexcept = default;

void Mesh::rebuild(std::span<const double> charge) {
  const auto& domain = implementation_->domain;
  const auto& of_type = implementation_->of_type;
  const auto set_dispersion = [&](auto& c) {
    c.assign(charge.size(), 0);
    for (std::int32_t s = 0; s < domain.n_slots(); ++s)
      if (!domain.is_padding(s)) {
        const auto local = static_cast<std::size_t>(domain.state().local[static_cast<std::size_t>(s)]);
        const auto type = static_cast<std::size_t>(domain.molecule_of(s).type[local]);
        c[static_cast<std::size_t>(s)] = static_cast<std::remove_reference_t<decltype(c[0])>>(of_type[type]);
      }
  };
  implementation_->visit([&](auto& both) {
    both.coulomb.charge.assign(charge.begin(), charge.end());
    if (both.dispersion) set_dispersion(both.dispersion->charge);
  });
  implementation_->visit_parts(
      [&](auto& part) { implementation_->on_device(part, [&](auto& device) { device.set_charges(part.charge); }); });
}

void Mesh::set_box(const Box& box) {
  implementation_->visit_parts([&](auto& part) {
    part.pme.set_box(box);
    implementation_->on_device(
        part, [&](auto& device) { device.set_box(part.pme.influence(), part.pme.gradient_to_force()); });
  });
}

void Mesh::start(std::int64_t* total, bool with_energies) {
  implementation_->visit_parts([&](auto& part) {
    part.has_started = implementation_->on_device(part, [&](auto& device) { device.start(total, with_energies); });
  });
}

std::string Mesh::add_forces(std::span<Accumulator> by_thread, Timers& timers) {
  const auto& domain = implementation_->domain;
  std::string problem;
  const auto try_local = [&](auto&& function) {
    try {
      function();
    } catch (const RunError& error) {
      if (problem.empty()) problem = error.what();
    }
  };
  implementation_->visit_parts([&](auto& part) {
    auto& [pme, charge, device, has_started] = part;
    const bool is_done = has_started && implementation_->on_device(part, [&](auto& mesh) {
      if (mesh.had_too_much_charge() && problem.empty()) problem = too_much_charge;
      if (auto* energies = by_thread[0].energies)
        timers.time(Phase::pme_solve, [&] { pme.add_energies(mesh.spectrum(), *energies); });
    });
    has_started = false;
    if (is_done) return;
    timers.time(Phase::pme_spread, [&] { try_local([&] { pme.spread(domain.state().position, charge); }); });
    timers.time(Phase::pme_forward, [&] { pme.forward(); });
    timers.time(Phase::pme_solve, [&] { pme.solve(by_thread[0].energies); });
    timers.time(Phase::pme_backward, [&] { pme.backward(); });
    timers.time(Phase::pme_forces, [&] {
      try_local([&] { pme.add_forces(domain.state().position, charge, domain.n_owned_slots(), by_thread); });
    });
  });
  return problem;
}

void Mesh::add_sums_of_device(EnergyVirial& sums) {
  implementation_->visit_parts([&](auto& part) {
    if (std::exchange(part.has_started, false))
      implementation_->on_device(part, [&](auto& mesh) { part.pme.add_energies(mesh.spectrum(), sums); });
  });
}

std::size_t Mesh::bytes() const {
  std::size_t n = 0;
  implementation_->visit_parts([&](auto& part) {
    n += part.pme.bytes() + part.charge.capacity() * sizeof(part.charge[0]);
    if (part.device != nullptr) n += part.device->host_bytes();
  });
  return n;
}

bool Mesh::is_on_device() const {
  bool found = false, all = true;
  implementation_->visit_parts([&](auto& part) {
    found = true;
    all &= part.device != nullptr;
  });
  return found && all;
}

bool Mesh::needs_processors() const {
  bool any = false;
  implementation_->visit_parts([&](auto& part) { any |= part.device == nullptr; });
  return any;
}

bool Mesh::had_too_much_charge() const {
  bool had = false;
  implementation_->visit_parts(
      [&](auto& part) { had |= part.device != nullptr && part.device->had_too_much_charge(); });
  return had;
}

void Mesh::start_check() {
  implementation_->visit_parts(
      [&](auto& part) { implementation_->on_device(part, [&](auto& device) { device.start_check(); }); });
}

bool Mesh::had_last_too_much_charge() const {
  bool had = false;
  implementation_->visit_parts(
      [&](auto& part) { had |= part.device != nullptr && part.device->had_last_too_much_charge(); });
  return had;
}

void Mesh::follow_on_device(const Renumbering& to) {
  implementation_->visit_parts(
      [&](auto& part) { implementation_->on_device(part, [&](auto& device) { device.follow(to); }); });
}

std::int64_t Mesh::device_bytes() const {
  std::int64_t n = 0;
  implementation_->visit_parts([&](auto& part) { n += part.device != nullptr ? part.device->bytes() : 0; });
  return n;
}

std::int64_t planned_mesh_bytes_on_device(const EngineSettings& settings, const std::optional<PmePlan>& plan,
                                          std::int64_t slots) {
  if (!plan || settings.precision == pair::Precision::double_precision || !DeviceMesh::serves(*plan)) return 0;
  return (settings.pair.lj == pair::LjModifier::pme ? 2 : 1) * DeviceMesh::planned_bytes(plan->settings, slots);
}

std::int64_t planned_mesh_bytes(const EngineSettings& settings, const std::optional<PmePlan>& plan,
                                const std::vector<int>& host_of_rank, int rank, std::int64_t slots) {
  if (!plan) return 0;
  const auto reads_from = [&](int peer) {
    return host_of_rank[static_cast<std::size_t>(peer)] == host_of_rank[static_cast<std::size_t>(rank)];
  };
  const auto count = [&]<class Real>(Real) {
    return planned_bytes<Real>(*plan, rank, reads_from, transform_options(*plan)) +
           slots * static_cast<std::int64_t>(sizeof(Real));
  };
  const auto of_one = settings.precision == pair::Precision::double_precision ? count(double()) : count(float());
  return settings.pair.lj == pair::LjModifier::pme ? 2 * of_one : of_one;
}

}  // namespace tessera::md::pme
