"""Makes a rock-salt crystal of sodium and chloride with CHARMM's parameters."""

from __future__ import annotations

import numpy as np

from tessera.build.charmm import charmm_system
from tessera.build.copies import Copies
from tessera.build.lattice import nearest_brick
from tessera.prepare.constants import RMIN_TO_SIGMA
from tessera.prepare.errors import InputError
from tessera.system import ForceField, System, Template

LATTICE = 5.6402  # Å, at 298 K
FACES = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) * 0.5


def _ion(name: str, residue: str, row: int, charge: float, mass: float, number: int) -> Template:
    return Template(
        name=name,
        atom_name=np.array([name]),
        type=np.array([row], np.int32),
        charge=np.array([charge]),
        mass=np.array([mass]),
        atomic_number=np.array([number], np.int32),
        residue=np.zeros(1, np.int32),
        residue_name=np.array([residue]),
        segment_name=np.array(["ION"]),
        residue_number=np.array([1], np.int32),
        group=np.zeros(1, np.int32),
    )


def _force_field() -> ForceField:
    """Returns sodium, chloride and their pair parameter as in CHARMM36's toppar_water_ions.str."""
    half = 2 * RMIN_TO_SIGMA
    return ForceField(
        type_name=["SOD", "CLA"],
        type_lj=np.array([[1.41075 * half, 0.0469], [2.27 * half, 0.150]]),
        nbfix_types=np.array([[0, 1]], np.int32),
        nbfix_lj=np.array([[3.731 * RMIN_TO_SIGMA, 0.083875]]),
    )


def crystal(ions: int) -> Copies:
    """Returns copies of a unit cell with about `ions` ions in all. Raises `InputError` for fewer than eight."""
    if ions < 8:
        raise InputError(f"--ions {ions}: a crystal needs at least one unit cell of 8 ions")
    sodium, chloride = FACES, FACES + np.array([0.5, 0.0, 0.0])
    turns = np.concatenate([sodium, chloride])
    cell = charmm_system(
        "unit cell",
        np.full(3, LATTICE),
        turns * LATTICE,
        _force_field(),
        [
            (_ion("SOD", "SOD", 0, 1.0, 22.98977, 11), len(sodium)),
            (_ion("CLA", "CLA", 1, -1.0, 35.45, 17), len(chloride)),
        ],
    )
    return Copies(cell, nearest_brick(ions / len(turns)), turns, f"make nacl --ions {ions}")


def make_nacl(ions: int) -> System:
    """Makes the crystal in memory. Raises `InputError` as `crystal` does."""
    return crystal(ions).in_memory()
