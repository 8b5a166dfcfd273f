#include "tessera/md/mesh.h"

#include <variant>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/fft/choice/trial.h"
#include "tessera/fft/choice/wisdom.h"
#include "tessera/md/pme/pme.h"

namespace tessera::md {

namespace {

template <class Real>
struct Sized {
  pme::Pme<Real> pme;
  std::vector<Real> charge;  // by slot, e
};

}  // namespace

struct Mesh::Implementation {
  const domain::Domain& domain;
  std::variant<std::monostate, Sized<float>, Sized<double>> sized;

  /// Calls function(sized) for the precision in use; nothing without a mesh.
  template <class Function>
  void visit(Function&& function) {
    if (auto* single = std::get_if<Sized<float>>(&sized)) function(*single);
    if (auto* both = std::get_if<Sized<double>>(&sized)) function(*both);
  }
};

Mesh::Mesh(const Settings& settings, const domain::Domain& domain, const comm::Communicator& comm, ThreadPool& threads)
    : implementation_(new Implementation{domain, {}}) {
  if (!settings.active) return;
  const auto& lattice = domain.system().lattice;
  const auto make = [&]<class Real>(Real) {
    const fft::Request request{settings.fft_scheme, settings.machine_file, static_cast<std::int64_t>(sizeof(Real)),
                               settings.fft_exchange};
    fft::Agreed agreed;
    const auto plan = pme::plan_pme({settings.order, settings.alpha, settings.grid}, lattice.edges(), domain.grid().n,
                                    domain.decomposition().bricks(), settings.stray, [&](const fft::Problem& problem) {
                                      agreed = fft::agree_or_try<Real>(comm, threads, problem, request, {},
                                                                       fft::default_wisdom_file());
                                      return agreed.plan;
                                    });
    fft::TransformOptions options;
    options.exchange = agreed.exchange;
    options.wires = agreed.wires;
    implementation_->sized.emplace<Sized<Real>>(
        Sized<Real>{pme::Pme<Real>(plan, lattice, settings.coulomb_constant, comm, threads, options), {}});
  };
  settings.double_precision ? make(double()) : make(float());
}

Mesh::~Mesh() = default;
Mesh::Mesh(Mesh&&) noexcept = default;

void Mesh::rebuild(std::span<const double> charge) {
  implementation_->visit([&](auto& sized) { sized.charge.assign(charge.begin(), charge.end()); });
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
    timers.time(Phase::pme_spread, [&] { try_local([&] { pme.spread(domain.position, sized.charge); }); });
    timers.time(Phase::pme_forward, [&] { pme.forward(); });
    timers.time(Phase::pme_solve, [&] { pme.solve(by_thread[0].energies); });
    timers.time(Phase::pme_backward, [&] { pme.backward(); });
    timers.time(Phase::pme_forces, [&] {
      try_local([&] { pme.add_forces(domain.position, sized.charge, domain.n_owned_slots(), by_thread); });
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

}  // namespace tessera::md
