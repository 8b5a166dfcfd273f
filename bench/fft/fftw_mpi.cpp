// FFTW-MPI's side of bench/fft/peers.py: seconds of each forward and backward transform, one a line.
//   fftw_mpi NX NY NZ r2c|c2c float32|float64 REPEATS
#include <fftw3-mpi.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

template <class Execute>
void repeat(int n, Execute&& execute) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = -2; i < n; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    execute();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && i >= 0) std::printf("%.9f\n", MPI_Wtime() - begin);
  }
}

// The same text for both precisions of FFTW's interface; transposed order saves FFTW an exchange.
#define RUN(fftw, Real)                                                                                           \
  {                                                                                                               \
    fftw##_mpi_init();                                                                                            \
    ptrdiff_t n0, begin0, n1, begin1;                                                                             \
    const ptrdiff_t last = is_real ? n[2] / 2 + 1 : n[2];                                                         \
    const ptrdiff_t size =                                                                                        \
        fftw##_mpi_local_size_3d_transposed(n[0], n[1], last, MPI_COMM_WORLD, &n0, &begin0, &n1, &begin1);        \
    auto* x = reinterpret_cast<Real*>(fftw##_alloc_complex(static_cast<std::size_t>(size)));                      \
    auto* y = fftw##_alloc_complex(static_cast<std::size_t>(size));                                               \
    auto* xc = reinterpret_cast<fftw##_complex*>(x);                                                              \
    const unsigned out = FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT, in = FFTW_MEASURE | FFTW_MPI_TRANSPOSED_IN;      \
    auto forward = is_real ? fftw##_mpi_plan_dft_r2c_3d(n[0], n[1], n[2], x, y, MPI_COMM_WORLD, out)              \
                           : fftw##_mpi_plan_dft_3d(n[0], n[1], n[2], xc, y, MPI_COMM_WORLD, FFTW_FORWARD, out);  \
    auto backward = is_real ? fftw##_mpi_plan_dft_c2r_3d(n[0], n[1], n[2], y, x, MPI_COMM_WORLD, in)              \
                            : fftw##_mpi_plan_dft_3d(n[0], n[1], n[2], y, xc, MPI_COMM_WORLD, FFTW_BACKWARD, in); \
    for (ptrdiff_t i = 0; i < 2 * size; ++i) x[i] = static_cast<Real>(i % 7) / 10;                                \
    repeat(repeats, [&] {                                                                                         \
      fftw##_execute(forward);                                                                                    \
      fftw##_execute(backward);                                                                                   \
    });                                                                                                           \
  }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 7) return 2;
  const ptrdiff_t n[3] = {std::atol(argv[1]), std::atol(argv[2]), std::atol(argv[3])};
  const bool is_real = std::string(argv[4]) == "r2c";
  const int repeats = std::atoi(argv[6]);
  if (std::string(argv[5]) == "float32")
    RUN(fftwf, float)
  else
    RUN(fftw, double)
  MPI_Finalize();
}
