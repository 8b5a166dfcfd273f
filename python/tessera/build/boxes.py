"""Assembles systems that are made without input files: a periodic box with CHARMM's conventions."""

from __future__ import annotations

import numpy as np

from tessera.prepare.constants import COULOMB
from tessera.system import USUAL_LENNARD_JONES, ForceField, System, Template
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray


def charmm_system(
    source: str, edges: FloatArray, position: FloatArray, force_field: ForceField, molecules: list[tuple[Template, int]]
) -> System:
    """Makes a system. `edges` (3) and `position` (atoms,3) are in Å; `molecules` are templates with their counts, in
    the order of positions."""
    box = np.diag(edges)
    return System(
        box=box,
        periodic=True,
        coulomb_constant=COULOMB["charmm"],
        coulomb_source="charmm",
        lj_rule="lorentz-berthelot",
        lennard_jones=USUAL_LENNARD_JONES["charmm"],
        source=source,
        force_field=force_field,
        templates=[template for template, _ in molecules],
        runs=np.array([[kind, count] for kind, (_, count) in enumerate(molecules)], np.int64),
        fraction=to_fraction(position, box),
    )
