"""Runs a command and writes its peak memory: `peak.py PREFIX COMMAND...` writes PREFIX.<pid>.

mpirun starts it in place of each rank, so there is one file for each rank. It imports very little, because the memory
of a process before it becomes another program counts towards that program's peak.
"""

import os
import sys


def main() -> int:
    prefix, command = sys.argv[1], sys.argv[2:]
    child = os.fork()
    if child == 0:
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    with open(f"{prefix}.{child}", "w") as file:
        file.write(f"{usage.ru_maxrss * 1024}\n")
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


sys.exit(main())
