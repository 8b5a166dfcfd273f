"""Runs the making of a model in a new process.

It seeds Python's random numbers and limits OpenMM's threads for all of its process, so it needs one of its own; and a
fork of a process that has used OpenMM's threads would wait for them for ever.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tessera.errors import InputError

_LAST_LINES = 3  # of what a process that crashed has printed


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns `function(*arguments)`; both ways everything is pickled.

    Raises its `InputError`, or one that says how the process has ended.
    """
    path = os.pathsep.join(folder for folder in sys.path if folder)
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", "from tessera.prepare.pdb.process import serve; serve()"],
        input=pickle.dumps((function, arguments)),
        capture_output=True,
        env=environment,
        check=False,
    )
    try:
        kind, value = pickle.loads(done.stdout)
    except Exception:
        said = " ".join(done.stderr.decode(errors="replace").strip().splitlines()[-_LAST_LINES:])
        raise InputError(f"the process that makes the model has ended with status {done.returncode}: {said}") from None
    if kind == "refused":
        raise InputError(value)
    return value


def serve() -> None:
    """Reads a function and its arguments from standard input and writes what it returns to standard output."""
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)  # what libraries print does not mix with the answer
        function, arguments = pickle.load(sys.stdin.buffer)
        try:
            found = ("made", function(*arguments))
        except InputError as error:
            found = ("refused", str(error))
        pickle.dump(found, answer)
