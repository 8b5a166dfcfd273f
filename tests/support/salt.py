"""A lattice of salt, moved from its places, with any pair potentials: as DL_POLY's files and as a system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.prepare.dlpoly.control import read_control
from tessera.system import System
from tests.support.runs import Settings

LATTICE = 5.64  # Å
KCAL = 418.4  # of 10 J/mol, DL_POLY's unit
ATOMS = ("Na+  22.9898  1.0  4", "Cl-  35.453  -1.0  4")
#: Born–Huggins–Mayer's potentials of sodium chloride (Tosi and Fumi 1964), in units of 10 J/mol
SALT = (
    "Na+ Na+ bhm 2544.35 3.1545 2.3400 1.0117e+4 4.8177e+3",
    "Na+ Cl- bhm 2035.48 3.1545 2.7550 6.7448e+4 8.3708e+4",
    "Cl- Cl- bhm 1526.61 3.1545 3.1700 6.9857e+5 1.4032e+6",
)
CONTROL = """a lattice of salt
restart scale
temperature 500.0
steps 20
timestep 0.001
cutoff 8.0
ewald precision 1d-6
ensemble nve
stats every 2
job time 100
finish
"""
CUTOFF = 8.0
MESH: Settings = {
    "interactions.cutoff": CUTOFF,
    "interactions.electrostatics": "pme",
    "pme.alpha": 0.6,  # so large that the jump of the direct sum at its end can't be seen
    "pme.order": 8,
    "pme.grid": [48, 48, 48],
}


def field_text(
    molecules: int,
    potentials: Sequence[str] = SALT,
    units: str = "internal",
    atoms: Sequence[str] = ATOMS,
    terms: Sequence[str] = (),
    more: Sequence[str] = (),
) -> str:
    """Returns a FIELD of one kind of molecule."""
    count = sum(int(line.split()[3]) if len(line.split()) > 3 else 1 for line in atoms)
    lines = ["a lattice of salt", f"units {units}", "molecules 1", "salt", f"nummols {molecules}", f"atoms {count}"]
    lines += [*atoms, *terms, "finish", f"vdw {len(potentials)}", *potentials, *more, "close"]
    return "\n".join(lines) + "\n"


def lattice(cells: int, jitter: float = 0.25, seed: int = 1) -> tuple[np.ndarray, list[str]]:
    """Returns positions (8·cells³,3) Å around the origin, four cations and four anions a cell, and their names."""
    corner = np.stack(np.unravel_index(np.arange(cells**3), (cells,) * 3), axis=1)
    faces = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) * 0.5
    cell = np.concatenate([faces, faces + np.array([0.5, 0, 0])])
    position = ((corner[:, None] + cell).reshape(-1, 3) + 0.25 - cells / 2) * LATTICE
    position += jitter * np.random.default_rng(seed).uniform(-1, 1, position.shape)
    return position, (["Na+"] * 4 + ["Cl-"] * 4) * cells**3


def config_text(
    position: np.ndarray,
    names: list[str],
    edge: float,
    level: int = 0,
    boundary: int = 1,
    order: np.ndarray | None = None,
) -> str:
    """Returns a CONFIG; atoms stand in `order`, with their indices."""
    lines = ["a lattice of salt", f"{level} {boundary} {len(names)}"]
    if boundary:
        lines += [" ".join(f"{value:.10f}" for value in row) for row in np.diag([edge] * 3)]
    velocity = np.random.default_rng(2).normal(size=position.shape)
    for i in np.arange(len(names)) if order is None else order:
        lines.append(f"{names[i]:8s}{i + 1:10d}")
        for record in (position, velocity, 0 * position)[: level + 1]:
            lines.append(" ".join(f"{value:.10f}" for value in record[i]))
    return "\n".join(lines) + "\n"


def write_salt(folder: Path, cells: int = 3, level: int = 1, control: str = CONTROL, **field: object) -> Path:
    """Writes FIELD, CONFIG and CONTROL."""
    position, names = lattice(cells)
    (folder / "FIELD").write_text(field_text(cells**3, **field))  # type: ignore[arg-type]
    (folder / "CONFIG").write_text(config_text(position, names, cells * LATTICE, level))
    (folder / "CONTROL").write_text(control)
    return folder


def salt(folder: Path, potentials: Sequence[str] | None = None, units: str = "kcal", cells: int = 3) -> System:
    """Returns a lattice of 8·cells³ ions, with FIELD's own potentials in its own unit where none are given."""
    more = {} if potentials is None else {"potentials": potentials, "units": units}
    write_salt(folder, cells, **more)  # type: ignore[arg-type]
    return prepare_dlpoly(folder / "FIELD", folder / "CONFIG", read_control(folder / "CONTROL"))
