"""AMBER's extra points: atoms without mass that follow the atom that they are bonded to, and its neighbours.

A prmtop has no frames. AMBER finds them by bonds, as ParmEd and OpenMM do: an extra point of an atom with one other
neighbour lies on the line of both, one of an atom with two others on their bisector, and two of such an atom out of
the plane, at the tetrahedral angle. The bonds' lengths tell the distances, and coordinates on which side a point lies.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from tessera.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.prepare.rows import Tables
from tessera.prepare.virtual_sites import Site, add_sites, average, drop_bonded_terms, out_of_plane
from tessera.system.model import FloatArray

_TYPES = (b"EP", b"LP")
_HALF_ANGLE = math.radians(54.735)  # between the two points of a TIP5P water and its bisector, as OpenMM has it
_SAME_LENGTH = 1e-4  # Å


def add_extra_points(flat: FlatTopology, types: np.ndarray, tables: Tables, position: FloatArray) -> list[str]:
    """Makes the extra points virtual sites and drops the bonded terms that hold them. Returns notes.

    `types` (n,) are AMBER's atom types, `position` (n,3) Å. Raises `InputError` where the bonds tell no frame.
    """
    is_point = np.isin(types, _TYPES) | (flat.mass <= 0)
    if not is_point.any():
        return []
    bonds, rows = flat.terms["bond"]
    lengths = tables["bond"].table()[rows, 1]
    neighbours: dict[int, dict[int, float]] = defaultdict(dict)
    for (i, j), length in zip(bonds.tolist(), lengths.tolist()):
        neighbours[i][j] = neighbours[j][i] = length
    points_of: dict[int, list[int]] = defaultdict(list)  # by the atom that they are bonded to
    for point in np.flatnonzero(is_point).tolist():
        hosts = [atom for atom in neighbours[point] if not is_point[atom]]
        if len(hosts) != 1:
            raise InputError(
                f"the extra point {flat.describe(point)} is bonded to {len(hosts)} atoms, expected one: its place is "
                "not known"
            )
        points_of[hosts[0]].append(point)
    angles = _angles(flat, tables)
    sites: dict[int, Site] = {}
    for host, points in points_of.items():
        others = [atom for atom in neighbours[host] if not is_point[atom]]
        frame = (len(others), len(points))
        if frame == (1, 1):
            sites[points[0]] = _on_line(host, others[0], points[0], neighbours[host], position)
        elif frame in ((2, 1), (2, 2)):
            one, two = others
            arms = neighbours[host][one], neighbours[host][two]
            if abs(arms[0] - arms[1]) > _SAME_LENGTH:
                raise InputError(
                    f"the extra point {flat.describe(points[0])} lies between bonds of {arms[0]:g} and {arms[1]:g} Å: "
                    "not supported"
                )
            across = neighbours[one].get(two)
            if across is None and (one, host, two) in angles:
                across = 2 * arms[0] * math.sin(angles[one, host, two] / 2)
            if across is None:
                raise InputError(
                    f"the extra point {flat.describe(points[0])} needs an angle or a bond between "
                    f"{flat.describe(one)} and {flat.describe(two)}"
                )
            sites |= _between(host, (one, two), points, neighbours[host], across, position)
        else:
            raise InputError(
                f"{flat.describe(host)} has {len(points)} extra point(s) and {len(others)} other neighbours: such a "
                "frame is not supported"
            )
    notes = add_sites(flat, sites)
    drop_bonded_terms(flat, ("bond", "angle", "dihedral", "improper_periodic", "urey_bradley", "improper_harmonic"))
    return notes


def _angles(flat: FlatTopology, tables: Tables) -> dict[tuple[int, ...], float]:
    atoms, rows = flat.terms["angle"]
    theta = tables["angle"].table()[rows, 1] if len(rows) else []
    return {key: t for (i, j, k), t in zip(atoms.tolist(), theta) for key in ((i, j, k), (k, j, i))}


def _on_line(host: int, other: int, point: int, lengths: dict[int, float], position: FloatArray) -> Site:
    share = lengths[point] / lengths[other]
    share *= 1 if _is_towards(position, host, point, position[other]) else -1
    return average((host, other), (1 - share, share))


def _between(
    host: int,
    others: tuple[int, int],
    points: list[int],
    lengths: dict[int, float],
    across: float,
    position: FloatArray,
) -> dict[int, Site]:
    arm = lengths[others[0]]
    height = math.sqrt(arm**2 - (across / 2) ** 2)
    middle = (position[others[0]] + position[others[1]]) / 2
    if len(points) == 1:
        share = lengths[points[0]] / height * (1 if _is_towards(position, host, points[0], middle) else -1)
        return {points[0]: average((host, *others), (1 - share, share / 2, share / 2))}
    area = height * across  # |r₁₂ × r₁₃|
    normal = np.cross(position[others[0]] - position[host], position[others[1]] - position[host])
    sites = {}
    for point in points:
        towards = 1 if _is_towards(position, host, point, middle) else -1
        side = 1 if _is_towards(position, host, point, position[host] + normal) else -1
        share = towards * lengths[point] * math.cos(_HALF_ANGLE) / height / 2
        out = side * lengths[point] * math.sin(_HALF_ANGLE) / area
        sites[point] = out_of_plane(host, *others, share, share, out)
    return sites


def _is_towards(position: FloatArray, host: int, point: int, there: FloatArray) -> bool:
    return float((position[point] - position[host]) @ (there - position[host])) > 0
