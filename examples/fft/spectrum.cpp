// The spectrum of a real field that is spread over the ranks of an MPI communicator, and the way back.
#include <mpi.h>

#include <complex>
#include <cstdio>
#include <vector>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"
#include "tessera/fft/choice/agree.h"
#include "tessera/fft/transform.h"

using namespace tessera;

void transform_a_field() {
  const auto comm = comm::Communicator::duplicate_of(MPI_Comm_c2f(MPI_COMM_WORLD));
  ThreadPool threads(2);

  // Real points, z swept first: the direction that is halved. Rank 0 chooses the scheme for all.
  const fft::TransformProblem problem{
      .grid = {60, 45, 50}, .kind = fft::TransformKind::real, .order = {2, 1, 0}, .ranks = comm.size()};
  const auto plan = fft::agree_on_plan(comm, problem, {}).plan;
  fft::Transform<double> transform(plan, comm, threads);

  // This rank's boxes, [lower, upper) along x, y and z; arrays have z fastest.
  std::vector<double> field(static_cast<std::size_t>(transform.input_box().size()), 1.0);
  std::vector<std::complex<double>> spectrum(static_cast<std::size_t>(transform.spectrum_box().size()));
  transform.forward(field, spectrum);
  if (comm.is_root()) std::printf("%s  sum %g\n", plan.summary().c_str(), spectrum[0].real());
  transform.backward(spectrum, field);  // times the number of points, unless TransformOptions::backward_scale
  if (comm.is_root()) std::printf("  and back %g\n", field[0] / (60.0 * 45 * 50));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  transform_a_field();  // what it has made is gone before the end of MPI
  MPI_Finalize();
}
