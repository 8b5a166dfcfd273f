"""GPAW's finite-difference calculations on Tessera's stencils, restriction and interpolation.

    import tessera.gpaw
    tessera.gpaw.enable()                    # before the calculation makes its operators

    with tessera.gpaw.enabled():             # or for a part of a script
        atoms.get_potential_energy()

The calculation itself is not changed. Operators made while Tessera is enabled stay Tessera's; results differ from
GPAW's own in the order of sums, that is in the last bits. Nothing else in Tessera needs GPAW.
"""

from tessera.gpaw.seam import TESTED_VERSIONS, GpawError, GpawWarning, disable, enable, enabled, is_enabled

__all__ = ["TESTED_VERSIONS", "GpawError", "GpawWarning", "disable", "enable", "enabled", "is_enabled"]
