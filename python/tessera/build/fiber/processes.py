"""Shares work that can be done in any order among processes, as many as there are cores for this one."""

from __future__ import annotations

import ctypes
import mmap
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np

from tessera import stopping
from tessera.errors import InputError
from tessera.launch import usable_cores
from tessera.system.model import FloatArray

Item = TypeVar("Item")
Found = TypeVar("Found")
_LEAST = 4  # pieces of work, of which fewer are done in this process
_work: Callable[[Any], Any] | None = None


def shared(values: FloatArray) -> FloatArray:
    """Returns a copy of values that processes which are forked later read and write, too."""
    memory = mmap.mmap(-1, max(values.nbytes, 1))
    found = np.frombuffer(memory, values.dtype, values.size).reshape(values.shape)
    found[...] = values
    return found


@contextmanager
def workers(work: Callable[[Item], Found], most: int) -> Iterator[Callable[[Sequence[Item]], Iterator[Found]]]:
    """Opens a way to do pieces of work, at most so many at a time: what it gives yields their results in order.
    Raises what a piece raised, the first of them in order, and `InputError` where a process was killed."""
    count = min(usable_cores(), most)
    if most < _LEAST or count < 2:
        yield lambda items: map(work, items)
        return
    with ProcessPoolExecutor(count, get_context("fork"), _begin, (work,)) as pool:

        def do(items: Sequence[Item]) -> Iterator[Found]:
            with stopping.held():  # processes are forked here, and take signals as this one does until they begin
                return pool.map(_do, items)

        try:
            yield do
        except BrokenProcessPool as error:
            raise InputError("a process of the build was killed, perhaps as there was no memory left") from error
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work
    # Signals that come to all processes, as by Ctrl-C, are for the first, which ends the others; its pool takes SIGTERM
    # for that. They end by themselves where it is killed.
    stopping.ignore()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stopping.release()
    with suppress(OSError, AttributeError):  # only Linux has it
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
