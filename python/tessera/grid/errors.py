"""What a grid raises."""

from tessera.arguments import ArgumentError


class GridError(ArgumentError):
    """A grid or an operator can't be made, or an array does not fit it; all ranks raise it."""
