"""How charges of residues became the fewer ones that come with Tessera."""

from __future__ import annotations

import numpy as np

from tessera.system.model import FloatArray


def fewer_charges(charges: FloatArray, most: int) -> FloatArray:
    """Returns at most this many charges (m,4) in place of others (n,4): those of one sign in one cube of a lattice are
    one, in their middle. The sum stays."""
    spacing, found = 1.0, charges
    while len(found) > most:
        cubes = np.column_stack([np.floor(charges[:, :3] / spacing), np.sign(charges[:, 3])])
        _, cube = np.unique(cubes, axis=0, return_inverse=True)
        size = np.bincount(cube.reshape(-1), np.abs(charges[:, 3]))
        sums = [np.bincount(cube.reshape(-1), charges[:, axis] * np.abs(charges[:, 3])) / size for axis in range(3)]
        found = np.column_stack([*sums, np.bincount(cube.reshape(-1), charges[:, 3])])
        spacing += 0.25
    return found
