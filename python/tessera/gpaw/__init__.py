"""GPAW's finite-difference calculations on Tessera's stencils, restriction, interpolation and Poisson solvers.

    import tessera.gpaw
    tessera.gpaw.enable()                    # before the calculation makes its operators

    with tessera.gpaw.enabled():             # or for a part of a script
        atoms.get_potential_energy()

The calculation itself is not changed. Operators made while Tessera is enabled stay Tessera's, and all Poisson
solvers are Tessera's while it is enabled. Results differ from GPAW's own in the order of sums, that is in the last
bits, and those of the multigrid Poisson solver within its tolerance. Nothing else in Tessera needs GPAW.
"""

from tessera.gpaw.seam import TESTED_VERSIONS, GpawError, GpawWarning, disable, enable, enabled, is_enabled

__all__ = ["TESTED_VERSIONS", "GpawError", "GpawWarning", "disable", "enable", "enabled", "is_enabled"]
