// The three-dimensional transform of a periodic real mesh that is spread over ranks, after a plan.
//
//   forward    F(k) = Σ_r f(r) exp(−2πi k·r)          r = (x/nx, y/ny, z/nz), k integer
//   backward   f(r) = Σ_k F(k) exp(+2πi k·r)          neither divides by nx·ny·nz
//
// Real data stand as the plan's input and output boxes, spectra as z_lines(rank): kx ∈ [0, nx/2], z fastest. Results
// are the same bits on any ranks and threads, since every line is transformed alike wherever it is (lines.h). Cost: 2.5
// N log2 N operations for N points, three redistributions.
#pragma once

#include <complex>
#include <memory>
#include <span>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/plan.h"

namespace tessera::fft {

template <class Real>
class Transform {
 public:
  using Complex = std::complex<Real>;

  /// The plan's rank count is the communicator's. Both references must outlive the transform.
  Transform(const Plan& plan, const comm::Communicator& comm, ThreadPool& threads);
  ~Transform();
  Transform(Transform&&) noexcept;

  const Index3& grid() const;
  const IndexBox& input_box() const;
  const IndexBox& output_box() const;
  const IndexBox& spectrum_box() const;

  /// From the input box to the spectrum. Collective.
  void forward(std::span<const Real> input, std::span<Complex> spectrum);
  /// From the spectrum, which is spoilt, to the output box. Collective.
  void backward(std::span<Complex> spectrum, std::span<Real> output);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tessera::fft
