"""Refuses systems for which memory or disk are too small, before they are made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tessera.build.streamed import Streamed
from tessera.errors import InputError

#: the peak while a liquid is made, relaxed and written, measured on 600,000 atoms
BYTES_PER_ATOM_OF_LIQUID = 320


def check_memory(needed: int, allowed: int) -> None:
    """Raises `InputError` if more bytes are needed than are allowed, or than this machine has."""
    if needed > allowed:
        raise InputError(f"{_gigabytes(needed)} of memory are needed, --memory allows {_gigabytes(allowed)}; raise it")
    if needed > (here := memory_of_machine()):
        raise InputError(
            f"{_gigabytes(needed)} of memory are needed, and this machine has {_gigabytes(here)}; do it on a larger one"
        )


def check_copies(copies: Streamed, path: Path, memory: int, processes: int) -> None:
    """Raises `InputError` if the disk of `path` has no room for a system, or it can't be made in so many bytes of
    memory by so many processes."""
    needed, free = copies.file_bytes(), shutil.disk_usage(path.parent).free
    if needed > free:
        raise InputError(
            f"{path} would have about {_gigabytes(needed)}, and {_gigabytes(free)} are free there; choose another "
            "place or make a smaller system"
        )
    check_memory(copies.least_memory(processes), memory)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.0f} GB" if count >= 1e10 else f"{count / 1e9:.2g} GB"


def memory_of_machine() -> int:
    """Returns the bytes of memory of the machine, or those that a container may use."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [total]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):  # the file is missing or holds "max"
            continue
    return min(limits)
