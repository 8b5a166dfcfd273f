"""Makes `python -m tessera` run the command line."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # there is nothing to tell of while modules load
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from tessera.cli import main

if __name__ == "__main__":
    main()
