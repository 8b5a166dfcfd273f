#include "tessera/md/pme/mesh.h"

#include <variant>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fft/transform.h"
#include "tessera/md/pme/pme.h"

namespace tessera::md::pme {

namespace {

template <class Real>
struct Sized {
  Pme<Real> pme;
  std::vector<Real> charge;  // by slot, e
};

fft::TransformOptions transform_options(const Plan& plan) {
  fft::TransformOptions options;
  options.exchange = plan.exchange;
  options.wires = plan.wires;
  return options;
}

}  // namespace

struct Mesh::Implementation {
  const domain::Domain& domain;
  std::variant<std::monostate, Sized<float>, Sized<double>> sized;

  /// Calls function(sized) for the precision in use; does nothing without a mesh.
  template <class Function>
  void visit(Function&& function) {
    if (auto* single = std::get_if<Sized<float>>(&sized)) function(*single);
    if (auto* both = std::get_if<Sized<double>>(&sized)) function(*both);
  }
};

Mesh::Mesh(const EngineSettings& settings, const Plan& plan, const domain::Domain& domain,
           const comm::Communicator& comm, ThreadPool& threads)
    : implementation_(new Implementation{domain, {}}) {
  if (!plan.mesh) return;
  const auto options = transform_options(plan);
  const auto make = [&]<class Real>(Real) {
    implementation_->sized.emplace<Sized<Real>>(Sized<Real>{
        Pme<Real>(*plan.mesh, domain.state().box, settings.pair.coulomb_constant, comm, threads, options), {}});
  };
  settings.precision == pair::Precision::double_precision ? make(double()) : make(float());
}

Mesh::~Mesh() = default;
Mesh::Mesh(Mesh&&) noexcept = default;

void Mesh::rebuild(std::span<const double> charge) {
  implementation_->visit([&](auto& sized) { sized.charge.assign(charge.begin(), charge.end()); });
}

void Mesh::set_box(const Box& box) {
  implementation_->visit([&](auto& sized) { sized.pme.set_box(box); });
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
  implementation_->visit([&](auto& sized) {
    auto& pme = sized.pme;
    timers.time(Phase::pme_spread, [&] { try_local([&] { pme.spread(domain.state().position, sized.charge); }); });
    timers.time(Phase::pme_forward, [&] { pme.forward(); });
    timers.time(Phase::pme_solve, [&] { pme.solve(by_thread[0].energies); });
    timers.time(Phase::pme_backward, [&] { pme.backward(); });
    timers.time(Phase::pme_forces, [&] {
      try_local([&] { pme.add_forces(domain.state().position, sized.charge, domain.n_owned_slots(), by_thread); });
    });
  });
  return problem;
}

std::size_t Mesh::bytes() const {
  std::size_t n = 0;
  implementation_->visit(
      [&](auto& sized) { n = sized.pme.bytes() + sized.charge.capacity() * sizeof(sized.charge[0]); });
  return n;
}

std::int64_t planned_mesh_bytes(const EngineSettings& settings, const Plan& plan, int rank, std::int64_t slots) {
  if (!plan.mesh) return 0;
  const auto& host = plan.bricks.host_of_rank();
  const auto reads_from = [&](int peer) {
    return host[static_cast<std::size_t>(peer)] == host[static_cast<std::size_t>(rank)];
  };
  const auto count = [&]<class Real>(Real) {
    return planned_bytes<Real>(*plan.mesh, rank, reads_from, transform_options(plan)) +
           slots * static_cast<std::int64_t>(sizeof(Real));
  };
  return settings.precision == pair::Precision::double_precision ? count(double()) : count(float());
}

}  // namespace tessera::md::pme
