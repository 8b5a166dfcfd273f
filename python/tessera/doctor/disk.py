"""Looks at the file system of a folder: its kind, its room, and whether files are replaced as a whole."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tessera.doctor.finding import Finding, judged

_IN_MEMORY = ("tmpfs", "ramfs", "overlay")
_SHARED = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "fuse.glusterfs", "panfs", "orangefs")
_LEAST = 1e9  # bytes that are free
_OCTAL = re.compile(r"\\([0-7]{3})")


def files(folder: Path | None = None, mounts: Path = Path("/proc/self/mountinfo")) -> Iterator[Finding]:
    """Yields the file system of a folder, by default the working directory, and whether files can be made there."""
    folder = Path.cwd() if folder is None else folder
    kind, disk = kind_of(folder.resolve(), mounts), os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    found = f"{kind or 'unknown'}{', of several hosts' if kind in _SHARED else ''}, {free / 1e9:,.1f} GB free"
    warning = ""
    if kind in _IN_MEMORY:
        warning = (
            "write runs elsewhere if they are to be kept: what is in this folder goes with the memory or container"
        )
    elif free < _LEAST:
        warning = "make room, or choose another folder: trajectories and checkpoints are large"
    yield judged("file system", found, warning)
    yield _written(folder)


def _written(folder: Path) -> Finding:
    """Makes a file as runs do: beside its place, forced to the disk, then renamed."""
    try:
        with tempfile.TemporaryDirectory(prefix=".tessera-doctor-", dir=folder) as inside:
            part, whole = Path(inside) / "part", Path(inside) / "whole"
            with part.open("wb") as file:
                file.write(bytes(4096))
                file.flush()
                os.fsync(file.fileno())
            part.replace(whole)
            if whole.stat().st_size != 4096:
                raise OSError("a file that was written has another length")
    except OSError as error:
        reason = error.strerror or str(error)
        return judged("files", reason, fault=f"choose a folder in which files can be written and renamed, not {folder}")
    return judged("files", "written, forced to the disk and renamed")


def kind_of(folder: Path, mounts: Path) -> str:
    """Returns the kind of the file system of a folder, from what the system has mounted; empty where that is
    unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, found = -1, ""
    for line in lines:
        words, _, behind = line.partition(" - ")
        fields = words.split()
        if len(fields) < 5 or not behind:
            continue
        point = Path(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        # Of two on one point the later one is seen.
        if (folder == point or point in folder.parents) and len(point.parts) >= best:
            best, found = len(point.parts), behind.split()[0]
    return found
