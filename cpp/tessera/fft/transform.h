// The three-dimensional transform of a periodic mesh that is spread over ranks, after a plan.
//
//   forward    F(k) = Σ_r f(r) exp(−2πi k·r)          r = (x/nx, y/ny, z/nz), k integer
//   backward   f(r) = Σ_k F(k) exp(+2πi k·r)          neither divides by nx·ny·nz (but see options)
//
// Points stand as the plan's input and output boxes, spectra as plan.spectrum(), z fastest, the fields of a batch one
// after the other. Results are the same bits on any ranks, threads and schemes, since every line is transformed alike
// wherever it is (lines.h). Each stage of the plan is one pass over memory: lines are gathered from what the exchange
// before brought, transformed in cache, and scattered to where the exchange after takes them from.
// Cost: 5 N log2 N operations for N complex points, half of that for real ones.
#pragma once

#include <complex>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/plan.h"
#include "tessera/machine/wires.h"

namespace tessera::fft {

struct TransformOptions {
  int fields = 1;               // transformed at once, in one exchange
  bool spoils_spectrum = true;  // backward may use the memory of its input
  double backward_scale = 1;    // what backward multiplies its result by
  bool shares_memory = true;    // ranks of one host read what others have for them where it is; else, all in messages
  std::string exchange = "pairwise";                 // an entry of exchange.h, or "auto"
  std::shared_ptr<const machine::Wires> wires = {};  // on rank 0, for exchanges that the map decides
};

template <class Real>
class Transform {
 public:
  using Complex = std::complex<Real>;

  /// The plan's rank count is the communicator's. Both references must outlive the transform. Collective.
  Transform(const Plan& plan, const comm::Communicator& comm, ThreadPool& threads,
            const TransformOptions& options = {});
  ~Transform();
  Transform(Transform&&) noexcept;

  const Index3& grid() const;
  const IndexBox& input_box() const;
  const IndexBox& output_box() const;
  const IndexBox& spectrum_box() const;

  /// From the input box to the spectrum, of real or of complex points, as the plan's kind is. Collective.
  void forward(std::span<const Real> input, std::span<Complex> spectrum);
  void forward(std::span<const Complex> input, std::span<Complex> spectrum);
  /// From the spectrum to the output box. Collective.
  void backward(std::span<Complex> spectrum, std::span<Real> output);
  void backward(std::span<Complex> spectrum, std::span<Complex> output);

  /// How the exchanges of forward and of backward are carried out, those that move anything: "gathered".
  std::vector<std::string> exchanges() const;
  /// Of its own, beside what it is given.
  std::size_t bytes() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// What Transform::bytes() will be on a rank. `reads_from(peer)`: whether that rank is on its host, in whose memory it
/// reads. Exchanges that a map of the machine decides count as those between pairs of ranks. Cost: O(ranks).
template <class Real>
std::int64_t planned_bytes(const Plan& plan, int rank, const std::function<bool(int)>& reads_from,
                           const TransformOptions& options = {});

}  // namespace tessera::fft
