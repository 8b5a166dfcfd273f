"""Signals that ask a command to end. It then removes what it has begun, and its status is 128 + the signal."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
SAME_REQUEST = 1.0  # seconds; as in cpp/tessera/comm/stop_signal.h


class Stopped(BaseException):
    """Raised where a signal has asked this process to end: no part of it may take this for an error of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def stop(number: int) -> NoReturn:
    """Raises `Stopped`."""
    raise Stopped(number)


def listen(act: Callable[[int], None]) -> None:
    """Calls `act` at the first of the signals. Those within a second are the same request; a later one ends the process
    at once. Signals that are ignored remain so (`nohup`). Only the main thread may call it."""
    first: float | None = None

    def handle(number: int, _: Any) -> None:
        nonlocal first
        now = time.monotonic()
        if first is None:
            first = now
            act(number)
        elif now - first > SAME_REQUEST:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    _set(handle)


def ignore() -> None:
    """Ignores the signals from now on: one that comes late shall not interrupt what is left to do."""
    _set(signal.SIG_IGN)


@contextmanager
def held() -> Iterator[None]:
    """Holds the signals back until the block ends. What is forked in it has them held until `release()`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def release() -> None:
    """Lets the signals come that were held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def _set(handler: Any) -> None:
    for number in STOP_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
