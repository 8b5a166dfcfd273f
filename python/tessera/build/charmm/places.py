"""Builds atoms from a topology's internal coordinates (IC): a length, an angle and a dihedral from three others."""

from __future__ import annotations

import numpy as np

from tessera.build.charmm.topology import InternalCoordinate, Residue
from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.system.model import FloatArray

_FLATTEST = 1e-6  # the sine of an angle between three atoms that have no direction about them


def placed(
    first: FloatArray, second: FloatArray, third: FloatArray, length: float, angle: float, dihedral: float
) -> FloatArray:
    """Returns the point at this length (Å) from the third, with this angle to the second and this dihedral (radians) to
    the first."""
    along = (third - second) / np.linalg.norm(third - second)
    across = np.cross(second - first, along)
    across /= np.linalg.norm(across)
    turned = -np.cos(angle) * along + np.sin(angle) * (
        np.cos(dihedral) * np.cross(across, along) + np.sin(dihedral) * across
    )
    return np.asarray(third + length * turned)


def completed(residue: Residue, known: dict[str, FloatArray], table: CharmmParameters) -> dict[str, FloatArray]:
    """Returns the places (3,) Å of all atoms of a residue, those that are known and others by its internal coordinates.
    Lengths and angles of 0 are those of the parameters. Raises `InputError` where an atom has none."""
    places = {name: known[name] for name in residue.atoms if name in known}
    coordinates = [c for c in residue.coordinates if all(name in residue.atoms for name in c.atoms)]
    while len(places) < len(residue.atoms):
        before = len(places)
        for coordinate in coordinates:
            _place(coordinate, places, residue, table)
        if len(places) == before:
            missing = next(name for name in residue.atoms if name not in places)
            raise InputError(
                f"{residue.where}: nothing says where {missing} of {residue.name} is: expected an internal coordinate "
                "(IC) with three atoms that are known"
            )
    return {name: places[name] for name in residue.atoms}


def _place(c: InternalCoordinate, places: dict[str, FloatArray], residue: Residue, table: CharmmParameters) -> None:
    """Adds the first or the last atom where it alone is unknown."""
    i, j, k, end = c.atoms
    unknown = [name for name in c.atoms if name not in places]
    if unknown == [end]:
        length = c.length_34 or _length(residue, (k, end), table)
        angle = np.radians(c.angle_234) or _angle(residue, (j, k, end), table)
        chain = (i, j, k)
    elif unknown == [i]:
        # A branch has the first atom on the third; its dihedral to the fourth is the same with the ends exchanged.
        chain = (end, j, k) if c.is_branch else (end, k, j)
        length = c.length_12 or _length(residue, (chain[2], i), table)
        angle = np.radians(c.angle_123) or _angle(residue, (chain[1], chain[2], i), table)
    else:
        return
    first, second, third = (places[name] for name in chain)
    if np.linalg.norm(np.cross(second - first, third - second)) < _FLATTEST:
        return
    # Exchanging the ends of a branch turns its dihedral the other way.
    dihedral = np.radians(-c.dihedral if unknown == [i] and c.is_branch else c.dihedral)
    places[unknown[0]] = placed(first, second, third, length, angle, dihedral)


def _length(residue: Residue, names: tuple[str, ...], table: CharmmParameters) -> float:
    found = table.bond(tuple(residue.atoms[name].type for name in names))
    if found is None:
        raise _missing(residue, "bond", names)
    return found[1]


def _angle(residue: Residue, names: tuple[str, ...], table: CharmmParameters) -> float:
    found = table.angle(tuple(residue.atoms[name].type for name in names))
    if found is None:
        raise _missing(residue, "angle", names)
    return found[1]


def _missing(residue: Residue, kind: str, names: tuple[str, ...]) -> InputError:
    types = "-".join(residue.atoms[name].type for name in names)
    return InputError(
        f"{residue.where}: {residue.name} has no {kind} {'-'.join(names)} of types {types} in the files given: add the "
        "parameters with --toppar"
    )
