"""Fits a uniform superhelix to the path of a double helix.

Points i = 0, 1, … of it are centre + r (cos(φ + ωi) u + sin(φ + ωi) v) + h i a, with the axis a = u × v: its diameter
is 2r, its pitch 2π|h/ω|, and it is right-handed where h/ω > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from tessera.system.model import FloatArray

_FEWEST = 8  # points; six numbers describe a superhelix in space, and base pairs are noisy
_LEAST_TURNS = 0.25  # less of a turn is the bend of a straight helix, and its circle is anywhere
_NARROWEST = 20.0  # Å: less than DNA is thick is the wobble of pairs about a straight axis, a turn of it each 10 pairs
_FLAT = 1e-3  # Å along the axis for a turn: less is a circle


@dataclass(frozen=True)
class Superhelix:
    diameter: float  # Å
    pitch: float  # Å
    turns: float
    hand: str | None  # "left", "right"; None: a circle
    deviation: float  # Å, root of the mean square
    centre: FloatArray  # (3,) Å, on the axis beside the middle of the path
    axis: FloatArray  # (3,), of length 1; the path climbs along it


def superhelix_of(path: FloatArray) -> Superhelix | None:
    """Returns the superhelix nearest to points (n,3) Å; None for a path that is short, turns by less than a quarter, or
    winds more narrowly than DNA is thick."""
    count = len(path)
    if count < _FEWEST:
        return None
    # Differences over about a turn of DNA even its own wobble out; those of a superhelix are across its axis.
    span = min(10, (count - 1) // 4)
    bends = path[2 * span :] - 2 * path[span:-span] + path[: -2 * span]
    _, spread, axes = np.linalg.svd(bends, full_matrices=True)
    if spread[1] < 1e-6 * np.ptp(path, axis=0).max():
        return None  # a straight line
    frame = np.array([axes[0], np.cross(axes[2], axes[0]), axes[2]])
    local = path @ frame.T
    flat = np.column_stack([local[:, :2], np.ones(count)])
    centre = np.linalg.lstsq(flat, (local[:, :2] ** 2).sum(axis=1), rcond=None)[0][:2] / 2
    away = local[:, :2] - centre
    radius = float(np.linalg.norm(away, axis=1).mean())
    at = np.arange(count)
    turn, phase = np.polyfit(at, np.unwrap(np.arctan2(away[:, 1], away[:, 0])), 1)
    climb, begin = np.polyfit(at, local[:, 2], 1)
    if abs(turn) * (count - 1) < 2 * np.pi * _LEAST_TURNS:
        return None

    def deviations(values: FloatArray) -> FloatArray:
        angle = values[0] + values[1] * at
        points = np.stack([values[2] * np.cos(angle), values[2] * np.sin(angle), values[3] * at], axis=1)
        return np.asarray((points @ _tilted(values).T + values[6:] - local).ravel())

    found = least_squares(deviations, [phase, turn, radius, climb, 0.0, 0.0, *centre, begin], x_scale="jac")
    _, turn, radius, climb = found.x[:4]
    turns = abs(turn) * (count - 1) / (2 * np.pi)
    if turns < _LEAST_TURNS or 2 * abs(radius) < _NARROWEST:
        return None
    pitch = abs(2 * np.pi * climb / turn)
    hand = None if pitch < _FLAT else ("right" if climb * turn > 0 else "left")
    along = _tilted(found.x)[:, 2]
    middle = (found.x[6:] + along * climb * (count - 1) / 2) @ frame
    deviation = float(np.sqrt(2 * found.cost / count))
    axis = along @ frame * (1 if climb >= 0 else -1)
    return Superhelix(2 * abs(float(radius)), float(pitch), float(turns), hand, deviation, middle, axis)


def _tilted(values: FloatArray) -> FloatArray:
    """Returns the rotation (3,3) by the fifth and sixth number of a fit."""
    return np.asarray(Rotation.from_rotvec([values[4], values[5], 0.0]).as_matrix())
