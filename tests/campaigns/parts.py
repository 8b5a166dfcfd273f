"""The parts of the long campaign: what each runs, what it needs, and which changes need it.

A slow test names its part, `@pytest.mark.slow(part="physics")`; tests/conftest.py refuses one that does not. A part
that takes more than two hours on two cores is divided into pieces.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: what tests/conftest.py keeps of the tests that it has collected: those that `with_wrong_part` names
WRONG = pytest.StashKey[list[str]]()
Command = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A part: commands that must succeed before anything else, checks that are commands, and tests. `sets` are the
    instruction sets whose kernels run."""

    name: str
    runs: str
    needs: tuple[str, ...]
    changes: str
    prepare: tuple[Command, ...] = (("make", "build"),)
    checks: tuple[Command, ...] = ()
    tests: bool = True  # whether slow tests belong to it
    folders: tuple[str, ...] = ()  # whose quick tests run, too
    sets: Literal["all", "best", "common", "NEON", "none"] = "best"
    count: int = 1  # of pieces
    workers: int = 1  # tests that run at once, where none takes all processors or much memory

    def pieces(self) -> list[Piece]:
        return [Piece(self, number) for number in range(1, self.count + 1)]


@dataclass(frozen=True)
class Piece:
    """What one run does: a part, or one of the pieces of a part."""

    part: Part
    number: int

    def __str__(self) -> str:
        return self.part.name if self.part.count == 1 else f"{self.part.name}:{self.number}/{self.part.count}"

    def checks(self) -> list[Command]:
        """Returns the checks of this piece; the checks of a part are dealt out in turn."""
        return list(self.part.checks[self.number - 1 :: self.part.count])

    def holds(self, item: pytest.Item) -> bool:
        """Returns whether a test belongs to this piece. Its name alone decides on the piece, so that new tests leave
        the others where they are."""
        in_folder = any(item.nodeid.startswith(f"{folder}/") for folder in self.part.folders)
        slow = parts_of(item)
        if self.part.name not in slow and (slow or not in_folder):
            return False
        return zlib.crc32(item.nodeid.encode()) % self.part.count == self.number - 1


def sources_to_tidy() -> tuple[Command, ...]:
    """Returns clang-tidy's runs, one a library, and one for the Python bindings."""
    libraries = sorted(folder.name for folder in (ROOT / "cpp" / "tessera").iterdir() if any(folder.rglob("*.cpp")))
    folders = [*(f"cpp/tessera/{name}" for name in libraries), "python/bindings"]
    return tuple(("scripts/tidy", f"^{folder}/") for folder in folders)


DATA, ROOT_RIGHTS = "reference data (TESSERA_DATA)", "root and iproute2"
BARE = "root, debootstrap, buildah, the archives of Debian and Ubuntu, programs for aarch64 by QEMU (qemu-user-static)"
SLURM, SITE = "Slurm and munge, which are installed", "namespaces"

_all = (
    Part(
        "bits",
        "golden hashes on every instruction set, long runs and large systems on any ranks, collectives on 1 to 16",
        (DATA, "16 GB of free memory"),
        "kernels, sums, decompositions, collectives",
        sets="all",
    ),
    Part(
        "physics",
        "distributions, drift, liquids, and energies of large systems beside OpenMM, GROMACS and CHARMM",
        (DATA, "APBS, which is installed"),
        "forces, integrators, baths, constraints, readers of force fields",
        prepare=(("make", "build"), ("scripts/apbs",)),
        count=2,
    ),
    Part(
        "faults",
        "runs that are killed, stopped and restarted hundreds of times",
        (DATA,),
        "checkpoints, trajectories, signals, launching",
        workers=2,
    ),
    Part(
        "fuzz",
        "input, systems, checkpoints and trajectories damaged at random, ten thousands of times",
        (DATA,),
        "readers, file formats, messages of errors",
        workers=2,
    ),
    Part(
        "sanitizers",
        "unit tests with everything under the address, undefined-behaviour and thread sanitizers",
        (DATA,),
        "C++ with pointers or threads",
        prepare=(("make", "setup"),),
        checks=(("make", "asan"), ("make", "tsan")),
        tests=False,
        sets="common",
    ),
    Part(
        "tidy",
        "clang-tidy over all files",
        (),
        "C++ of more than a few files; `.clang-tidy`",
        prepare=(("make", "build"), ("make", "setup-lint")),
        checks=sources_to_tidy(),
        tests=False,
        sets="none",
    ),
    Part(
        "arm",
        "the build for aarch64, its unit tests under QEMU, and its bits beside this machine's",
        (DATA, "Debian on another processor"),
        "kernels, arithmetic, byte order, the build",
        prepare=(("make", "build"), ("scripts/arm",)),
        sets="NEON",
        count=4,
    ),
    Part(
        "gpaw",
        "operators, potentials and energies beside GPAW's",
        ("GPAW, which is built",),
        "`tessera.gpaw`, grids, Poisson solvers, eigensolvers",
        prepare=(("make", "build"), ("scripts/setup", "--gpaw")),
    ),
    Part(
        "pictures",
        "pictures of molecules that VTK draws, and BinaryCIF as biotite reads it",
        ("PyVista and biotite, which are installed", "OpenGL without a screen"),
        "`tessera view`, `tessera export`",
        prepare=(("make", "build"), (".venv/bin/pip", "install", "--quiet", "pyvista==0.49.1", "biotite==1.6.0")),
    ),
    Part(
        "cluster",
        "probe, collectives, transforms and dynamics on emulated clusters",
        (DATA, ROOT_RIGHTS),
        "probe, maps, plans, messages between hosts",
        folders=("tests/cluster",),
    ),
    Part(
        "slurm",
        "jobs of Slurm, brought up with two hosts: srun and sbatch, signals, limits, requeued jobs, arrays, cores",
        (SLURM, SITE),
        "launching, signals, job scripts",
        prepare=(("make", "build"), ("scripts/slurm",)),
    ),
    Part(
        "wheel",
        "wheels on older and newer systems without a compiler, and on aarch64: their bits, MPI libraries of others",
        (BARE,),
        "the build, `packages.txt`, dependencies, what a package brings along",
        prepare=(("make", "build"), ("make", "wheel"), ("make", "wheel", "ARGS=aarch64")),
    ),
)
PARTS = {part.name: part for part in _all}


def parts_of(item: pytest.Item) -> set[str]:
    """Returns the parts that a test names as a slow one; none where it is quick."""
    return {str(mark.kwargs.get("part", "none")) for mark in item.iter_markers("slow")}


def with_wrong_part(items: Iterable[pytest.Item]) -> list[str]:
    """Returns the slow tests that do not belong to exactly one part, with what they name."""
    return [f"{item.nodeid} names {', '.join(sorted(named))}" for item in items
            if (named := parts_of(item)) and (len(named) > 1 or not named <= PARTS.keys())]  # fmt: skip


def check_slow(items: Iterable[pytest.Item]) -> None:
    """Raises UsageError where a slow test does not belong to exactly one part."""
    if wrong := with_wrong_part(items):
        raise pytest.UsageError(
            f'a slow test names its part of the campaign, as in slow(part="bits"); parts are {", ".join(PARTS)}:\n'
            + "\n".join(wrong)
        )


def _without_data() -> str | None:
    folder = os.environ.get("TESSERA_DATA")
    return None if folder and Path(folder).is_dir() else "TESSERA_DATA names no folder of reference data"


def _without_cluster() -> str | None:
    from tests.cluster import namespaces

    return namespaces.why_not()


def _without_roots() -> str | None:
    from tests.wheel import roots

    return roots.why_not()


#: What can be asked for before a run. Anything else that is missing makes a command fail, or a test skip, which is a
#: failure, too.
_ASK: dict[str, Callable[[], str | None]] = {DATA: _without_data, ROOT_RIGHTS: _without_cluster, BARE: _without_roots}


def missing(part: Part) -> list[str]:
    """Returns what this machine lacks for the part, as far as is known before the run."""
    return [reason for need in part.needs if need in _ASK and (reason := _ASK[need]()) is not None]


def instruction_sets(part: Part, engine: Path) -> tuple[list[str], list[str]]:
    """Returns the instruction sets that the part runs here, the best first, and those of this kind of processor that it
    does not run."""
    is_arm = os.uname().machine in ("aarch64", "arm64")
    known = ["NEON"] if is_arm else ["AVX3", "AVX2", "EMU128"]
    if part.sets in ("NEON", "none"):
        return ([part.sets] if part.sets == "NEON" else []), []
    if part.sets == "common":
        run = ["NEON" if is_arm else "AVX2"]
    else:
        run = [name for name in known if engine.exists() and name in _version(engine, name)]
        run = run if part.sets == "all" else run[:1]
    return run, [name for name in known if name not in run]


def _version(engine: Path, instruction_set: str) -> str:
    """Returns what the engine says of itself where it is asked to use this set; nothing where it was not compiled."""
    environment = {**os.environ, "TESSERA_SIMD": instruction_set}
    return subprocess.run([engine, "--version"], env=environment, capture_output=True, text=True, timeout=60).stdout
