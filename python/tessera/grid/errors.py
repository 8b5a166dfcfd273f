"""What a grid raises."""

from tessera.errors import InputError


class GridError(InputError):
    """A grid or an operator can't be made, or an array does not fit it; all ranks raise it."""
