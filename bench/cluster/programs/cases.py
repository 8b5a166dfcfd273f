"""Names the programs that are run unchanged: where they come from, how they are started, and which results count."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isclose
from pathlib import Path

import click

from tests.support.programs import LIBRARIES as FILES

HERE = Path(__file__).parent
EXAMPLE = Path("/usr/share/lammps/examples/peptide")
STEPS = 30  # of the 300 of the example
SILICON = Path("/usr/share/espresso/pseudo/Si.pz-vbc.UPF")
INTERFACES = {"mpif.h": "HEADER", "mpi": "MODULE", "mpi_f08": "MODULE_F08"}  # of Fortran, and what walk.F90 asks for

Words = list[str]


@dataclass(frozen=True)
class Program:
    """A program that knows nothing of Tessera."""

    name: str
    about: str
    mpis: tuple[str, ...]
    missing: Callable[[], str]  # what is not installed, and how to install it; empty where all is
    prepare: Callable[[Path], list[Words]]  # makes its folder, returns the words of its runs, one after the other
    results: str  # pattern of the results in the output
    tolerance: float = 0.0  # relative difference of results, where they are sums of rounded numbers; 0: the same text

    def results_of(self, said: str) -> list[str]:
        """Returns the results of a run. Raises ClickException where there are none."""
        found: list[str] = re.findall(self.results, said, flags=re.M)
        if not found:
            raise click.ClickException(f"{self.name} printed no results but:\n{said[-1000:]}")
        return found

    def agree(self, found: Sequence[str], expected: Sequence[str]) -> bool:
        """Tells whether results are the same, bit for bit or within the tolerance."""
        if self.tolerance == 0 or len(found) != len(expected):
            return list(found) == list(expected)
        return all(isclose(float(a), float(b), rel_tol=self.tolerance) for a, b in zip(found, expected))


def lacks(program: str, packages: str, *files: Path) -> str:
    """Returns which of a program and its files is missing, and the Debian packages that have them."""
    for name, found in [(program, shutil.which(program)), *((str(path), path.exists()) for path in files)]:
        if not found:
            return f"there is no {name}: apt-get install {packages}"
    return ""


def prepare_peptide(folder: Path) -> list[Words]:
    """Copies the example, of which only the first steps are run: the emulated networks are slower than real ones."""
    shutil.copy(EXAMPLE / "data.peptide", folder)
    text, found = re.subn(r"^run\s+300$", f"run {STEPS}", (EXAMPLE / "in.peptide").read_text(), flags=re.M)
    if found != 1:
        raise click.ClickException(f"{EXAMPLE}/in.peptide: found no line `run 300`; this is another example")
    (folder / "in.peptide").write_text(text)
    return [["lmp", "-log", "none", "-in", "in.peptide"]]


def prepare_silicon(folder: Path) -> list[Words]:
    shutil.copy(HERE / "silicon.in", folder)
    return [["pw.x", "-i", "silicon.in"]]


def prepare_springs(folder: Path) -> list[Words]:
    return [[sys.executable, str(HERE / "springs.py"), "6000", "60000", "12"]]


def prepare_water(folder: Path) -> list[Words]:
    variables = ["GPAW_MPI_BACKEND=cgpaw", f"GPAW_MPI={FILES['openmpi']}"]
    return [["env", *variables, sys.executable, str(HERE / "water.py")]]


def prepare_walk(folder: Path) -> list[Words]:
    """Compiles the program with each interface for Fortran, which run one after the other."""
    found = []
    for interface, macro in INTERFACES.items():
        program = folder / f"walk-{interface}"
        words = ["mpif90.openmpi", "-O2", "-w", "-fallow-argument-mismatch", f"-D{macro}", "-o", str(program)]
        done = subprocess.run([*words, str(HERE / "walk.F90")], capture_output=True, text=True)
        if done.returncode:
            raise click.ClickException(f"walk.F90 with {interface}: {done.stderr.strip()[-1000:]}")
        found.append([str(program), "2", "20000", "5"])
    return found


PROGRAMS = (
    Program(
        "LAMMPS",
        f"the first {STEPS} steps of its example `peptide`: 2,004 atoms, PPPM, SHAKE",
        ("openmpi",),
        lambda: lacks("lmp", "lammps lammps-examples", EXAMPLE),
        prepare_peptide,
        r"(?:TotEng|PotEng) += +(-?[\d.]+)",
        # On one rank and on two, which sum in other orders, they differ by 2e-8 after 300 steps.
        1e-6,
    ),
    Program(
        "Quantum ESPRESSO",
        "`pw.x`: 8 atoms of silicon, plane waves up to 16 Ry",
        ("openmpi",),
        lambda: lacks("pw.x", "quantum-espresso quantum-espresso-data", SILICON),
        prepare_silicon,
        r"^! +total energy += +(-?[\d.]+) Ry",
        1e-9,  # of 63 Ry, of which eight digits after the point are printed
    ),
    Program(
        "GPAW",
        "`water.py`: a molecule of water on a grid of 32³",
        ("openmpi",),
        lambda: "" if find_spec("gpaw") else "there is no GPAW: scripts/setup --gpaw",
        prepare_water,
        r"^energy (\S+) eV$",
        1e-6,  # converged to 1e-5 eV a valence electron, of -15 eV in all
    ),
    Program(
        "mpi4py",
        "`springs.py`: 6,000 bodies, forces and positions of whole numbers replicated on all ranks, 12 steps",
        ("openmpi", "mpich"),
        lambda: "" if find_spec("mpi4py") else "there is no mpi4py: pip install mpi4py",
        prepare_springs,
        r"^sum .*$",
    ),
    Program(
        "Fortran",
        "`walk.F90`: a random walk on graphs of 20,000 vertices, with `mpif.h`, then with `mpi` and `mpi_f08`",
        ("openmpi",),
        lambda: lacks("mpif90.openmpi", "gfortran libopenmpi-dev"),
        prepare_walk,
        r"^digest .*alike T$",
    ),
)


def named(name: str) -> Program:
    return next(one for one in PROGRAMS if one.name == name)
