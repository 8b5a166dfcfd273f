"""Builds atoms from a topology's internal coordinates (IC): a length, an angle and a dihedral from three others.

Places are points (3,) Å, or (m,3) of m tries at once, which differ in dihedrals.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from tessera.build.charmm.topology import InternalCoordinate, Names, Residue
from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.system.model import FloatArray

Places = dict[str, FloatArray]
_FLATTEST = 1e-6  # the sine of an angle between three atoms that have no direction about them


def placed(
    first: FloatArray,
    second: FloatArray,
    third: FloatArray,
    length: float,
    angle: float,
    dihedral: float | FloatArray,
) -> FloatArray:
    """Returns the points at this length (Å) from the third, with this angle to the second and this dihedral (radians)
    to the first. All but length and angle may be those of several tries."""
    along = _unit(third - second)
    across = _unit(_cross(second - first, along))
    turn = np.asarray(dihedral)[..., None]
    turned = -np.cos(angle) * along + np.sin(angle) * (np.cos(turn) * _cross(across, along) + np.sin(turn) * across)
    return np.asarray(third + length * turned)


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / _size(vector)[..., None])


def _size(vector: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((vector * vector).sum(axis=-1)))


def _cross(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns what `numpy.cross` does, which takes ten times as long for few vectors."""
    left, right = [1, 2, 0], [2, 0, 1]
    return np.asarray(one[..., left] * other[..., right] - one[..., right] * other[..., left])


def completed(
    residue: Residue,
    known: Mapping[str, FloatArray],
    table: CharmmParameters,
    dihedrals: Mapping[Names, FloatArray] = MappingProxyType({}),
) -> Places:
    """Returns the places of all atoms of a residue, those that are known and others by its internal coordinates. Known
    atoms of the residue after or before have names with `+` or `-`. Lengths and angles of 0 are those of the
    parameters. `dihedrals` replaces some (degrees), by the atoms of their coordinates. Raises `InputError` where an
    atom has none."""
    places = extended(residue, known, table, dihedrals)
    for name in residue.atoms:
        if name not in places:
            raise InputError(
                f"{residue.where}: nothing says where {name} of {residue.name} is: expected an internal coordinate "
                "(IC) with three atoms that are known"
            )
    return {name: places[name] for name in residue.atoms}


def extended(
    residue: Residue,
    known: Mapping[str, FloatArray],
    table: CharmmParameters,
    dihedrals: Mapping[Names, FloatArray] = MappingProxyType({}),
    beside: tuple[str, ...] = (),
) -> Places:
    """Returns the places of all atoms that internal coordinates give from those that are known: those of the residue,
    and these of the ones beside it."""
    places = {name: place for name, place in known.items() if name in residue.atoms or name[0] in "+-"}
    names = {*residue.atoms, *places, *beside}
    # A branch knows an atom beside the one that is placed; a chain may put both into one place.
    order = sorted((c for c in residue.coordinates if names.issuperset(c.atoms)), key=lambda c: not c.is_branch)
    while any(_place(c, places, residue, table, dihedrals) for c in order):
        pass
    return places


def _place(
    c: InternalCoordinate,
    places: Places,
    residue: Residue,
    table: CharmmParameters,
    dihedrals: Mapping[Names, FloatArray],
) -> bool:
    """Adds the first or the last atom where it alone is unknown, and tells whether it did."""
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
        return False
    first, second, third = (places[name] for name in chain)
    if _size(_cross(second - first, third - second)).min() < _FLATTEST:
        return False
    dihedral = np.radians(dihedrals.get(c.atoms, c.dihedral))
    # Exchanging the ends of a branch turns its dihedral the other way.
    places[unknown[0]] = placed(
        first, second, third, length, angle, -dihedral if unknown == [i] and c.is_branch else dihedral
    )
    return True


def _length(residue: Residue, names: tuple[str, ...], table: CharmmParameters) -> float:
    found = table.bond(_types(residue, names))
    if found is None:
        raise _missing(residue, "bond", names)
    return found[1]


def _angle(residue: Residue, names: tuple[str, ...], table: CharmmParameters) -> float:
    found = table.angle(_types(residue, names))
    if found is None:
        raise _missing(residue, "angle", names)
    return found[1]


def _types(residue: Residue, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(residue.atoms[name].type if name in residue.atoms else name for name in names)


def _missing(residue: Residue, kind: str, names: tuple[str, ...]) -> InputError:
    return InputError(
        f"{residue.where}: {residue.name} has no {kind} {'-'.join(names)} of types {'-'.join(_types(residue, names))} "
        "in the files given: add the parameters with --toppar"
    )
