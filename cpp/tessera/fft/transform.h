// Executes a plan: the three-dimensional transform of a periodic mesh that is distributed over ranks.
//
//   forward    F(k) = Σ_r f(r) exp(−2πi k·r)          r = (x/nx, y/ny, z/nz), k integer
//   backward   f(r) = Σ_k F(k) exp(+2πi k·r)          neither divides by nx·ny·nz (but see options)
//
// Points are in the plan's input and output boxes and spectra in plan.spectrum(), z fastest, the fields of a batch one
// after the other. Results are the same bits on any ranks, threads and schemes, since every line is transformed alike
// wherever it is (lines.h). Each stage of the plan is one pass over memory: lines are gathered from where the previous
// exchange left them, transformed in cache, and scattered to where the next exchange reads them.
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
  int fields = 1;               // transformed together, in one exchange
  bool spoils_spectrum = true;  // whether backward may use the memory of its input
  double backward_scale = 1;    // factor of backward's results
  bool shares_memory = true;    // whether ranks of one host read each other's memory; else all values go in messages
  std::string exchange = "pairwise";                 // an entry of exchange.h, or "auto"
  std::shared_ptr<const machine::Wires> wires = {};  // on rank 0, for exchanges that depend on the map
};

template <class Real>
class Transform {
 public:
  using Complex = std::complex<Real>;

  /// Requires that the plan's number of ranks is the communicator's. Both references must outlive the transform.
  /// Collective.
  Transform(const TransformPlan& plan, const comm::Communicator& comm, ThreadPool& threads,
            const TransformOptions& options = {});
  ~Transform();
  Transform(Transform&&) noexcept;

  const Index3& grid() const;
  const IndexBox& input_box() const;
  const IndexBox& output_box() const;
  const IndexBox& spectrum_box() const;

  /// Transforms the input box to the spectrum, from real or complex points according to the plan's kind. Collective.
  void forward(std::span<const Real> input, std::span<Complex> spectrum);
  void forward(std::span<const Complex> input, std::span<Complex> spectrum);
  /// Transforms the spectrum to the output box. Collective.
  void backward(std::span<Complex> spectrum, std::span<Real> output);
  void backward(std::span<Complex> spectrum, std::span<Complex> output);

  /// Returns how the exchanges of forward and of backward that move anything are carried out, such as "gathered".
  std::vector<std::string> exchanges() const;
  /// Counts the transform's own memory, without its arguments.
  std::size_t bytes() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Predicts Transform::bytes() on a rank. `reads_from(peer)`: whether that rank is on its host, in whose memory it
/// reads. Exchanges that a map of the machine decides count as those between pairs of ranks. Cost: O(ranks).
template <class Real>
std::int64_t planned_bytes(const TransformPlan& plan, int rank, const std::function<bool(int)>& reads_from,
                           const TransformOptions& options = {});

}  // namespace tessera::fft
