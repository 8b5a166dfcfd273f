"""The progress bar of commands that read or write for long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

Progress = Callable[[int], None]


@contextlib.contextmanager
def bar(what: str, size: int, quiet: bool, in_bytes: bool = True) -> Iterator[Progress]:
    """Shows a progress bar with the time that is left on a terminal, and nothing elsewhere."""
    if size == 0 or quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich import progress as rich
    from rich.console import Console

    amounts = (rich.DownloadColumn(), rich.TransferSpeedColumn()) if in_bytes else (rich.MofNCompleteColumn(),)
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), *amounts, rich.TimeRemainingColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=size)
        yield lambda done: shown.advance(task, done)
