"""Makes a rock-salt crystal of sodium and chloride with the potentials of CHARMM36 or of DL_POLY's benchmark."""

from __future__ import annotations

import numpy as np

from tessera.build.boxes import system_of
from tessera.build.copies import Copies
from tessera.build.lattice import nearest_brick
from tessera.constants import RMIN_TO_SIGMA
from tessera.errors import InputError
from tessera.prepare.dlpoly.field import Field
from tessera.prepare.dlpoly.lines import Line
from tessera.prepare.dlpoly.potentials import make_force_field
from tessera.system import ForceField, System, Template

LATTICE = 5.6402  # Å, at 298 K
#: of Born, Huggins and Mayer, in units of 10 J/mol (Tosi and Fumi 1964), as in DL_POLY's benchmark of 27,000 ions
TOSI_FUMI = (
    "Na+ Na+ bhm 2544.35 3.1545 2.3400 1.0117e+4 4.8177e+3",
    "Na+ Cl- bhm 2035.48 3.1545 2.7550 6.7448e+4 8.3708e+4",
    "Cl- Cl- bhm 1526.61 3.1545 3.1700 6.9857e+5 1.4032e+6",
)
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


def _charmm() -> ForceField:
    """Returns sodium, chloride and their pair parameter as in CHARMM36's toppar_water_ions.str."""
    half = 2 * RMIN_TO_SIGMA
    return ForceField(
        type_name=["SOD", "CLA"],
        type_lj=np.array([[1.41075 * half, 0.0469], [2.27 * half, 0.150]]),
        nbfix_types=np.array([[0, 1]], np.int32),
        nbfix_lj=np.array([[3.731 * RMIN_TO_SIGMA, 0.083875]]),
    )


def _dlpoly() -> ForceField:
    field = Field("nacl", potentials=[Line(text, "nacl", row) for row, text in enumerate(TOSI_FUMI, 1)])
    return make_force_field(field, ["Na+", "Cl-"], None)


#: program, force field, and the ions with their masses (amu), by the word for `--potential`
POTENTIALS = {
    "charmm": ("charmm", _charmm, ("SOD", 22.98977), ("CLA", 35.45)),
    "dlpoly": ("dl_poly", _dlpoly, ("Na+", 22.9898), ("Cl-", 35.453)),
}


def crystal(ions: int, potential: str = "charmm") -> Copies:
    """Returns copies of a unit cell with about `ions` ions in all. Raises `InputError` for fewer than eight and for
    an unknown potential."""
    if ions < 8:
        raise InputError(f"--ions {ions}: a crystal needs at least one unit cell of 8 ions")
    if potential not in POTENTIALS:
        raise InputError(f"potential is {potential!r}, expected one of {', '.join(POTENTIALS)}")
    program, force_field, cation, anion = POTENTIALS[potential]
    sodium, chloride = FACES, FACES + np.array([0.5, 0.0, 0.0])
    turns = np.concatenate([sodium, chloride])
    cell = system_of(
        "unit cell",
        np.full(3, LATTICE),
        turns * LATTICE,
        force_field(),
        [
            (_ion(cation[0], cation[0], 0, 1.0, cation[1], 11), len(sodium)),
            (_ion(anion[0], anion[0], 1, -1.0, anion[1], 17), len(chloride)),
        ],
        program,
    )
    line = f"make nacl --ions {ions}" + (f" --potential {potential}" if potential != "charmm" else "")
    return Copies(cell, nearest_brick(ions / len(turns)), turns, line)


def make_nacl(ions: int, potential: str = "charmm") -> System:
    """Makes the crystal in memory. Raises `InputError` as `crystal` does."""
    return crystal(ions, potential).in_memory()
