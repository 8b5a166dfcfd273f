/* Calls every operation that the drop-in library takes, and some that it must leave alone, compares what arrives with
 * what MPI says, and prints a checksum of it all: it is the same with and without the library. With the argument "error"
 * it passes a wrong root instead, with "threads" it works on several communicators at once, and a number says how many
 * communicators it makes and frees. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, HOLE = -7 };

static int rank, size, n_wrong;
static uint64_t hash = 1469598103934665603u; /* FNV-1a */

static int value(int of_rank, int i) { return 100003 * of_rank + 17 * i + 1; }

static int sum(int i, int n_ranks) {
  int total = 0;
  for (int r = 0; r < n_ranks; ++r) total += value(r, i);
  return total;
}

/* Compares a number with what it should be. */
static void expect(const char* what, int n, int i, int found, int expected) {
  hash = (hash ^ (uint64_t)(uint32_t)found) * 1099511628211u;
  if (found == expected) return;
  if (++n_wrong < 5) printf("rank %d: %s of %d: element %d is %d, not %d\n", rank, what, n, i, found, expected);
}

static int* filled(int of_rank, int n) {
  static int store[4][MOST];
  static int turn;
  int* values = store[turn++ % 4];
  for (int i = 0; i < n; ++i) values[i] = value(of_rank, i);
  return values;
}

static int* empty(int n) {
  static int store[MOST];
  for (int i = 0; i < n; ++i) store[i] = HOLE;
  return store;
}

/* Composes maps x -> a x + b, which does not commute. */
static void compose(void* left, void* right, int* n, MPI_Datatype* type) {
  (void)type;
  const unsigned* f = left;
  unsigned* g = right;
  for (int i = 0; i < *n; ++i, f += 2, g += 2) {
    g[1] = g[0] * f[1] + g[1];
    g[0] = g[0] * f[0];
  }
}

static void move(MPI_Comm comm, int n, int root) {
  int* data = rank == root ? filled(root, n) : empty(n);
  MPI_Bcast(data, n, MPI_INT, root, comm);
  for (int i = 0; i < n; ++i) expect("bcast", n, i, data[i], value(root, i));

  int* all = empty(n * size);
  MPI_Gather(filled(rank, n), n, MPI_INT, all, n, MPI_INT, root, comm);
  for (int i = 0; i < n * size && rank == root; ++i) expect("gather", n, i, all[i], value(i / n, i % n));
  all = empty(n * size);
  memcpy(all + rank * n, filled(rank, n), sizeof(int) * (size_t)n);
  MPI_Gather(rank == root ? MPI_IN_PLACE : all + rank * n, n, MPI_INT, all, n, MPI_INT, root, comm);
  for (int i = 0; i < n * size && rank == root; ++i) expect("gather in place", n, i, all[i], value(i / n, i % n));

  for (int in_place = 0; in_place < 2; ++in_place) {
    int* part = empty(n);
    int* whole = filled(0, n * size);
    MPI_Scatter(whole, n, MPI_INT, in_place && rank == root ? MPI_IN_PLACE : part, n, MPI_INT, root, comm);
    if (in_place && rank == root) part = whole + rank * n;
    for (int i = 0; i < n; ++i) expect("scatter", n, i, part[i], value(0, rank * n + i));
  }

  all = empty(n * size);
  MPI_Allgather(filled(rank, n), n, MPI_INT, all, n, MPI_INT, comm);
  for (int i = 0; i < n * size; ++i) expect("allgather", n, i, all[i], value(i / n, i % n));
  all = empty(n * size);
  memcpy(all + rank * n, filled(rank, n), sizeof(int) * (size_t)n);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, comm);
  for (int i = 0; i < n * size; ++i) expect("allgather in place", n, i, all[i], value(i / n, i % n));

  int counts[64], places[64], end = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r == 1 ? 0 : n / (r + 1) + 1;
    places[r] = end + 2; /* a gap before each block */
    end = places[r] + counts[r];
  }
  all = empty(end);
  MPI_Allgatherv(filled(rank, n + 1), counts[rank], MPI_INT, all, counts, places, MPI_INT, comm);
  for (int r = 0; r < size; ++r) {
    expect("allgatherv, gap", n, r, all[places[r] - 1], HOLE);
    for (int i = 0; i < counts[r]; ++i) expect("allgatherv", n, i, all[places[r] + i], value(r, i));
  }

  all = empty(n * size);
  MPI_Alltoall(filled(rank, n * size), n, MPI_INT, all, n, MPI_INT, comm);
  for (int i = 0; i < n * size; ++i) expect("alltoall", n, i, all[i], value(i / n, rank * n + i % n));
  all = filled(rank, n * size);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, comm);
  for (int i = 0; i < n * size; ++i) expect("alltoall in place", n, i, all[i], value(i / n, rank * n + i % n));
}

static void combine(MPI_Comm comm, int n, int root) {
  int* result = empty(n);
  MPI_Reduce(filled(rank, n), result, n, MPI_INT, MPI_SUM, root, comm);
  for (int i = 0; i < n; ++i) expect("reduce", n, i, result[i], rank == root ? sum(i, size) : HOLE);
  result = filled(rank, n);
  MPI_Reduce(rank == root ? MPI_IN_PLACE : result, result, n, MPI_INT, MPI_MAX, root, comm);
  for (int i = 0; i < n && rank == root; ++i) expect("reduce in place", n, i, result[i], value(size - 1, i));
  result = empty(n);
  MPI_Allreduce(filled(rank, n), result, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) expect("allreduce", n, i, result[i], sum(i, size));
  result = filled(rank, n);
  MPI_Allreduce(MPI_IN_PLACE, result, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) expect("allreduce in place", n, i, result[i], sum(i, size));

  int counts[64], begin = 0, total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r == 1 ? 0 : n / (r + 1) + 1;
    if (r < rank) begin += counts[r];
    total += counts[r];
  }
  result = empty(n + 1);
  MPI_Reduce_scatter(filled(rank, total), result, counts, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < counts[rank]; ++i) expect("reduce_scatter", n, i, result[i], sum(begin + i, size));
  result = empty(n);
  MPI_Reduce_scatter_block(filled(rank, n * size), result, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) expect("reduce_scatter_block", n, i, result[i], sum(rank * n + i, size));

  result = empty(n);
  MPI_Scan(filled(rank, n), result, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) expect("scan", n, i, result[i], sum(i, rank + 1));
  result = empty(n);
  MPI_Exscan(filled(rank, n), result, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) expect("exscan", n, i, result[i], rank > 0 ? sum(i, rank) : HOLE);

  MPI_Op composition;
  MPI_Datatype map;
  MPI_Op_create(compose, 0, &composition);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &map);
  MPI_Type_commit(&map);
  unsigned own[2] = {(unsigned)rank + 2, (unsigned)rank}, all[2], expected[2] = {2, 0};
  for (unsigned r = 1; r < (unsigned)size; ++r) {
    expected[1] = (r + 2) * expected[1] + r;
    expected[0] *= r + 2;
  }
  MPI_Allreduce(own, all, 1, map, composition, comm);
  for (int i = 0; i < 2; ++i) expect("composition", n, i, (int)all[i], (int)expected[i]);
  MPI_Type_free(&map);
  MPI_Op_free(&composition);

  struct {
    double key;
    int place;
  } one = {-(double)(rank == size / 2), rank}, least = {0, 0};
  MPI_Allreduce(&one, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  expect("minloc", n, 0, least.place, size / 2);
}

/* Sends every second element of a vector, and leaves the others as they are. */
static void with_holes(MPI_Comm comm, int n, int root) {
  MPI_Datatype half;
  MPI_Type_vector(n, 1, 2, MPI_INT, &half);
  MPI_Type_commit(&half);
  int* data = empty(2 * n);
  for (int i = 0; i < n && rank == root; ++i) data[2 * i] = value(root, i);
  MPI_Bcast(data, 1, half, root, comm);
  for (int i = 0; i < 2 * n; ++i) expect("vector", n, i, data[i], i % 2 ? HOLE : value(root, i / 2));
  MPI_Type_free(&half);
}

#if MPI_VERSION >= 4
static void with_large_counts(MPI_Comm comm, int n) {
  int* result = empty(n);
  MPI_Allreduce_c(filled(rank, n), result, n, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < n; ++i) expect("allreduce_c", n, i, result[i], sum(i, size));
  MPI_Count counts[64];
  MPI_Aint places[64];
  for (int r = 0; r < size; ++r) {
    counts[r] = n;
    places[r] = (size - 1 - r) * n;
  }
  int* all = empty(n * size);
  MPI_Allgatherv_c(filled(rank, n), n, MPI_INT, all, counts, places, MPI_INT, comm);
  for (int i = 0; i < n * size; ++i) expect("allgatherv_c", n, i, all[i], value(size - 1 - i / n, i % n));
}
#endif

static void all_of(MPI_Comm comm) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int sizes[] = {1, 300};
  for (int s = 0; s < 2; ++s) {
    move(comm, sizes[s], s % size);
    combine(comm, sizes[s], s % size);
    with_holes(comm, sizes[s], s % size);
#if MPI_VERSION >= 4
    with_large_counts(comm, sizes[s]);
#endif
    MPI_Barrier(comm);
  }
}

/* Reduces between two groups, each of which gets the sum of the other. */
static void between_groups(void) {
  MPI_Comm half, between;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) return;
  const int is_odd = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, is_odd, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !is_odd, 1, &between);
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, between);
  expect("between groups", 1, 0, all, is_odd ? (size + 1) / 2 : size / 2);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

/* Makes and frees so many communicators that an MPI library would have none left if something of them were kept. */
static void freed(int n) {
  for (int i = 0; i < n; ++i) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? rank : -rank, &comm);
    int own, total = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Allreduce(&own, &total, 1, MPI_INT, MPI_SUM, comm);
    expect("of a group that is freed", 1, i, total, size * (size - 1) / 2);
    MPI_Comm_free(&comm);
  }
}

struct task {
  MPI_Comm comm;
  int number;
};

/* Sums other values in each thread, so that messages that reach the wrong one are seen. */
static void* work(void* given) {
  const struct task* task = given;
  static _Thread_local int values[1000];
  for (int turn = 0; turn < 50; ++turn) {
    for (int i = 0; i < 1000; ++i) values[i] = i + turn + 10000 * task->number;
    MPI_Allreduce(MPI_IN_PLACE, values, 1000 - turn, MPI_INT, MPI_SUM, task->comm);
    if (values[turn] != (2 * turn + 10000 * task->number) * size) return given;
  }
  return NULL;
}

static void with_threads(void) {
  enum { N = 4 };
  struct task tasks[N];
  pthread_t threads[N];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Later turns take over what earlier ones leave, on each rank in another order. */
  for (int turn = 0; turn < 3; ++turn) {
    for (int t = 0; t < N; ++t) {
      tasks[t].number = t;
      MPI_Comm_dup(MPI_COMM_WORLD, &tasks[t].comm);
    }
    for (int t = 0; t < N; ++t) pthread_create(&threads[t], NULL, work, &tasks[t]);
    for (int t = 0; t < N; ++t) {
      void* is_wrong;
      pthread_join(threads[t], &is_wrong);
      expect("thread", N, t, is_wrong != NULL, 0);
    }
    for (int t = 0; t < N; ++t) MPI_Comm_free(&tasks[(t + rank) % N].comm);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(what, "error") == 0) {
    int data = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Bcast(&data, 1, MPI_INT, 99, MPI_COMM_WORLD), class;
    MPI_Error_class(code, &class);
    if (rank == 0) printf("%s\n", class == MPI_ERR_ROOT ? "root refused" : "root not refused");
  } else if (strcmp(what, "threads") == 0) {
    if (provided == MPI_THREAD_MULTIPLE) with_threads();
  } else {
    MPI_Comm dup, half;
    all_of(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(dup, rank % 2, -rank, &half);
    MPI_Comm_free(&dup);
    all_of(half);
    between_groups();
    freed(argc > 1 ? atoi(what) : 10);
    MPI_Comm_free(&half);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t hashes = 0, mine = hash * (2 * (uint64_t)rank + 1);
  int wrong = 0;
  PMPI_Reduce(&mine, &hashes, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  PMPI_Allreduce(&n_wrong, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong, checksum %016llx\n", wrong, (unsigned long long)hashes);
  MPI_Finalize();
  return wrong != 0;
}
