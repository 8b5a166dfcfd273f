/* MPI libraries poll. Where many ranks share few cores, a rank that polls without success must sleep, or
   ranks with work have to wait.
   Preloaded into every rank; CLUSTER_NAP: microseconds that it sleeps after some empty polls. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 10 }; /* empty polls before the first nap */

static void nap(void) {
  static long microseconds = -1;
  if (microseconds < 0) {
    const char* given = getenv("CLUSTER_NAP");
    microseconds = given ? atol(given) : 0;
    prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  }
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, 0);
}

static int polled(int events, int timeout) {
  static __thread int empty;
  if (events || timeout) {
    empty = 0;
  } else if (++empty > PATIENCE) {
    nap();
  }
  return events;
}

int sched_yield(void) {
  nap();
  return 0;
}

int epoll_wait(int fd, struct epoll_event* events, int n, int timeout) {
  return polled((int)syscall(SYS_epoll_pwait, fd, events, n, timeout, NULL, 8), timeout);
}

int poll(struct pollfd* files, nfds_t n, int timeout) {
  struct timespec time = {timeout / 1000, timeout % 1000 * 1000000L};
  return polled(ppoll(files, n, timeout < 0 ? NULL : &time, NULL), timeout);
}
