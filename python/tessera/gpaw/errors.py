"""What `tessera.gpaw` raises and warns of."""

from tessera.errors import InputError


class GpawError(InputError):
    """Tessera can't be used by this GPAW or on these ranks; the text says why."""


class GpawWarning(UserWarning):
    """Something is done by GPAW's own code."""
