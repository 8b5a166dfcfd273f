"""The files of a run with their checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tessera.traj.find import stages
from tessera.verify import verify


@dataclass(frozen=True)
class Listed:
    """A file, or a folder of several, by its name from the run's folder, its length, SHA-256, and what is wrong with
    it or what it holds."""

    name: str
    bytes: int
    sha256: str
    problem: str
    note: str


def files_of(folder: Path, progress: Callable[[int], None] = lambda _: None) -> list[Listed]:
    """Returns the files of a run or of a protocol, and the system file that it names. The checksum of a folder is that
    of the lines that `sha256sum` prints of its files in order of their names."""
    checked = {file.path.resolve(): file for file in verify(folder, progress).files}
    found: list[Listed] = []
    for path in sorted({*_entries(folder), *(path for path in checked if not path.is_relative_to(folder.resolve()))}):
        file = checked.get(path.resolve())
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        inside = [one for one in inside if one.is_file()]
        try:
            sums = [(_sha256(one), one) for one in inside]
            size = sum(one.stat().st_size for one in inside)
        except FileNotFoundError:  # a run that goes on replaces its files
            continue
        whole = sums[0][0] if len(inside) == 1 and inside[0] == path else _of_lines(sums, path)
        name = str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name
        found.append(Listed(name, size, whole, file.problem if file else "", file.note if file else ""))
    return found


def _entries(folder: Path) -> list[Path]:
    """Returns the files of a folder and of its stages, with trajectories in segments as a whole; without hidden ones,
    which are locks, and parts of files that are being written."""
    inside = (path for place in (folder, *stages(folder)) for path in place.iterdir())
    seen = (path for path in inside if not path.name.startswith("."))
    return [path for path in seen if path.is_file() or path.suffix == ".segments"]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_lines(sums: list[tuple[str, Path]], folder: Path) -> str:
    lines = "".join(f"{digest}  {path.relative_to(folder)}\n" for digest, path in sums)
    return hashlib.sha256(lines.encode()).hexdigest()
