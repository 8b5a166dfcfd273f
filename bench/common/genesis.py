"""Runs GENESIS' spdyn on CHARMM's inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bench.common import systems
from bench.common.options import Common
from bench.common.process import TimedRun, measure, ns_per_day

#: Files of CHARMM by what spdyn calls them, and the edges of the box, Å.
Inputs = tuple[dict[str, list[Path]], tuple[float, float, float]]


@dataclass(frozen=True)
class Run(TimedRun):
    """A run whose set-up is left out of its speed."""

    version: str


def inputs(common: Common, name: str) -> Inputs:
    if name == "dhfr":
        folder = systems.DHFR
        parameters, streams = systems.DHFR_PARAMETERS[:1], systems.DHFR_PARAMETERS[1:]
        files: dict[str, Sequence[str]] = {
            "topfile": [systems.DHFR_TOPOLOGY],
            "parfile": parameters,
            "strfile": streams,
            "psffile": ["5dhfr_cube.psf"],
            "pdbfile": ["5dhfr_cube.pdb"],
        }
        return _in_folder(folder, files), (systems.DHFR_BOX,) * 3
    if name == "apoa1":
        folder = systems.apoa1_folder(common, "charmm")
        files = {
            "topfile": ["top_all36_prot.rtf", "top_all36_lipid.rtf"],
            "parfile": ["par_all36m_prot.prm", "par_all36_lipid.prm"],
            "strfile": ["toppar_water_ions.str"],
            "psffile": ["apoa1.psf"],
            "pdbfile": ["apoa1.pdb"],
        }
        return _in_folder(folder, files), (108.8612, 108.8612, 77.758)
    raise click.UsageError(f"no GENESIS input for {name}")


def _in_folder(folder: Path, files: Mapping[str, Sequence[str]]) -> dict[str, list[Path]]:
    return {key: [folder / name for name in names] for key, names in files.items()}


def control(found: Inputs, cutoff: float, alpha: float, grid: list[int], steps: int) -> str:
    """Returns the control file of a run with the mesh of the other programs; see bench.common.engine.interactions."""
    files, box = found
    sections: dict[str, dict[str, object]] = {
        "INPUT": {key: ", ".join(map(str, paths)) for key, paths in files.items()},
        "ENERGY": {
            "forcefield": "CHARMM",
            "electrostatic": "PME",
            "switchdist": cutoff - 2 if cutoff > 10 else cutoff - 0.1,
            "cutoffdist": cutoff,
            "pairlistdist": cutoff + 1.5,
            "vdw_force_switch": "YES" if cutoff > 10 else "NO",
            "pme_alpha": alpha,
            **{f"pme_ngrid_{axis}": n for axis, n in zip("xyz", grid)},
            "pme_nspline": 4,
        },
        "DYNAMICS": {
            "integrator": "VVER",
            "nsteps": steps,
            "timestep": 0.002,
            "eneout_period": steps,
            "nbupdate_period": 10,
            "iseed": 1,
        },
        "CONSTRAINTS": {"rigid_bond": "YES"},
        "ENSEMBLE": {"ensemble": "NVE", "tpcontrol": "NO", "temperature": 300},
        "BOUNDARY": {"type": "PBC", **{f"box_size_{axis}": edge for axis, edge in zip("xyz", box)}},
    }
    return "\n".join(
        f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())
        for section, keys in sections.items()
    )


def run(
    spdyn: Path, found: Inputs, cutoff: float, alpha: float, grid: list[int], folder: Path, threads: int, steps: int
) -> Run:
    """Runs `steps` steps, a multiple of 10, on one rank."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "control").write_text(control(found, cutoff, alpha, grid, steps))
    outcome = measure([str(spdyn), "control"], folder=folder, environment={"OMP_NUM_THREADS": str(threads)})
    said = outcome.stdout
    seconds = re.search(r"^ *dynamics +=\s+([\d.]+)", said, flags=re.M)
    lines = [line.split()[1:] for line in said.splitlines() if line.startswith("INFO:")]
    if seconds is None or len(lines) < 2:
        raise click.ClickException(f"GENESIS did not say how fast it was:\n{said[-2000:]}")
    version = re.search(r"^ *version += +(\S+)", said, flags=re.M)
    first = dict(zip(lines[0], lines[1]))
    return Run(
        ns_per_day(steps, float(seconds[1])),
        float(first["POTENTIAL_ENE"]),
        outcome,
        version[1] if version else "?",
    )
