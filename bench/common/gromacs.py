"""Runs GROMACS on the same inputs."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from bench.common import systems
from bench.common.options import Common
from bench.common.process import TimedRun, measure

WARM_UP = 40  # steps before mdrun's counters are reset
KCAL = 4.184  # kJ


@dataclass(frozen=True)
class Run(TimedRun):
    """A run with the points of its mesh."""

    grid: tuple[int, ...]


def version(gmx: Path) -> tuple[str, str]:
    """Returns the version and the vector instructions of a program gmx."""
    text = subprocess.run([gmx, "--version"], capture_output=True, text=True, timeout=60).stdout
    found = dict(re.findall(r"^([A-Za-z ]+):\s+(\S.*)$", text, flags=re.M))
    return found.get("GROMACS version", "?"), found.get("SIMD instructions", "?")


def parameters(cutoff: float, energy_every: int = 100) -> str:
    """Returns the mdp of the comparison; see bench.common.engine.interactions."""
    long = cutoff > 10
    lines = {
        "integrator": "md",
        "dt": 0.002,
        "nsteps": -1,
        "nstcomm": 100,
        "nstcalcenergy": energy_every,
        "nstenergy": energy_every,
        "nstlog": 1000,
        "nstxout-compressed": 0,
        "cutoff-scheme": "Verlet",
        "nstlist": 100,  # mdrun's choice where there is a thermostat; without one it changes nothing
        "verlet-buffer-tolerance": 0.005,
        "coulombtype": "PME",
        "rcoulomb": cutoff / 10,
        "pme-order": 4,
        "fourierspacing": 0.11 if long else 0.12,
        "ewald-rtol": 1e-5,
        "rvdw": cutoff / 10,
        "vdw-modifier": "force-switch" if long else "potential-shift",
        "rvdw-switch": (cutoff - 2) / 10,
        "DispCorr": "no",
        "constraints": "h-bonds",
        "constraint-algorithm": "lincs",
        "tcoupl": "no",
        "pcoupl": "no",
        "gen-vel": "yes",
        "gen-temp": 300,
        "gen-seed": 1,
    }
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


def inputs(common: Common, name: str) -> tuple[Path, Path]:
    """Returns the paths of topology and coordinates."""
    if name == "apoa1":
        folder = systems.apoa1_folder(common, "gromacs")
        return folder / "apoa1_merge.top", folder / "apoa1_merge.gro"
    if name == "dhfr":
        top, gro = common.work / "systems" / "dhfr.top", common.work / "systems" / "dhfr.gro"
        if not (top.exists() and gro.exists()):
            common.say("writing DHFR for GROMACS")
            write_dhfr(top, gro)
        return top, gro
    raise click.UsageError(f"no GROMACS input for {name}")


def read_gro(gro: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Reads positions (n,3) and edges of the box (3,), nm, with any number of decimals."""
    lines = gro.read_text().splitlines()
    n = int(lines[1])
    first, second = (found.start() for found in list(re.finditer(r"\.", lines[2][20:]))[:2])
    width = second - first
    positions = [[float(line[20 + d * width : 20 + (d + 1) * width]) for d in range(3)] for line in lines[2 : n + 2]]
    return np.array(positions), np.array([float(word) for word in lines[n + 2].split()[:3]])


def write_dhfr(top: Path, gro: Path) -> None:
    """Converts CHARMM's files with ParmEd: water is rigid by SETTLE, with Lennard-Jones on its hydrogens as in
    CHARMM."""
    try:
        import parmed
    except ImportError:
        raise click.ClickException("ParmEd writes DHFR for GROMACS: pip install parmed") from None
    import warnings

    folder = systems.DHFR
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        structure = parmed.charmm.CharmmPsfFile(str(folder / "5dhfr_cube.psf"))
        names = (systems.DHFR_TOPOLOGY, *systems.DHFR_PARAMETERS)
        structure.load_parameters(parmed.charmm.CharmmParameterSet(*(str(folder / n) for n in names)))
        structure.coordinates = parmed.load_file(str(folder / "5dhfr_cube.pdb")).coordinates
        structure.box = [systems.DHFR_BOX] * 3 + [90.0] * 3
        top.parent.mkdir(parents=True, exist_ok=True)
        parmed.gromacs.GromacsTopologyFile.from_structure(structure).save(str(top), overwrite=True)
        parmed.gromacs.GromacsGroFile.write(structure, str(gro), precision=4)
    if "[ settles ]" not in top.read_text():
        raise click.ClickException(f"ParmEd {parmed.__version__} has written water that is not rigid")
    # σ, nm, and ε, kJ/mol, of pairs three bonds apart: CHARMM has separate values, which ParmEd leaves out.
    depth = [abs(atom.epsilon_14) * KCAL for atom in structure.atoms]
    size = [atom.sigma_14 / 10 for atom in structure.atoms]
    top.write_text(complete(top.read_text(), size, depth))


def complete(topology: str, size_14: list[float], depth_14: list[float]) -> str:
    """Corrects the sign of ε (CHARMM's files hold -ε, and ParmEd keeps the sign), and gives pairs their σ and ε (in the
    first molecule, which is the only one with pairs)."""
    section, lines = "", []
    for line in topology.splitlines():
        is_row = bool(line.strip()) and not line.startswith((";", "["))
        if found := re.match(r"\[ (\w+) \]", line):
            section = found[1]
        elif section == "atomtypes" and is_row:
            line = re.sub(r"-([0-9.eE+-]+)\s*$", r"\1", line)
        elif section == "pairs" and is_row:
            i, j = (int(word) - 1 for word in line.split()[:2])
            line = f"{line} {(size_14[i] + size_14[j]) / 2:.9f} {(depth_14[i] * depth_14[j]) ** 0.5:.9f}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def prepare(common: Common, gmx: Path, name: str, cutoff: float) -> Path:
    """Returns a tpr of the system, and makes it where it is not there yet."""
    folder = common.work / "gromacs"
    tpr = folder / f"{name}_{cutoff:g}.tpr"
    if not tpr.exists():
        top, gro = inputs(common, name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{cutoff:g}.mdp").write_text(parameters(cutoff))
        # One warning is expected, for NVE with a Verlet buffer, and another where the charge is not zero.
        words = [str(gmx), "grompp", "-f", f"{cutoff:g}.mdp", "-c", str(gro), "-p", str(top), "-o", str(tpr)]
        measure([*words, "-po", f"{name}_{cutoff:g}.mdp", "-maxwarn", "3"], folder=folder)
    return tpr


def run(gmx: Path, tpr: Path, folder: Path, steps: int, threads: int, *, timeout: float | None = None) -> Run:
    """Runs `steps` timed steps after the warm-up."""
    words = [str(gmx), "mdrun", "-s", str(tpr), "-deffnm", "run", "-ntmpi", "1", "-ntomp", str(threads), "-pin", "on"]
    words += ["-nsteps", str(steps + WARM_UP), "-resetstep", str(WARM_UP), "-noconfout", "-notunepme"]
    for old in folder.glob("*run.*"):
        old.unlink()
    outcome = measure([*words, "-nobackup"], folder=folder, timeout=timeout)
    log = (folder / "run.log").read_text(errors="replace")
    speed = re.search(r"^Performance:\s+([\d.]+)", log, flags=re.M)
    if speed is None:
        raise click.ClickException("GROMACS did not say how fast it was")
    grid = re.search(
        r"grid\s+(\d+)\s+(\d+)\s+(\d+)|fourier-nx\s*=\s*(\d+)\s+fourier-ny\s*=\s*(\d+)\s+fourier-nz\s*=\s*(\d+)", log
    )
    return Run(
        float(speed[1]),
        _first_energy(log, "Potential") / KCAL,
        outcome,
        tuple(int(n) for n in grid.groups() if n) if grid else (),
    )


def _first_energy(log: str, name: str) -> float:
    """Returns an energy in kJ/mol. Energies are in columns of 15 characters under their names."""
    lines = log[log.index("Energies (kJ/mol)") :].splitlines()[1:]
    for names, values in zip(lines[::2], lines[1::2]):
        columns = [names[i : i + 15].strip() for i in range(0, len(names), 15)]
        if name in columns:
            return float(values[15 * columns.index(name) :][:15])
    raise click.ClickException(f"GROMACS did not print {name!r}")
