"""What is wrong on one of three ranks is said by all of them, in the same words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from conftest import mpirun

BEGIN = """
import numpy as np
from mpi4py import MPI
{imports}
comm = MPI.COMM_WORLD
odd = comm.rank == 1
def said(call):
    try:
        call()
    except {error} as error:
        return str(error)
texts = []
"""
END = """
texts = comm.gather(texts)
if comm.rank == 0:
    assert all(one == texts[0] for one in texts), texts
    print("\\n".join(texts[0]))
"""


def messages(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
    mpi: str,
    library: str,
    imports: str,
    error: str,
    calls: str,
) -> list[str]:
    """Runs `calls`, a text that appends to `texts` what `said(call)` returns, on three ranks, of which `odd` is one.

    Returns the lines of all texts, after it has seen that they are the same on all ranks.
    """
    program = BEGIN.format(imports=imports, error=error) + calls + END
    command = [*mpirun(mpi, 3), sys.executable, "-c", program]
    return run_program(command, env={"MPI4PY_LIBMPI": library}).stdout.splitlines()
