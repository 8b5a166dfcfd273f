"""The system file: templates × instances, their force field and the atoms' positions.

`read` and `write` follow `docs/reference/system_file.md`.
"""

from tessera.system.file import image, read, write
from tessera.system.model import (
    ALL_PAIRS,
    FORCE_FIELD_COLUMNS,
    TERM_ATOMS,
    USUAL_LENNARD_JONES,
    ForceField,
    LennardJones,
    System,
    Template,
    Terms,
)
from tessera.system.virtual_sites import VirtualSites

__all__ = [
    "ALL_PAIRS",
    "FORCE_FIELD_COLUMNS",
    "TERM_ATOMS",
    "USUAL_LENNARD_JONES",
    "ForceField",
    "LennardJones",
    "System",
    "Template",
    "Terms",
    "VirtualSites",
    "image",
    "read",
    "write",
]
