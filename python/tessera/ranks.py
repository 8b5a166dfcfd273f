"""The processes that make one file together: ranks that a launcher of MPI started, or forks of this process.

All of them carry out the same work and tell each other values with `Ranks.all`. Where one fails, its last message says
so; the others, which are or will be in `all`, raise `EndedElsewhere`. So an error of any rank is one message, and
nothing hangs.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from tessera import flavours, stopping
from tessera.machine.quantities import whole_of
from tessera.printing import echo

#: launcher's MPI → variables with the number of its ranks and that of this process, as in cpp/tessera/comm/mpi
_VARIABLES = {
    "openmpi": ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    "mpich": ("PMI_SIZE", "PMI_RANK"),
    "slurm": ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
}


class EndedElsewhere(Exception):
    """Raised where another rank has ended with an error: `status` is its exit status, the text its message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Ranks:
    """Processes 0 to `size` − 1, of which this is `rank`. `exchange` tells all of them the bytes of each."""

    def __init__(self, rank: int = 0, size: int = 1, exchange: Callable[[bytes], list[bytes]] | None = None) -> None:
        self.rank, self.size = rank, size
        self._world: Any = None
        self._flavour = "serial"
        self._exchange = exchange or (lambda data: [data])
        self._is_over = False

    @property
    def is_root(self) -> bool:
        return self.rank == 0

    @property
    def flavour(self) -> str:
        """The MPI of the ranks, or "serial"."""
        return self._flavour

    def allgather(self, value: Any) -> list[Any]:
        """Does what `all` does, by the name that communicators of mpi4py have for it. Collective."""
        return self.all(value)

    @property
    def world(self) -> Any:
        """The ranks as compiled code knows them, which write files together. Raises `ImportError`."""
        if self._world is None:
            assert self.size == 1
            self._world = self.module.World()
        return self._world

    @property
    def module(self) -> Any:
        """The compiled code. Raises `ImportError`."""
        return flavours.load("ranks", self._flavour)

    def all(self, value: Any) -> list[Any]:
        """Returns the values of all ranks. Collective. Raises `EndedElsewhere`."""
        if self.size == 1:
            return [value]
        if _asked_to_stop:
            raise stopping.Stopped(_asked_to_stop)
        found = self._all(False, value)
        failures = [what for has_ended, what in found if has_ended]
        if failures:
            raise EndedElsewhere(*max(failures, key=lambda failure: failure[0] != 0))
        return [what for _, what in found]

    def from_root(self, value: Any) -> Any:
        """Returns the root's value. Collective. Raises `EndedElsewhere`."""
        return self.all(value if self.is_root else None)[0]

    def end(self, status: int, text: str) -> tuple[int, str]:
        """Says that this rank has ended, with this status and message. Returns the status of all, and the message of
        the lowest other rank that failed where this one has not."""
        if self._is_over or self.size == 1:
            return status, ""
        failures = [what for has_ended, what in self._all(True, (status, text)) if has_ended and what[0] != 0]
        if status != 0 or not failures:
            return status, ""
        return failures[0]

    def _all(self, has_ended: bool, what: Any) -> list[tuple[bool, Any]]:
        found = [pickle.loads(data) for data in self._exchange(pickle.dumps((has_ended, what)))]
        self._is_over = any(ended for ended, _ in found)
        return found


ALONE = Ranks()


def launched(environment: Mapping[str, str] = os.environ) -> str | None:
    """Returns the MPI whose launcher started this process as one of several, by the variables that launchers set; None
    if this process is alone."""
    found = None
    for flavour, (size, _) in _VARIABLES.items():
        if size in environment:
            if (whole_of(environment[size]) or 0) <= 1:
                return None  # of several launchers, one inside another, this process belongs to the smallest
            found = found or flavour
    if found == "slurm":
        return "openmpi" if "PMIX_RANK" in environment else "mpich"
    return found


def is_first() -> bool:
    """Returns whether this process is the first of its launcher, for messages where MPI can't start."""
    return not any(os.environ.get(rank, "0") != "0" for _, rank in _VARIABLES.values())


_of_launcher = ALONE
_asked_to_stop = 0


def _stop(number: int) -> None:
    """Notes the signal for the next message: an exception at any other place could leave ranks in `all` for ever."""
    global _asked_to_stop
    _asked_to_stop = number


def of_launcher() -> Ranks:
    """Returns the ranks of the command that is carried out; a process that no launcher started is alone."""
    return _of_launcher


def carry_out(command: Callable[[], int], flavour: str) -> NoReturn:
    """Ends this process with the status of a command that all ranks of a launcher carry out. Only the root prints."""
    global _of_launcher
    try:
        module = flavours.load("ranks", flavour)
        world = module.World()
    except (ImportError, RuntimeError, ValueError) as error:
        if is_first():
            echo(f"tessera: error: {error}", err=True)
        sys.exit(2)
    _of_launcher = ranks = Ranks(world.rank, world.size, world.all_gather)
    ranks._world, ranks._flavour = world, flavour
    stopping.listen(_stop)
    printed = io.StringIO()
    stderr = sys.stderr
    if not ranks.is_root:
        sys.stdout, sys.stderr = open(os.devnull, "w"), printed  # noqa: SIM115
    try:
        status = command()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    status, text = ranks.end(status, printed.getvalue())
    if ranks.is_root:
        stderr.write(text)
        stderr.flush()
    module.finalize()
    sys.exit(status)


def fork(count: int, work: Callable[[Ranks], None]) -> None:
    """Carries out `work` in this process, which is the root, and in `count` − 1 forks of it. Raises what `work` does,
    and `EndedElsewhere` where a fork fails or is killed."""
    if count == 1:
        return work(ALONE)
    context = get_context("fork")  # so that what `work` reads is in memory once
    pairs = [context.Pipe() for _ in range(count - 1)]
    ends = [end for end, _ in pairs]
    forks = []
    for index, (_, other) in enumerate(pairs):
        forks.append(context.Process(target=_in_fork, args=(index + 1, count, pairs, work), daemon=True))
        forks[-1].start()
        other.close()
    ranks = Ranks(0, count, lambda data: _exchange_as_root(ends, data))
    try:
        work(ranks)
    finally:
        for end in ends:
            end.close()  # so forks that still wait end
        for one in forks:
            one.join()


def _exchange_as_root(ends: list[Connection], data: bytes) -> list[bytes]:
    try:
        found = [data, *(end.recv_bytes() for end in ends)]
        together = pickle.dumps(found)
        for end in ends:
            end.send_bytes(together)
    except (EOFError, OSError):
        problem = "a process that made a part of the system was killed, perhaps for want of memory; lower --processes"
        raise EndedElsewhere(2, problem) from None
    return found


def _in_fork(rank: int, count: int, pairs: list[Any], work: Callable[[Ranks], None]) -> None:
    stopping.ignore()  # the root ends
    for index, (end, other) in enumerate(pairs):
        end.close()
        if index > rank - 1:
            other.close()
    own: Connection = pairs[rank - 1][1]

    def exchange(data: bytes) -> list[bytes]:
        own.send_bytes(data)
        found: list[bytes] = pickle.loads(own.recv_bytes())
        return found

    ranks = Ranks(rank, count, exchange)
    with suppress(EOFError, OSError):  # the root has ended
        try:
            work(ranks)
        except Exception as error:
            ranks.end(2, str(error) or type(error).__name__)
    os._exit(0)
