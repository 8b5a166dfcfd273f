"""Writers that do nothing but write, beside which checkpoints and segments are timed in turns on the same ranks."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

BLOCK = 8 << 20  # bytes that a writer hands over at once
PAGE = 4096  # bytes, of which direct I/O takes whole ones
BUFFERED, DIRECT = "through memory", "by O_DIRECT"


def pages_of(content: bytes) -> mmap.mmap:
    """Returns a copy in whole pages, as direct I/O needs them; zeros follow its end."""
    pages = mmap.mmap(-1, max(PAGE, -(-len(content) // PAGE) * PAGE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    pages[: len(content)] = content
    return pages


def write_plainly(path: Path, pages: mmap.mmap, size: int, flags: int = 0) -> None:
    """Writes the first bytes of some pages as safely as a checkpoint is: bytes, fsync, rename, fsync of the folder.
    With O_DIRECT whole pages are written, and the file is cut to its size."""
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o666)
    end = len(pages) if flags & os.O_DIRECT else size
    for at in range(0, end, BLOCK):
        rest = memoryview(pages)[at : min(at + BLOCK, end)]
        while len(rest):
            rest = rest[os.write(descriptor, rest) :]
    if end > size:
        os.ftruncate(descriptor, size)
    os.fsync(descriptor)
    os.close(descriptor)
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def can_write_directly(folder: Path) -> bool:
    """Whether files of a folder can be written around the system's memory: a file system in memory can't."""
    path = folder / "direct.probe"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o666))
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)
    return True


def in_turns(comm: Any, ours: Callable[[], None], folder: Path, content: bytes, repeats: int) -> dict[str, Any]:
    """Times a collective function and one writer of the same bytes, on the root, in turns. Returns the seconds of each
    turn but the first, which warms up."""
    ways: dict[str, Callable[[], None]] = {"ours": ours}
    if comm.rank == 0:
        pages, path = pages_of(content), folder / "plain"
        ways[BUFFERED] = lambda: write_plainly(path, pages, len(content))
        if can_write_directly(folder):
            ways[DIRECT] = lambda: write_plainly(path, pages, len(content), os.O_DIRECT)
    names = comm.bcast(list(ways))
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repeats + 1):
        for name in names:
            if comm.rank == 0:
                os.sync()
            comm.barrier()
            begin = time.perf_counter()
            if name in ways:
                ways[name]()
            comm.barrier()
            if turn > 0:
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratios(seconds: Mapping[str, list[float]], name: str) -> list[float]:
    """Returns our speed over that of a writer, for each turn."""
    return [plain / ours for ours, plain in zip(seconds["ours"], seconds[name], strict=True)]


def rows_of(ranks: int, found: Mapping[str, Any], like: str) -> tuple[list[Any], float]:
    """Returns a row of a table and the median ratio to the writer that goes the same way: MB/s of ours and of both
    writers, the ratio and its least and greatest."""
    speeds = [
        found["bytes"] / 1e6 / median(found[name]) if name in found else None for name in ("ours", BUFFERED, DIRECT)
    ]
    turns = ratios(found, like)
    return [ranks, *speeds, f"{median(turns):.2f}", f"{min(turns):.2f}–{max(turns):.2f}"], median(turns)
