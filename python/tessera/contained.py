"""Runs readers of other projects' libraries in a child process, so that a file that makes them crash, hang or fill the
memory gives one message.

The child is a fork, so it has all that the parent has loaded, and its result comes back pickled. Its limits grow with
the size of the files that it reads.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tessera import stopping
from tessera.errors import InputError

Result = TypeVar("Result")

_SECONDS, _SECONDS_A_MEGABYTE = 60.0, 5.0
_BYTES, _BYTES_A_BYTE = 2 << 30, 100


def contained(
    function: Callable[..., Result],
    *arguments: Any,
    file: Path | Sequence[Path],
    seconds: float | None = None,
    memory: int | None = None,
) -> Result:
    """Returns `function(*arguments)`, computed in a child process; `file` is the file that it reads, for limits and
    messages.

    The result must be plain data that can be pickled (arrays, dataclasses, lists). `seconds` and `memory` (bytes more
    than this process has) replace limits that grow with the size of the files. Raises the `InputError` of `function`,
    or one that says "cannot read FILE: ..." for any other exception, a crash, or a limit that was reached.
    """
    files = [file] if isinstance(file, Path) else list(file)
    size = sum(path.stat().st_size for path in files)
    seconds = _SECONDS + _SECONDS_A_MEGABYTE * size / 1e6 if seconds is None else seconds
    memory = _BYTES + _BYTES_A_BYTE * size if memory is None else memory
    source, sink = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # The thread that draws progress does not exist in the child.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(source)
        _child(sink, function, arguments, seconds, memory)
    os.close(sink)
    name = " ".join(path.name for path in files[:3]) + (" …" if len(files) > 3 else "")
    status, data = _answer(child, source, seconds)
    return _result(name, status, data, seconds, memory)  # type: ignore[no-any-return]


def _child(sink: int, function: Callable[..., Any], arguments: Sequence[Any], seconds: float, memory: int) -> None:
    """Runs in the child and never returns. What libraries print is discarded."""
    try:
        faulthandler.disable()
        nowhere = open(os.devnull, "r+")  # noqa: SIM115
        for stream in (0, 1, 2):
            os.dup2(nowhere.fileno(), stream)
        sys.stdin = sys.stdout = sys.stderr = nowhere
        for number in stopping.STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _limit(resource.RLIMIT_CPU, int(seconds) + 1 + int(time.process_time()))
        # Memory that is only reserved, as for each thread's heap, counts in RLIMIT_AS but not in RLIMIT_DATA.
        _limit(resource.RLIMIT_DATA, _data_in_use() + memory)
        answer: tuple[str, Any]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = ("result", function(*arguments))
            data = pickle.dumps(answer, protocol=5)
        except InputError as error:
            data = pickle.dumps(("refused", str(error)))
        except MemoryError:
            data = pickle.dumps(("memory", ""))
        except Exception as error:  # libraries may raise any exception at a broken file
            data = pickle.dumps(("memory", "") if "bad_alloc" in str(error) else ("failed", _reason(error)))
        with os.fdopen(sink, "wb") as file:
            file.write(data)
        os._exit(0)
    except BaseException:  # the parent reads the exit status
        os._exit(1)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (soft, hard))


def _data_in_use() -> int:
    """Returns the bytes that count for RLIMIT_DATA: private writable memory of this process."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(fields["VmData"].split()[0])


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:500]
    # The message of a missing key or a bad index needs the name of its exception.
    plain = isinstance(error, (ValueError, OSError)) or type(error) is Exception
    return text if text and plain else f"{type(error).__name__} {text}".strip()


def _answer(child: int, source: int, seconds: float) -> tuple[int | None, bytes]:
    """Returns the child's status (as from `os.wait`; None: it took too long) and its output. The child has ended
    afterwards."""
    deadline = time.monotonic() + 2 * seconds  # a busy machine gives the child less than a whole core
    parts: list[bytes] = []
    try:
        while True:
            ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None, b""
            part = os.read(source, 1 << 20)
            if not part:
                break
            parts.append(part)
        _, status = os.waitpid(child, 0)
        child = 0
        return status, b"".join(parts)
    finally:
        os.close(source)
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _result(name: str, status: int | None, data: bytes, seconds: float, memory: int) -> Any:
    damaged = "is the file damaged, or not what it is taken for?"
    number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0
    if status is None or number == signal.SIGXCPU:
        raise InputError(f"cannot read {name}: not done after {seconds:.0f} s; {damaged}")
    try:
        kind, value = pickle.loads(data)
    except Exception:
        how = signal.Signals(number).name if number else f"exit status {os.waitstatus_to_exitcode(status)}"
        raise InputError(f"cannot read {name}: the reader crashed ({how}); {damaged}") from None
    if kind == "refused":
        raise InputError(value)
    if kind == "memory":
        raise InputError(f"cannot read {name}: it takes more than {memory / (1 << 30):.1f} GiB of memory; {damaged}")
    if kind == "failed":
        raise InputError(f"cannot read {name}: {value}")
    return value
