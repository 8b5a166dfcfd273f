"""Assembles systems that are made without input files: a periodic box with a program's conventions."""

from __future__ import annotations

import numpy as np

from tessera.constants import COULOMB
from tessera.system import USUAL_LENNARD_JONES, ForceField, System, Template
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray


def system_of(
    source: str,
    edges: FloatArray,
    position: FloatArray,
    force_field: ForceField,
    molecules: list[tuple[Template, int]],
    program: str = "charmm",
) -> System:
    """Makes a system. `edges` (3) and `position` (atoms,3) are in Å; `molecules` are templates with their counts, in
    the order of positions; `program` has the Coulomb constant and the usual end of Lennard-Jones."""
    box = np.diag(edges)
    return System(
        box=box,
        periodic=True,
        coulomb_constant=COULOMB[program],
        coulomb_source=program,
        lj_rule="lorentz-berthelot",
        lennard_jones=USUAL_LENNARD_JONES[program],
        source=source,
        force_field=force_field,
        templates=[template for template, _ in molecules],
        runs=np.array([[kind, count] for kind, (_, count) in enumerate(molecules)], np.int64),
        fraction=to_fraction(position, box),
    )
