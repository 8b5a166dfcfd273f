! Calls every operation that the drop-in library takes, from Fortran: with mpif.h, with the module mpi (-DMODULE), and with
! mpi_f08 (-DMODULE_F08), where every second call leaves ierror out. Compares what arrives with what MPI says; rank 0
! prints how much is wrong, and the numbers in the world of the ranks of a ring that MPI may number anew.
#ifdef MODULE_F08
#define COMM type(MPI_Comm)
#define TYPE_OF type(MPI_Datatype)
#define OP_OF type(MPI_Op)
#define OMIT_CODE )
#else
#define COMM integer
#define TYPE_OF integer
#define OP_OF integer
#define OMIT_CODE , code)
#endif
program check
#if defined(MODULE_F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(MODULE_F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer, parameter :: n = 600
  integer :: rank, size, code, i, n_wrong, all_wrong, left, right
  integer, allocatable, target :: counts(:), places(:), vector(:), blocks(:), all(:), ring(:)
  double precision :: sums(n)
  COMM :: made
  TYPE_OF :: scattered
  integer(kind=MPI_ADDRESS_KIND) :: at(1)
  logical :: round(1)

  n_wrong = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  allocate (counts(size), places(size), vector(n), blocks(n * size), all(n * size), ring(size))
  counts = n
  places = [(n * i, i = 0, size - 1)]

  ! The vector of rank r is 100 r + i, that from r to s 100 r + s + i.
  call MPI_Barrier(MPI_COMM_WORLD OMIT_CODE
  vector = own(1)
  call MPI_Bcast(vector, n, MPI_INTEGER, 1, MPI_COMM_WORLD, code)
  call expect('bcast', vector, own(1), code)
  call MPI_Get_address(vector, at(1), code)
  call MPI_Type_create_hindexed(1, [n], at, MPI_INTEGER, scattered, code)
  call MPI_Type_commit(scattered, code)
  vector = merge(own(0), 0, rank == 0)
  call MPI_Bcast(MPI_BOTTOM, 1, scattered, 0, MPI_COMM_WORLD OMIT_CODE
  call MPI_Get_address(vector, at(1), code)
  call expect('bcast at an address', vector, own(0), code)
  call MPI_Type_free(scattered, code)

  vector = own(rank)
  all = 0
  call MPI_Gather(vector, n, MPI_INTEGER, all, n, MPI_INTEGER, 1, MPI_COMM_WORLD OMIT_CODE
  if (rank == 1) call expect('gather', all, of_all(), 0)
  blocks = of_all()
  call MPI_Scatter(blocks, n, MPI_INTEGER, vector, n, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
  call expect('scatter', vector, own(rank), code)
  all = 0
  call MPI_Allgather(vector, n, MPI_INTEGER, all, n, MPI_INTEGER, MPI_COMM_WORLD OMIT_CODE
  call expect('allgather', all, of_all(), 0)
  all = 0
  all(places(rank + 1) + 1:places(rank + 1) + n) = own(rank)
  call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, code)
  call expect('allgatherv in place', all, of_all(), code)
  blocks = [(own(rank) + i, i = 0, size - 1)]
  call MPI_Alltoall(blocks, n, MPI_INTEGER, all, n, MPI_INTEGER, MPI_COMM_WORLD OMIT_CODE
  call expect('alltoall', all, of_all() + rank, 0)

  vector = own(rank)
  if (rank == 0) then
    call MPI_Reduce(MPI_IN_PLACE, vector, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
    call expect('reduce in place', vector, total(size - 1), code)
  else
    call MPI_Reduce(vector, vector, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
  end if
  sums = own(rank)
  call MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD OMIT_CODE
  call expect('allreduce in place', int(sums), total(size - 1), 0)
  blocks = of_all() + rank
  call MPI_Reduce_scatter(blocks, vector, counts, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, code)
  call expect('reduce_scatter', vector, own(rank) + size - 1, code)
  call MPI_Reduce_scatter_block(blocks, vector, n, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD OMIT_CODE
  call expect('reduce_scatter_block', vector, own(rank), 0)
  call MPI_Scan(own(rank), vector, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  call expect('scan', vector, total(rank), code)
  call MPI_Exscan(own(rank), vector, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD OMIT_CODE
  if (rank > 0) call expect('exscan', vector, total(rank - 1), 0)
#ifndef MODULE_F08
  call use_operation()
#endif

  ! A ring, as a grid and as graphs: each rank has the neighbours of its number in the new communicator.
  round(1) = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], round, .true., made, code)
  call MPI_Cart_shift(made, 0, 1, left, right, code)
  call expect_ring('cart_create', left, right)
  left = modulo(rank - 1, size)
  right = modulo(rank + 1, size)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], [3], 1, [right], [3], MPI_INFO_NULL, .true., made &
                                      OMIT_CODE
  call expect_neighbours('adjacent', .true.)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [left], [1], [rank], MPI_UNWEIGHTED, MPI_INFO_NULL, .true., made, code)
  call expect_neighbours('dist_graph_create', .false.)
  call MPI_Graph_create(MPI_COMM_WORLD, size, [(2 * i, i = 1, size)], &
                        [(modulo(i - 1, size), modulo(i + 1, size), i = 0, size - 1)], .true., made OMIT_CODE
  call MPI_Comm_rank(made, i, code)
  call MPI_Graph_neighbors(made, i, 2, counts, code)
  call expect_ring('graph_create', counts(1), counts(2))

  call MPI_Reduce(n_wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a, i0)', 'wrong: ', all_wrong
  call MPI_Finalize(code)

contains

  function own(r)
    integer, intent(in) :: r
    integer :: own(n), i
    own = [(100 * r + i, i = 1, n)]
  end function

  function of_all()
    integer :: of_all(n * size), r
    of_all = [(own(r), r = 0, size - 1)]
  end function

  function total(last)
    integer, intent(in) :: last
    integer :: total(n), r
    total = 0
    do r = 0, last
      total = total + own(r)
    end do
  end function

  subroutine expect(what, found, right_ones, code)
    character(*), intent(in) :: what
    integer, intent(in) :: found(:), right_ones(:), code
    if (code == MPI_SUCCESS .and. all_equal(found, right_ones)) return
    n_wrong = n_wrong + 1
    print '(3a, i0)', 'wrong ', what, ' on rank ', rank
  end subroutine

  logical function all_equal(a, b)
    integer, intent(in) :: a(:), b(:)
    all_equal = count(a /= b) == 0
  end function

  ! Checks the neighbours in a ring, and prints who is where in it.
  subroutine expect_ring(what, left, right)
    character(*), intent(in) :: what
    integer, intent(in) :: left, right
    integer :: place
    call MPI_Comm_rank(made, place, code)
    call expect(what, [left, right], [modulo(place - 1, size), modulo(place + 1, size)], MPI_SUCCESS)
    call MPI_Allgather(place, 1, MPI_INTEGER, ring, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    if (rank == 0) print '(2a, *(1x, i0))', what, ':', ring
    call MPI_Comm_free(made, code)
  end subroutine

  subroutine expect_neighbours(what, has_weights)
    character(*), intent(in) :: what
    logical, intent(in) :: has_weights
    integer :: from(1), to(1), from_weights(1), to_weights(1), n_from, n_to
    logical :: is_weighted
    call MPI_Dist_graph_neighbors_count(made, n_from, n_to, is_weighted, code)
    from_weights = 3
    to_weights = 3
    call MPI_Dist_graph_neighbors(made, 1, from, from_weights, 1, to, to_weights, code)
    if (has_weights) call expect(what, [from_weights, to_weights], [3, 3], MPI_SUCCESS)
    call expect(what, [n_from, n_to, merge(1, 0, is_weighted .eqv. has_weights)], [1, 1, 1], MPI_SUCCESS)
    call expect_ring(what, from(1), to(1))
  end subroutine

#ifndef MODULE_F08
  ! Sums by an operation of its own.
  subroutine use_operation()
    OP_OF :: op
    external :: add
    call MPI_Op_create(add, .true., op, code)
    call MPI_Allreduce(own(rank), vector, n, MPI_INTEGER, op, MPI_COMM_WORLD, code)
    call expect('an operation of the program', vector, total(size - 1), code)
    call MPI_Op_free(op, code)
  end subroutine
#endif
end program

subroutine add(a, b, n, type)
  integer :: n, type, a(n), b(n)
  b = a + b
end subroutine
