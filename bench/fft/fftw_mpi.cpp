// The FFTW-MPI program of bench/fft/peers.py: prints one line for each transform, with its mesh and
// seconds.
//   fftw_mpi r2c|c2c float32|float64 NXxNYxNZ:REPEATS...
#include <fftw3-mpi.h>
#include <mpi.h>

#include <cstdio>
#include <string>

template <class Execute>
void repeat(const std::string& mesh, int n, Execute&& execute) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = -2; i < n; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    execute();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && i >= 0) std::printf("%s %.9f\n", mesh.c_str(), MPI_Wtime() - begin);
  }
}

// One text is used for both precisions of FFTW's interface; transposed order saves FFTW an exchange.
#define RUN(fftw, Real)                                                                                           \
  {                                                                                                               \
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
    repeat(mesh, repeats, [&] {                                                                                   \
      fftw##_execute(forward);                                                                                    \
      fftw##_execute(backward);                                                                                   \
    });                                                                                                           \
    fftw##_destroy_plan(forward);                                                                                 \
    fftw##_destroy_plan(backward);                                                                                \
    fftw##_free(x);                                                                                               \
    fftw##_free(y);                                                                                               \
  }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 4) return 2;
  fftw_mpi_init();
  fftwf_mpi_init();
  const bool is_real = std::string(argv[1]) == "r2c", is_single = std::string(argv[2]) == "float32";
  for (int i = 3; i < argc; ++i) {
    long nx = 0, ny = 0, nz = 0;
    int repeats = 0;
    if (std::sscanf(argv[i], "%ldx%ldx%ld:%d", &nx, &ny, &nz, &repeats) != 4) return 2;
    const ptrdiff_t n[3] = {nx, ny, nz};
    const std::string mesh = std::string(argv[i]).substr(0, std::string(argv[i]).find(':'));
    if (is_single)
      RUN(fftwf, float)
    else
      RUN(fftw, double)
  }
  MPI_Finalize();
}
