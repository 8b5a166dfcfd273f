"""Starts `tessera-io` for several numbers of ranks, and makes results and an entry of the machine file of its times."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera import launch
from tessera.launch.supervision import output_of
from tessera.machine.change import change_map

PROGRAM = "tessera-io"
METHODS = ("segments", "pdaw", "mpiw-independent", "mpiw-collective", "file-per-rank", "sdaw", "sdaw-printf", "sncw",
           "pnetcdf", "phdf5")  # fmt: skip
FORMATS = ("text", "history", "binary", "xdr", "netcdf", "netcdf-double")
USUAL_FORMATS = ("text", "binary", "xdr", "netcdf")
#: methods with a program of their own, which is built for Open MPI alone; the package that it needs and its formats
LIBRARIES = {
    "pnetcdf": ("tessera-io-pnetcdf", "libpnetcdf-dev", ("netcdf", "netcdf-double")),
    "phdf5": ("tessera-io-phdf5", "libhdf5-openmpi-dev", ("binary",)),
}
DLPOLY = ":writers=8:batch=50000"  # DL_POLY_4's own settings
ATOM_BYTES = {"text": 146, "history": 146, "binary": 40, "xdr": 40, "netcdf": 12, "netcdf-double": 24}
ALIKE = 1.5  # more files at once may take so many times as long as one


@dataclass(frozen=True)
class Request:
    """What to measure: `ranks` are the sizes of jobs, one after the other."""

    folder: Path
    ranks: tuple[int, ...]
    atoms: int
    methods: tuple[str, ...]
    formats: tuple[str, ...]
    order: str
    repeats: int
    mpi: str = "auto"
    hostfile: Path | None = None
    oversubscribe: bool = False

    def candidates(self) -> list[str]:
        """Returns the methods as they are, and those of one file with DL_POLY_4's settings."""
        tuned = [name + DLPOLY for name in self.methods if name in ("pdaw", "mpiw-independent", "mpiw-collective")]
        return [*self.methods, *tuned]


def why_missing(method: str, mpi: str) -> str:
    """Returns why a method that has a program of its own can't be measured; empty where it can."""
    program, package, _ = LIBRARIES[method]
    if mpi not in ("auto", "openmpi"):
        return "is built for Open MPI alone; leave --mpi away"
    if not launch.engines(program):
        return f"needs Debian's Open MPI and {package}; install them and build again"
    return ""


def commands(request: Request) -> list[tuple[int, list[str]]]:
    """Returns commands, each with its number of ranks. Methods with programs of their own come after the others.
    Raises LaunchError."""
    usual = [name for name in request.candidates() if name not in LIBRARIES]
    jobs = [(PROGRAM, usual, request.formats)] if usual else []
    for name in request.methods:
        if name in LIBRARIES and not why_missing(name, request.mpi):
            program, _, known = LIBRARIES[name]
            if formats := tuple(one for one in request.formats if one in known):
                jobs.append((program, [name], formats))
    found = []
    for ranks in request.ranks:
        for index, (program, candidates, formats) in enumerate(jobs):
            arguments = ["bench", str(request.folder), "--atoms", str(request.atoms)]
            arguments += ["--candidates", ",".join(candidates), "--formats", ",".join(formats)]
            arguments += ["--order", request.order, "--repeats", str(request.repeats)]
            arguments += ["--files", "0"] if index > 0 else []  # they have been measured
            command = launch.engine_command(
                arguments,
                ranks=ranks,
                mpi=request.mpi,
                hostfile=request.hostfile,
                oversubscribe=request.oversubscribe,
                program=program,
            )
            found.append((ranks, command))
    if not found:
        raise launch.LaunchError(
            "none of these methods can be measured here: "
            + "; ".join(
                f"{name} {why_missing(name, request.mpi) or 'writes none of the formats'}" for name in request.methods
            )
        )
    return found


def check_folder(folder: Path, request: Request) -> None:
    """Raises LaunchError where the folder is none, or has too little room."""
    if not folder.is_dir():
        raise launch.LaunchError(f"{folder} is no folder; make it, or choose another")
    if not os.access(folder, os.W_OK):
        raise launch.LaunchError(f"{folder} can't be written to; check its permissions or choose another")
    needed = request.atoms * max(ATOM_BYTES[name] for name in request.formats) + 32_000_000
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise launch.LaunchError(
            f"{folder} has {free / 1e6:,.0f} MB free, but files of {needed / 1e6:,.0f} MB are written; free some, or "
            "give fewer --atoms"
        )


def measure(request: Request, tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs all numbers of ranks and returns {folder, kind, atoms, order, runs: what `tessera-io bench` prints}. `tell`
    gets a line of progress before each. Raises LaunchError with the program's own message where it fails."""
    folder = request.folder.resolve()
    check_folder(folder, request)
    runs: list[dict[str, Any]] = []
    for ranks, command in commands(request):
        is_first = not runs or runs[-1]["ranks"] != ranks
        if is_first:
            tell(f"measuring with {ranks} {'rank' if ranks == 1 else 'ranks'} …")
        done = output_of(command)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            said = [line.split(": error: ", 1)[1] for line in lines if ": error: " in line]
            raise launch.LaunchError(said[0] if said else f"tessera-io failed: {lines[-1]}")
        found = json.loads(done.stdout.strip().splitlines()[-1])
        if is_first:
            missing = {name: why_missing(name, request.mpi) for name in request.methods if name in LIBRARIES}
            found["left_out"] |= {name: why for name, why in missing.items() if why}
            runs.append(found)
        else:
            runs[-1]["trials"] += found["trials"]
    top, kind = file_system_of(folder)
    return {
        "folder": str(folder),
        "file_system": {"folder": str(top), "kind": kind},
        "atoms": request.atoms,
        "order": request.order,
        "runs": runs,
    }


def file_system_of(folder: Path) -> tuple[Path, str]:
    """Returns the top folder of the file system that holds a folder, and its kind ("unknown" where the system doesn't
    tell)."""
    device = folder.stat().st_dev
    top = folder
    while top.parent != top and top.parent.stat().st_dev == device:
        top = top.parent
    kind = "unknown"
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            words = line.split()
            if len(words) > 2 and words[1].replace("\\040", " ") == str(top):
                kind = words[2]
    return top, kind


def rate(trial: dict[str, Any]) -> float:
    """Returns bytes/s by the median time."""
    return float(trial["bytes"]) / statistics.median(trial["seconds"])


def raw_rate_of(run: dict[str, Any]) -> float:
    """Returns bytes/s of the raw writer that took turns with the methods of one number of ranks."""
    return rate(run["raw"])


def raw_rate(results: dict[str, Any]) -> float:
    """Returns bytes/s of the raw writer, by the median of all runs."""
    return statistics.median(
        run["raw"]["bytes"] / seconds for run in results["runs"] for seconds in run["raw"]["seconds"]
    )


def files_at_once(results: dict[str, Any]) -> tuple[float, int]:
    """Returns the seconds that one more file takes, and the most files that are written at once in at most ALIKE times
    the time of one. They are those of the run with the most ranks."""
    files = results["runs"][-1]["files"]
    times = [(entry["files"], statistics.median(entry["seconds"])) for entry in files]
    (least, first), (most, last) = times[0], times[-1]
    each = max((last - first) / (most - least), 1e-9) if most > least else 1e-9
    bearable = 1
    for n, seconds in times:
        if seconds > ALIKE * first:
            break
        bearable = n
    return each, bearable


def entry_of_map(results: dict[str, Any]) -> dict[str, Any]:
    """Returns the member of `file_systems` of a machine file (docs/reference/machine_file.md)."""
    each, most = files_at_once(results)
    trials = [
        {
            **{
                key: trial[key] for key in ("method", "format", "order", "writers", "files", "batch", "buffer", "bytes")
            },
            "ranks": run["ranks"],
            "hosts": run["hosts"],
            "seconds": statistics.median(trial["seconds"]),
        }
        for run in results["runs"]
        for trial in run["trials"]
    ]
    return {
        **results["file_system"],
        "raw": raw_rate(results),
        "file_seconds": each,
        "most_files": most,
        "trials": trials,
    }


def put_into_map(results: dict[str, Any], path: Path) -> None:
    """Writes the file system into a machine file, in place of an older entry of the same folder; all else in the file
    stays. Makes the file where there is none. Raises LaunchError for what is no machine file, OSError."""
    entry = entry_of_map(results)

    def change(content: dict[str, Any]) -> None:
        others = [one for one in content.get("file_systems", []) if one["folder"] != entry["folder"]]
        content["file_systems"] = [*others, entry]

    change_map(path, change)


def choose(map_file: Path, path: Path, *, ranks: int, atoms: int, formats: Sequence[str], order: str) -> dict[str, Any]:
    """Returns format → {method, writers, batch, buffer, most_files, seconds, reason}: what a machine file recommends
    for a file at `path`. Raises LaunchError."""
    built = launch.engines(PROGRAM)
    program = built.get("serial")
    if program is None:
        raise launch.LaunchError(f"there is no {PROGRAM}-serial; build it with `make build`")
    found = {}
    for name in formats:
        words = [program, "choose", map_file, path, "--format", name, "--order", order]
        words += ["--atoms", atoms, "--ranks", ranks]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise launch.LaunchError(done.stderr.strip().partition(": error: ")[2] or f"{PROGRAM} choose failed")
        found[name] = json.loads(done.stdout)
    return found
