"""The system file: templates × instances, the force field they use and where the atoms stand.

`read` and `write` follow `docs/reference/system_file.md` to the letter.
"""

from tessera.system.file import image, read, write
from tessera.system.model import (
    FORCE_FIELD_COLUMNS,
    TERM_ATOMS,
    USUAL_LENNARD_JONES,
    ForceField,
    LennardJones,
    System,
    SystemFileError,
    Template,
    Terms,
)

__all__ = [
    "FORCE_FIELD_COLUMNS",
    "TERM_ATOMS",
    "USUAL_LENNARD_JONES",
    "ForceField",
    "LennardJones",
    "System",
    "SystemFileError",
    "Template",
    "Terms",
    "image",
    "read",
    "write",
]
