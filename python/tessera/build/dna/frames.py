"""Converts between reference frames and the parameters that place one frame on another, by the convention of 3DNA.

A frame is an origin (3,) Å and a rotation (3,3) with its axes as columns. With R₁ᵀR₂ = Rz(Ω/2 − φ) Ry(Γ) Rz(Ω/2 + φ)
(El Hassan and Calladine 1995), twist is Ω, roll Γ cos φ and tilt Γ sin φ; shift, slide and rise are the second origin
in the middle frame R₁ Rz(Ω/2 − φ) Ry(Γ/2) Rz(φ), about the first. Of a pair, the same six are shear, stretch, stagger,
buckle, propeller and opening: they place the base of the first strand on that of the second, turned by 180° about its
x axis, and the middle frame is that of the pair (Lu and Olson 2003). All functions take any number of frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tessera.system.model import FloatArray

STEP = ("shift", "slide", "rise", "tilt", "roll", "twist")
PAIR = ("shear", "stretch", "stagger", "buckle", "propeller", "opening")
#: turns a base of the second strand so that it points along the first
TURNED = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Frames:
    """Origins (…,3) Å and rotations (…,3,3), whose columns are the axes."""

    origin: FloatArray
    rotation: FloatArray

    def __len__(self) -> int:
        return len(self.origin)

    def __getitem__(self, rows: int | slice | np.ndarray) -> Frames:
        return Frames(self.origin[rows], self.rotation[rows])

    def turned(self) -> Frames:
        """Returns the frames turned by 180° about their x axes."""
        return Frames(self.origin, self.rotation @ TURNED)

    def placed(self, local: FloatArray) -> FloatArray:
        """Returns where points (…,n,3) of the frames are, Å."""
        return np.asarray(local @ np.swapaxes(self.rotation, -1, -2) + self.origin[..., None, :])


def about_y(angle: FloatArray) -> FloatArray:
    """Returns rotations (…,3,3) by angles in radians."""
    return _about(angle, 2, 0)


def about_z(angle: FloatArray) -> FloatArray:
    """Returns rotations (…,3,3) by angles in radians."""
    return _about(angle, 0, 1)


def _about(angle: FloatArray, first: int, second: int) -> FloatArray:
    out = np.zeros((*np.shape(angle), 3, 3))
    out[..., range(3), range(3)] = 1.0
    out[..., first, first] = out[..., second, second] = np.cos(angle)
    out[..., second, first] = np.sin(angle)
    out[..., first, second] = -np.sin(angle)
    return out


def parameters(first: Frames, second: Frames) -> tuple[FloatArray, Frames]:
    """Returns the six parameters (…,6) in Å and degrees that place the second frames on the first, and the frames in
    the middle."""
    relative = np.swapaxes(first.rotation, -1, -2) @ second.rotation
    twist = np.arctan2(relative[..., 1, 0] - relative[..., 0, 1], relative[..., 0, 0] + relative[..., 1, 1])
    across = np.hypot(relative[..., 0, 2], relative[..., 1, 2])
    bend = np.arctan2(across, relative[..., 2, 2])
    # φ is Ω/2 less the direction of the second z axis; where both z axes are one, any direction does.
    phase = twist / 2 - np.arctan2(relative[..., 1, 2], relative[..., 0, 2])
    middle = first.rotation @ about_z(twist / 2 - phase) @ about_y(bend / 2) @ about_z(phase)
    moved = np.einsum("...i,...ij->...j", second.origin - first.origin, middle)
    angles = np.degrees(np.stack([bend * np.sin(phase), bend * np.cos(phase), twist], axis=-1))
    return np.concatenate([moved, angles], axis=-1), Frames((first.origin + second.origin) / 2, middle)


def relative(parameter: FloatArray) -> tuple[Frames, Frames]:
    """Returns the second frames and the middle ones as the first see them, from six parameters (…,6)."""
    tilt, roll, twist = np.moveaxis(np.radians(parameter[..., 3:]), -1, 0)
    bend, phase = np.hypot(tilt, roll), np.arctan2(tilt, roll)
    begin, half = about_z(twist / 2 - phase), about_y(bend / 2)
    middle = begin @ half @ about_z(phase)
    second = begin @ half @ half @ about_z(twist / 2 + phase)
    origin = np.einsum("...ij,...j->...i", middle, parameter[..., :3])
    return Frames(origin, second), Frames(origin / 2, middle)


def chained(steps: FloatArray, start: Frames | None = None) -> Frames:
    """Returns n + 1 frames in a row from the parameters of n steps (n,6)."""
    one, _ = relative(steps)
    origin, rotation = np.zeros((len(steps) + 1, 3)), np.zeros((len(steps) + 1, 3, 3))
    origin[0], rotation[0] = (np.zeros(3), np.eye(3)) if start is None else (start.origin, start.rotation)
    for at in range(len(steps)):
        origin[at + 1] = origin[at] + rotation[at] @ one.origin[at]
        rotation[at + 1] = rotation[at] @ one.rotation[at]
    return Frames(origin, rotation)


def bases_of(pairs: Frames, parameter: FloatArray) -> tuple[Frames, Frames]:
    """Returns the frames of the bases of the first strand and of the second, from those of pairs and their parameters
    (n,6)."""
    second, middle = relative(parameter)
    # The parameters lead from the turned base of the second strand to that of the first.
    rotation = pairs.rotation @ np.swapaxes(middle.rotation, -1, -2)
    origin = pairs.origin - np.einsum("...ij,...j->...i", rotation, middle.origin)
    first = Frames(origin + np.einsum("...ij,...j->...i", rotation, second.origin), rotation @ second.rotation)
    return first, Frames(origin, rotation).turned()


def pairs_of(first: Frames, second: Frames) -> tuple[FloatArray, Frames]:
    """Returns the parameters of pairs (n,6) and their frames, from those of the bases of both strands."""
    return parameters(second.turned(), first)


def fitted(position: FloatArray, standard: FloatArray) -> Frames:
    """Returns the frames in which points (…,n,3) are nearest to standard ones (n,3), by least squares."""
    centre, middle = position.mean(axis=-2), standard.mean(axis=0)
    covariance = np.swapaxes(position - centre[..., None, :], -1, -2) @ (standard - middle)
    left, _, right = np.linalg.svd(covariance)
    sign = np.sign(np.linalg.det(left @ right))
    left[..., :, 2] *= sign[..., None]
    rotation = left @ right
    return Frames(centre - np.einsum("...ij,j->...i", rotation, middle), rotation)
