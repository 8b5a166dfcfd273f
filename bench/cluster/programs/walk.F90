! Finds where a random walk on a graph spends its time, by multiplications of a vector by a sparse matrix whose rows the
! ranks share: with mpif.h, with the module mpi (-DMODULE), and with mpi_f08 (-DMODULE_F08).
!
!   x_i = (1 - d)/n + d Σ_j a_ij x_j / (Σ_k a_kj)     (Page et al. 1999: PageRank)
!
! Each sum of real numbers is one rank's, so that x is the same for any number of ranks and any order of messages.
! walk GRAPHS N STEPS; rank 0 prints the exclusive or of all x and their greatest change, in hexadecimal digits.
#ifdef MODULE_F08
#define COMM type(MPI_Comm)
#else
#define COMM integer
#endif
program walk
  use iso_fortran_env, only: int64, real64
#if defined(MODULE_F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(MODULE_F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer, parameter :: n_links = 12 ! of each vertex
  real(real64), parameter :: d = 0.85_real64
  integer :: n_graphs, n, n_steps, graph, step, i, k, rank, size, code
  integer, allocatable :: counts(:), places(:), columns(:, :), degree(:)
  real(real64), allocatable :: x(:), own(:)
  real(real64) :: change, greatest
  integer(int64) :: link, digest, everywhere
  COMM :: world

  world = MPI_COMM_WORLD
  call MPI_Init(code)
  call MPI_Comm_rank(world, rank, code)
  call MPI_Comm_size(world, size, code)
  n_graphs = argument(1)
  n = argument(2)
  n_steps = argument(3)
  allocate (counts(size), places(size), x(n), degree(n))
  places = [(int(int(n, int64) * i / size), i = 0, size - 1)]
  counts = [places(2:), n] - places
  allocate (own(counts(rank + 1)), columns(n_links, counts(rank + 1)))

  digest = 0
  do graph = 1, n_graphs
    degree = 0
    do i = 1, counts(rank + 1)
      do k = 1, n_links
        link = (int(graph, int64) * n + places(rank + 1) + i) * n_links + k
        columns(k, i) = 1 + int(modulo(scattered(link), int(n, int64)))
        degree(columns(k, i)) = degree(columns(k, i)) + 1
      end do
    end do
    call MPI_Allreduce(MPI_IN_PLACE, degree, n, MPI_INTEGER, MPI_SUM, world, code)
    if (rank == 0) x = [(real(1 + modulo(i, graph + 1), real64) / n, i = 1, n)]
    call MPI_Bcast(x, n, MPI_DOUBLE_PRECISION, 0, world, code)
    do step = 1, n_steps
      do i = 1, counts(rank + 1)
        own(i) = (1 - d) / n
        do k = 1, n_links
          own(i) = own(i) + d * x(columns(k, i)) / degree(columns(k, i))
        end do
      end do
      change = maxval(abs(own - x(places(rank + 1) + 1:places(rank + 1) + counts(rank + 1))))
      call MPI_Allreduce(change, greatest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, world, code)
      call MPI_Allgatherv(own, counts(rank + 1), MPI_DOUBLE_PRECISION, x, counts, places, MPI_DOUBLE_PRECISION, world, &
                          code)
    end do
    do i = 1, n
      digest = ieor(ishftc(digest, 1), transfer(x(i), digest))
    end do
  end do
  call MPI_Reduce(digest, everywhere, 1, MPI_INTEGER8, MPI_BAND, 0, world, code)
  if (rank == 0) print '(a, z16.16, a, z16.16, a, l1)', 'digest ', digest, ' change ', greatest, ' alike ', &
    everywhere == digest
  call MPI_Finalize(code)

contains

  integer function argument(number)
    integer, intent(in) :: number
    character(32) :: text
    call get_command_argument(number, text)
    read (text, *) argument
  end function

  ! Returns a number that is scattered over those below a prime.
  integer(int64) function scattered(number)
    integer(int64), intent(in) :: number
    integer(int64), parameter :: prime = 2147483647 ! the square of a number below it fits
    scattered = modulo(number * 48271, prime)
    scattered = modulo(scattered**2 + number, prime)
  end function
end program
