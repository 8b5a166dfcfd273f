"""Refuses systems that do not fit into memory before they are built."""

from __future__ import annotations

import os
from pathlib import Path

from tessera.prepare.errors import InputError

# The peak while a system is made and written, measured on a million atoms. A liquid, which is also relaxed, was
# measured on 600,000 atoms.
BYTES_PER_ATOM, BYTES_PER_ATOM_OF_LIQUID = 160, 320


def check_memory(atoms: int, mend: str, bytes_per_atom: int = BYTES_PER_ATOM) -> None:
    """Raises `InputError` if so many atoms need more memory than this machine has.

    `mend` says in the message what to ask for instead.
    """
    needed, here = bytes_per_atom * atoms, memory_of_machine()
    if needed > here:
        raise InputError(
            f"{atoms:,} atoms need about {needed / 1e9:,.0f} GB of memory to be made, this machine has "
            f"{here / 1e9:,.0f} GB; {mend}, or do it on a larger machine"
        )


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
