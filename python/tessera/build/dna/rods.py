"""Joins two base pairs by the DNA of least elastic energy between them.

Each step is a spring in the six parameters that place one pair on the next (`frames.py`): tilt and roll as the
persistence length says, and twist as the torsional rigidity (Sun, Zhang and Schlick 2005), rise as the stretch modulus
(Smith, Cui and Bustamante 1996), and shift and slide as rise, which keeps pairs in line. The frames between the ends
move until the sum is least, by Newton's method with damped steps. The twist of the whole is known but for whole turns:
the energies of several are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import solveh_banded
from scipy.spatial.transform import Rotation

from tessera.build.dna.frames import Frames, about_z, parameters
from tessera.build.dna.paths import RISE, TWIST, transported
from tessera.system.model import FloatArray

PERSISTENCE = 500.0  # Å
TORSION = 730.0  # Å: 3·10⁻¹² erg·nm over kT at 298 K
STRETCH = 1000.0 / 41.1  # kT/Å: the modulus of 1,000 pN
_SHIFTS = np.full(3, STRETCH / RISE)  # kT/Å²
_BENDS = np.array([PERSISTENCE, PERSISTENCE, TORSION]) / RISE  # kT/rad²
_SPRINGS = np.concatenate([_SHIFTS, _BENDS * np.radians(1.0) ** 2])
_STRAIGHT = np.array([0.0, 0.0, RISE, 0.0, 0.0, TWIST])
_TURNS = (0, -1, 1)  # whole turns of twist more than the nearest to the rod's own
_SLOPE, _CURVE = 1e-5, 1e-3  # Å and radians: the differences that first and second derivatives are of
_ITERATIONS, _SMALL = 200, 1e-12  # the gain of a step in parts of the energy, at which there is no more to gain
_STIFFEST = 1e9  # of damping


@dataclass(frozen=True)
class Rod:
    """DNA of n pairs between two others, the parameters of its n + 1 steps, and what it costs."""

    pairs: Frames  # (n)
    steps: FloatArray  # (n + 1,6) Å and degrees
    energy: float  # kT
    excess: float  # base pairs of twist more than DNA has by itself over this length


def rod(first: Frames, last: Frames, n: int) -> Rod:
    """Returns the n pairs (n ≥ 1) of least elastic energy between two, each a single frame."""
    best: Rod | None = None
    for turns in _TURNS:
        pairs, energy = _relaxed(_begin(first, last, n, turns))
        if best is None or energy < best.energy:
            steps, _ = parameters(pairs[:-1], pairs[1:])
            best = Rod(pairs[1:-1], steps, energy, float(steps[:, 5].sum()) / TWIST - (n + 1))
    assert best is not None
    return best


def _begin(first: Frames, last: Frames, n: int, turns: int) -> Frames:
    """Returns n + 2 pairs along a smooth curve of their length, with `turns` whole turns of twist more than the nearest
    to their own."""
    points = _curve(first, last, n)
    along = np.gradient(points, axis=0)
    along[0], along[-1] = first.rotation[:, 2], last.rotation[:, 2]
    along /= np.linalg.norm(along, axis=1)[:, None]
    untwisted = transported(points, along, first.rotation[:, 0])
    x, y = last.rotation[:, 0] @ untwisted.rotation[-1][:, :2]
    mismatch, own = np.degrees(np.arctan2(y, x)), (n + 1) * TWIST
    twist = mismatch + 360 * (round((own - mismatch) / 360) + turns)
    rotation = untwisted.rotation @ about_z(np.radians(twist) * np.arange(n + 2) / (n + 1))
    rotation[0], rotation[-1] = first.rotation, last.rotation
    return Frames(points, rotation)


def _curve(first: Frames, last: Frames, n: int) -> FloatArray:
    """Returns n + 2 points at equal distances along the cubic curve that leaves the first pair and reaches the last
    along their z axes and is as long as the DNA, or along the line between them where that is longer."""
    at = np.linspace(0, 1, 20 * (n + 2))[:, None]
    ends = (1 + 2 * at) * (1 - at) ** 2 * first.origin + at**2 * (3 - 2 * at) * last.origin
    bulge = at * (1 - at) ** 2 * first.rotation[:, 2] - at**2 * (1 - at) * last.rotation[:, 2]
    # A little to the side: a rod that is pushed along itself would not know where to.
    bulge = bulge + (at * (1 - at)) ** 2 * first.rotation[:, 0]
    needed = (n + 1) * RISE

    def lengths(speed: float) -> tuple[FloatArray, FloatArray]:
        points = ends + speed * bulge
        return points, np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])

    low, high = 0.0, 10 * needed
    if lengths(low)[1][-1] < needed:
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if lengths(middle)[1][-1] < needed else (low, middle)
    points, length = lengths(low)
    where = np.linspace(0, length[-1], n + 2)
    return np.stack([np.interp(where, length, points[:, axis]) for axis in range(3)], axis=1)


def _relaxed(pairs: Frames) -> tuple[Frames, float]:
    """Returns the pairs after the inner ones have moved to the least energy, and this energy, kT."""
    energy, damping = float(_energies(_between(pairs)).sum()), 1e-3
    stiffness = np.tile(np.concatenate([_SHIFTS, _BENDS]), len(pairs) - 2)
    for _ in range(_ITERATIONS):
        bands, slope = _expansion(_between(pairs))
        while damping < _STIFFEST:
            damped = bands.copy()
            damped[-1] += damping * stiffness
            try:
                move = solveh_banded(damped, -slope).reshape(-1, 6)
            except np.linalg.LinAlgError:  # a saddle
                damping *= 10
                continue
            moved = _moved(pairs, np.pad(move, ((1, 1), (0, 0))))
            lower = float(_energies(_between(moved)).sum())
            if lower <= energy:
                break
            damping *= 10
        else:
            break
        pairs, gain, energy, damping = moved, energy - lower, lower, damping / 10
        if gain <= _SMALL * (1 + energy):
            break
    return pairs, energy


def _between(pairs: Frames) -> Frames:
    """Returns each frame as the one before it sees it."""
    back = pairs.rotation[:-1].swapaxes(1, 2)
    return Frames(np.einsum("nij,nj->ni", back, np.diff(pairs.origin, axis=0)), back @ pairs.rotation[1:])


def _moved(frames: Frames, move: FloatArray) -> Frames:
    """Returns frames after moves (n,6) by their own axes: by Å, and by a vector of rotation in radians."""
    turn = Rotation.from_rotvec(move[:, 3:]).as_matrix()
    return Frames(frames.origin + np.einsum("nij,nj->ni", frames.rotation, move[:, :3]), frames.rotation @ turn)


def _energies(relative: Frames) -> FloatArray:
    """Returns the energy (…) of steps, kT."""
    own = Frames(np.zeros_like(relative.origin), np.broadcast_to(np.eye(3), relative.rotation.shape))
    away = parameters(own, relative)[0] - _STRAIGHT
    away[..., 5] = (away[..., 5] + 180) % 360 - 180
    return np.asarray(away**2 @ _SPRINGS / 2)


def _expansion(relative: Frames) -> tuple[FloatArray, FloatArray]:
    """Returns the upper bands of the second derivatives of the energy by the moves of the inner pairs, and the first.

    A step changes by the move b of its second pair and the move a of its first, which its second sees as u = −Ad a. To
    second order that is a move of u + b + [u, b]/2 (Baker, Campbell and Hausdorff; the bracket of rigid motions).
    """
    slope, curvature = _derivatives(relative)
    n = len(relative) - 1
    seen = _seen(relative)
    bracket = np.einsum("nk,kij->nij", slope, _BRACKET)
    by_first = seen.swapaxes(1, 2) @ curvature @ seen
    across = seen.swapaxes(1, 2) @ (curvature + bracket / 2)
    own = curvature[:-1] + by_first[1:]
    total = slope[:-1] + np.einsum("nij,ni->nj", seen[1:], slope[1:])
    bands = np.zeros((12, 6 * n))
    for i in range(6):
        for j in range(6):
            if j >= i:
                bands[11 - (j - i), j::6] = own[:, i, j]
            bands[5 - (j - i), 6 + j :: 6] = across[1:-1, i, j]
    return bands, total.ravel()


def _derivatives(relative: Frames) -> tuple[FloatArray, FloatArray]:
    """Returns the slope (n,6) and the curvature (n,6,6) of each step's energy by the move of its second pair."""
    axes = np.eye(6)
    slope = (_energies_after(relative, _SLOPE * axes) - _energies_after(relative, -_SLOPE * axes)) / (2 * _SLOPE)
    pairs = list(combinations(range(6), 2))
    corners = np.array([axes[i] + axes[j] for i, j in pairs])
    straight, bent = (
        _energies_after(relative, _CURVE * moves) + _energies_after(relative, -_CURVE * moves)
        for moves in (axes, corners)
    )
    middle = 2 * _energies(relative)
    curvature = np.zeros((len(relative), 6, 6))
    for i in range(6):
        curvature[:, i, i] = (straight[i] - middle) / _CURVE**2
    for (i, j), both in zip(pairs, bent):
        curvature[:, i, j] = curvature[:, j, i] = (both - straight[i] - straight[j] + middle) / (2 * _CURVE**2)
    return slope.T, curvature


def _energies_after(relative: Frames, moves: FloatArray) -> FloatArray:
    """Returns the energies (m,n) of steps after small rigid motions (m,6) of their second pairs by their own axes."""
    turns = Rotation.from_rotvec(moves[:, 3:]).as_matrix()
    shifts = moves[:, :3] + np.cross(moves[:, 3:], moves[:, :3]) / 2
    origin = relative.origin + np.einsum("nij,mj->mni", relative.rotation, shifts)
    return _energies(Frames(origin, relative.rotation @ turns[:, None]))


def _seen(relative: Frames) -> FloatArray:
    """Returns the matrices (n,6,6) that make moves of first pairs those of second ones that change the step as much."""
    back = -relative.rotation.swapaxes(1, 2)
    seen = np.zeros((len(relative), 6, 6))
    seen[:, :3, :3] = seen[:, 3:, 3:] = back
    seen[:, :3, 3:] = -back @ np.cross(relative.origin[:, None], np.eye(3)).swapaxes(1, 2)
    return seen


def _brackets() -> FloatArray:
    """Returns B (6,6,6) of [x, y]ₖ = xᵢ Bₖᵢⱼ yⱼ, the bracket of rigid motions: (w₁ × v₂ − w₂ × v₁, w₁ × w₂) for shifts
    v and turns w."""
    cross = np.cross(np.eye(3)[:, None], np.eye(3)).transpose(2, 0, 1)
    out = np.zeros((6, 6, 6))
    out[:3, 3:, :3] = out[3:, 3:, 3:] = cross
    out[:3, :3, 3:] = cross
    return out


_BRACKET = _brackets()
