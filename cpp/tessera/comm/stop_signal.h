// Signals that ask a job to end in good order: SIGTERM, SIGINT, SIGHUP and SIGUSR1.
//
// Launchers and batch systems send one request many times: to every process at once, to a launcher that hands it on,
// and again some seconds later. So
//   - a signal to any one rank is a request to all (agreed_stop_signal);
//   - what comes within a second of another is the same request;
//   - the second request changes nothing: the checkpoint under way is written to its end;
//   - the third ends the process at once, as if nobody had listened;
//   - SIGUSR1 never ends anything: it may be sent as often as one likes.
// A rank that waits for another that is gone is ended by the launcher, with SIGKILL where SIGTERM changes nothing.
#pragma once

#include "tessera/comm/communicator.h"

namespace tessera::comm {

/// Makes the signals requests from now on. Signals that are ignored remain so (`nohup`, background jobs of scripts).
void listen_for_stop_signals();

/// Returns the signal that asked some rank to stop, the same on all ranks; 0 where there was none. Collective.
int agreed_stop_signal(const Communicator& comm);

/// Returns a signal's name, "SIGINT".
const char* name_of_stop_signal(int signal);

}  // namespace tessera::comm
