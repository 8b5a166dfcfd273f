/* Measures the greatest rates of this machine's cores, on a number of threads at once:
 *   limits flops THREADS          fused multiply-adds of single precision, operations/s (two each)
 *   limits clock THREADS          cycles/s: each addition of a chain takes one
 *   limits copy THREADS BYTES     reading and writing arrays of BYTES bytes in all, bytes/s (read and written)
 *   limits triad THREADS BYTES    a[i] = b[i] + s·c[i] of doubles with plain stores, three arrays of BYTES bytes in all,
 *                                 bytes/s (read twice and written once), as McCalpin's STREAM counts
 * Prints the best of several tries. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__)
enum { lanes = 16 };
#elif defined(__AVX__)
enum { lanes = 8 };
#else
enum { lanes = 4 };
#endif
typedef float vector __attribute__((vector_size(4 * lanes)));

enum { most_threads = 256, tries = 40, chains = 10 };

static int threads;
static size_t bytes;
static int is_triad, is_clock;
static pthread_barrier_t barrier;
static double work_done; /* operations or bytes of one thread and try */
static double begun[most_threads], ended[most_threads];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void multiply(void) {
  const long rounds = 200000;
  vector x[chains], a, b;
  for (int l = 0; l < lanes; ++l) a[l] = 0.999999f, b[l] = 1e-6f;
  for (int c = 0; c < chains; ++c) x[c] = a * (float)(c + 1);
  for (long r = 0; r < rounds; ++r)
    for (int c = 0; c < chains; ++c) x[c] = x[c] * a + b;
  for (int c = 0; c < chains; ++c) __asm__ volatile("" : : "m"(x[c]));
  work_done = 2.0 * lanes * chains * (double)rounds;
}

/* Adds registers: newer processors skip additions of constants. */
static void count_cycles(void) {
  const long rounds = 2000000;
  unsigned long x = 1, y = (unsigned long)tries;
  for (long r = 0; r < rounds; ++r)
    for (int c = 0; c < chains; ++c) {
      x += y;
      __asm__ volatile("" : "+r"(x), "+r"(y));
    }
  work_done = chains * (double)rounds;
}

static void copy(char *from, char *to, size_t n) {
  const long rounds = 1 + (long)(20000000 / (n + 1));
  for (long r = 0; r < rounds; ++r) {
    memcpy(to, from, n);
    __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
  }
  work_done = 2.0 * (double)n * (double)rounds;
}

static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n) {
  const long rounds = 1 + (long)(20000000 / (n + 1));
  for (long r = 0; r < rounds; ++r) {
    for (size_t i = 0; i < n / sizeof(double); ++i) a[i] = b[i] + 3.0 * c[i];
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c) : "memory");
  }
  work_done = 3.0 * (double)n * (double)rounds;
}

static void *run(void *argument) {
  const long thread = (long)argument;
  const size_t n = bytes / ((is_triad ? 3 : 2) * (size_t)threads) / 64 * 64;
  char *from = n ? aligned_alloc(64, n) : NULL, *to = n ? aligned_alloc(64, n) : NULL;
  char *more = n && is_triad ? aligned_alloc(64, n) : NULL;
  if (n) memset(from, 0, n), memset(to, 0, n);
  if (more) memset(more, 0, n);
  for (int t = 0; t < tries; ++t) {
    pthread_barrier_wait(&barrier);
    begun[thread] = now();
    if (is_triad)
      triad((double *)to, (double *)from, (double *)more, n);
    else if (n)
      copy(from, to, n);
    else if (is_clock)
      count_cycles();
    else
      multiply();
    ended[thread] = now();
    pthread_barrier_wait(&barrier);
    if (thread == 0) {
      static double best = 0;
      double first = begun[0], last = ended[0];
      for (int k = 1; k < threads; ++k) {
        if (begun[k] < first) first = begun[k];
        if (ended[k] > last) last = ended[k];
      }
      const double rate = work_done * threads / (last - first);
      if (rate > best) best = rate;
      if (t == tries - 1) printf("%.6g\n", best);
    }
  }
  free(from);
  free(to);
  free(more);
  return NULL;
}

int main(int count, char **words) {
  threads = count > 2 ? atoi(words[2]) : 0;
  if (count > 3) bytes = (size_t)atoll(words[3]);
  is_triad = count > 1 && strcmp(words[1], "triad") == 0;
  is_clock = count > 1 && strcmp(words[1], "clock") == 0;
  const int moves = count > 1 && strcmp(words[1], "flops") != 0 && !is_clock;
  if (threads < 1 || threads > most_threads || moves != (bytes >= 128 * (size_t)threads)) {
    fprintf(stderr, "limits flops|clock THREADS | limits copy|triad THREADS BYTES\n");
    return 2;
  }
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  pthread_t others[most_threads];
  for (long k = 1; k < threads; ++k) pthread_create(&others[k], NULL, run, (void *)k);
  run((void *)0);
  for (long k = 1; k < threads; ++k) pthread_join(others[k], NULL);
  return 0;
}
