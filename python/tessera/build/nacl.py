"""Makes a rock-salt crystal of sodium and chloride with CHARMM's parameters."""

from __future__ import annotations

import numpy as np

from tessera.build.charmm import charmm_system
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


def crystal_cells(ions: int) -> tuple[int, int, int]:
    """Returns the numbers of unit cells (eight ions each) along the edges of the nearly cubic brick nearest to
    `ions`."""
    wanted = ions / 8
    edge = max(1, round(wanted ** (1 / 3)))
    span = range(max(1, edge - 1), edge + 2)
    bricks = [(x, y, z) for x in span for y in span if y >= x for z in span if z >= y]
    return min(bricks, key=lambda b: (abs(b[0] * b[1] * b[2] - wanted), b[2] - b[0]))


def make_nacl(ions: int) -> System:
    """Makes a crystal of about `ions` ions. Raises `InputError` for fewer than eight."""
    if ions < 8:
        raise InputError(f"--ions {ions}: a crystal needs at least one unit cell of 8 ions")
    cells = crystal_cells(ions)
    corner = np.stack(np.unravel_index(np.arange(int(np.prod(cells))), cells), axis=1)
    sodium = ((corner[:, None, :] + FACES) * LATTICE).reshape(-1, 3)
    chloride = sodium + np.array([LATTICE / 2, 0.0, 0.0])
    return charmm_system(
        f"make nacl --ions {ions}",
        LATTICE * np.array(cells, np.float64),
        np.concatenate([sodium, chloride]),
        _force_field(),
        [
            (_ion("SOD", "SOD", 0, 1.0, 22.98977, 11), len(sodium)),
            (_ion("CLA", "CLA", 1, -1.0, 35.45, 17), len(chloride)),
        ],
    )
