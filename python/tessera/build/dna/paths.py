"""Places base pairs along a path: straight, a circle, a superhelix, or a curve through points.

A curve is cut every 3.4 Å. Its frames have z along the curve, do not turn about it (Wang et al. 2008), and are then
twisted from pair to pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from tessera.build.atoms import FURTHEST
from tessera.build.dna.frames import Frames, about_z, chained
from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file
from tessera.system.model import FloatArray

RISE = 3.4  # Å between base pairs
TWIST = 360 / 10.5  # degrees from pair to pair, of DNA in solution (Wang 1979)
PITCH, OUTER_DIAMETER = 28.0, 106.0  # Å, of the DNA of nucleosomes (Jung et al. 2019)
#: Å: DNA with an outer diameter of 106 Å, as in the nucleosome 1KX5, has its path at 83.5 Å
THICKNESS = 22.5
TIGHTEST = 25.0  # Å: the radius about which sugars and phosphates still close
TWISTS = (20.0, 50.0)  # degrees, within which they do with angles at most 10° off
_FINE, _MOST = 20, 10_000_000  # points of a curve between base pairs, from which lengths are measured; the most of them


@dataclass(frozen=True)
class Course:
    """The frames of n pairs along a path, the parameters of each pair, and whether the path closes on itself."""

    pairs: Frames
    parameters: FloatArray  # (n,6)
    is_closed: bool = False
    notes: tuple[str, ...] = ()


def straight(n: int, twist: float) -> Course:
    """Returns n pairs along z."""
    _check_twist(twist)
    steps = np.tile([0, 0, RISE, 0, 0, twist], (n - 1, 1))
    return Course(chained(steps), np.zeros((n, 6)))


def circle(n: int, twist: float) -> Course:
    """Returns n pairs on a closed circle; the twist becomes the nearest that closes too."""
    _check_twist(twist)
    turns = max(round(n * twist / 360), 1)
    angle = np.arange(n) * 2 * np.pi / n
    radius = n * RISE / (2 * np.pi)
    _check_radius(radius, f"a circle of {n} base pairs")
    points = radius * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    along = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    own = 360 * turns / n
    _check_twist(own)
    note = f"the circle has {turns} turns of twist, {own:.2f}° from pair to pair"
    return Course(_twisted(points, along, own), np.zeros((n, 6)), True, (note,))


def superhelix(n: int, pitch: float, outer_diameter: float, twist: float) -> Course:
    """Returns n pairs on a left-handed superhelix."""
    _check_twist(twist)
    radius = (outer_diameter - THICKNESS) / 2
    climb = pitch / (2 * np.pi)
    if radius <= 0:
        raise InputError(
            f"the diameter outside the DNA is {outer_diameter:g} Å, expected more than its own {THICKNESS:g}"
        )
    if pitch < THICKNESS and n * RISE > 2 * np.pi * np.hypot(radius, climb):
        raise InputError(f"the pitch is {pitch:g} Å, and turns of DNA, {THICKNESS:g} Å thick, would overlap")
    _check_radius((radius**2 + climb**2) / radius, f"a superhelix with a diameter of {outer_diameter:g} Å")
    angle = np.arange(n) * RISE / np.hypot(radius, climb)
    points = np.stack([radius * np.cos(angle), -radius * np.sin(angle), climb * angle], axis=1)
    along = np.stack([-radius * np.sin(angle), -radius * np.cos(angle), climb + 0 * angle], axis=1)
    return Course(_twisted(points, along / np.hypot(radius, climb), twist), np.zeros((n, 6)))


def nucleosome(n: int) -> Course:
    """Returns the n pairs in the middle of the nucleosome 1KX5 (Davey et al. 2002), with its steps and pairs."""
    text = resources.files("tessera.build.dna").joinpath("1kx5.csv").read_text()
    rows = np.array([[float(x) for x in line.split(",")] for line in text.split("\n") if line[:1] not in ("#", "")])
    if n > len(rows):
        raise InputError(
            f"the sequence has {n} base pairs and the superhelix of 1KX5 {len(rows)}: give --pitch and --diameter for "
            "one of any length"
        )
    first = (len(rows) - n) // 2
    rows = rows[first : first + n]
    return Course(chained(rows[:-1, :6]), rows[:, 6:])


def curve(n: int, path: Path, twist: float | None) -> Course:
    """Returns n pairs along the curve through the points of a file, from the first on, with this twist or that of the
    file, which changes linearly along the curve. Raises `InputError` for a path that is too short or too much bent."""
    table = read_points(path)
    points = table[:, :3]
    if table.shape[1] == 4 and twist is not None:
        raise InputError(f"{path.name} has the twist at each point: leave --twist out, or the fourth numbers")
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    spline = CubicSpline(at, points)
    fine = np.linspace(0, at[-1], max(min(int(at[-1] / RISE * _FINE), _MOST), 2 * len(at)) + 1)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(spline(fine), axis=0), axis=1))])
    needed = (n - 1) * RISE
    if needed > length[-1] + 1e-6:
        raise InputError(
            f"the sequence has {n} base pairs, which need {needed:.1f} Å, and the path {path.name} is "
            f"{length[-1]:.1f} Å long, enough for {int(length[-1] / RISE + 1e-9) + 1}"
        )
    where = np.interp(np.arange(n) * RISE, length, fine)
    first, second = spline(where, 1), spline(where, 2)
    speed = np.linalg.norm(first, axis=1)
    bend = np.linalg.norm(np.cross(first, second), axis=1) / speed**3
    tightest = int(np.argmax(bend))
    if bend[tightest] > 0:
        _check_radius(1 / float(bend[tightest]), f"base pair {tightest + 1} of the path {path.name}")
    notes: tuple[str, ...] = ()
    if length[-1] - needed >= RISE:
        notes = (f"the last {length[-1] - needed:.1f} Å of the path {path.name} have no DNA",)
    own = np.interp(where, at, table[:, 3]) if table.shape[1] == 4 else np.full(n, TWIST if twist is None else twist)
    for extreme in (own.min(), own.max()):
        _check_twist(float(extreme))
    return Course(_twisted(spline(where), first / speed[:, None], own), np.zeros((n, 6)), notes=notes)


def read_points(path: Path) -> FloatArray:
    """Reads points (n,3) Å, or (n,4) with the twist in degrees from pair to pair: three or four numbers a line, by
    blanks or commas; text after # is a comment. Raises `InputError` that names the line."""
    points: list[list[float]] = []
    for number, line in enumerate(read_text(require_file(path, "path")).split("\n"), start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            values = [float(word.replace("_", "?")) for word in words]
        except ValueError:
            values = []
        if len(values) not in ({len(points[0])} if points else {3, 4}):
            raise InputError(
                f"{path.name}, line {number}: expected a point, three numbers in Å and perhaps a twist, as the first "
                f"line has, found {line.strip()[:60]!r}"
            )
        if not (np.abs(values) < FURTHEST).all():
            raise InputError(
                f"{path.name}, line {number}: a number of the point {line.strip()[:60]!r} is not finite or beyond 10⁷ Å"
            )
        if points and values[:3] == points[-1][:3]:
            raise InputError(f"{path.name}, line {number}: this point is the one before it: leave one of them out")
        points.append(values)
    if len(points) < 2:
        raise InputError(f"{path.name} holds {len(points)} point(s), expected at least 2")
    return np.array(points)


def _check_twist(twist: float) -> None:
    low, high = TWISTS
    if not low <= twist <= high:
        raise InputError(
            f"the twist is {twist:.2f}° from pair to pair, expected {low:g} to {high:g}, beyond which sugars and "
            "phosphates don't close: --twist sets it"
        )


def _check_radius(radius: float, what: str) -> None:
    if not radius >= TIGHTEST:
        raise InputError(f"{what} bends about a radius of {radius:.1f} Å, expected at least {TIGHTEST:g}")


def _twisted(points: FloatArray, along: FloatArray, twist: FloatArray | float) -> Frames:
    """Returns the frames (n) at points (n,3) with z along unit vectors (n,3), turned by a twist (n,) in degrees from
    pair to pair, half of it before and after each."""
    untwisted = transported(points, along, np.cross(along[0], np.eye(3)[np.argmin(np.abs(along[0]))]))
    twists = np.broadcast_to(np.radians(twist), len(points))
    turned = np.concatenate([[0.0], np.cumsum((twists[1:] + twists[:-1]) / 2)])
    return Frames(points, untwisted.rotation @ about_z(turned))


def transported(points: FloatArray, along: FloatArray, first: FloatArray) -> Frames:
    """Returns the frames (n) at points (n,3) with z along unit vectors (n,3) that do not turn about them, by the method
    of double reflection. The first x axis is the part across of a vector (3,)."""
    across = np.zeros_like(points)
    across[0] = first - (first @ along[0]) * along[0]
    across[0] /= np.linalg.norm(across[0])
    for at in range(len(points) - 1):
        step = points[at + 1] - points[at]
        square = step @ step
        reflected = across[at] - 2 / square * (step @ across[at]) * step
        direction = along[at] - 2 / square * (step @ along[at]) * step
        other = along[at + 1] - direction
        size = other @ other
        across[at + 1] = reflected - (2 / size * (other @ reflected) * other if size > 0 else 0)
    return Frames(points, np.stack([across, np.cross(along, across), along], axis=-1))
