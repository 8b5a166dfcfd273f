"""Fits charges to a field: their values and their places (after Beard and Schlick 2001).

The residual is that of the field, R = (Σ w|E − E′|² / Σ w|E|²)^½ over points outside, with E′ of the charges. What is
minimised is R² and a small multiple of the charges' squares, without which neighbours would cancel each other. Charges
are linear in it, and places are found with them by steps of Levenberg (1944) and Marquardt (1963).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from tessera.build.charges.debye import fields, slopes
from tessera.system.model import FloatArray

_RIDGE = 1e-5  # of the greatest eigenvalue: what a square of a charge costs
_STEPS = 40
_TRIES, _LONGEST = 8, 2.0  # Å that a charge moves in a step
_DAMPING, _LESS, _MORE = 3e-3, 0.3, 4.0
_AT_ONCE = 500  # points, whose derivatives are in memory together


@dataclass(frozen=True)
class Sample:
    """Points (m,3) Å where the field (m,3) is known, and what each weighs (m,)."""

    points: FloatArray
    field: FloatArray
    weight: FloatArray

    def part(self, step: int) -> Sample:
        """Returns every such point."""
        return Sample(self.points[::step], self.field[::step], self.weight[::step])


@dataclass(frozen=True)
class Charges:
    """Charges (n,) e at places (n,3) Å."""

    position: FloatArray
    charge: FloatArray


def residual(found: Charges, sample: Sample, inverse: float) -> float:
    """Returns the relative residual of the field of charges, with κ = `inverse` in 1/Å."""
    total = (sample.weight[:, None] * sample.field**2).sum()
    return float(np.sqrt(_cost(found, sample, inverse) / total))


def _cost(found: Charges, sample: Sample, inverse: float) -> float:
    return float(
        sum(
            (sample.weight[rows, None] * (fields(sample.points[rows], found.position, inverse) @ found.charge
             - sample.field[rows]) ** 2).sum()
            for rows in _pieces(len(sample.points))
        )
    )  # fmt: skip


def _pieces(count: int) -> list[slice]:
    return [slice(begin, begin + _AT_ONCE) for begin in range(0, count, _AT_ONCE)]


def chosen(places: FloatArray, count: int, sample: Sample, inverse: float) -> Charges:
    """Returns this many charges at some of these places (n,3) Å: always at the one whose field is most like what
    the others have left, after which all get their best values (Pati, Rezaiifar and Krishnaprasad 1993)."""
    square, right = _normal(places, sample, inverse)
    length = np.sqrt(np.diag(square))
    rows: list[int] = []
    charge = np.zeros(0)
    factor = np.zeros((count, count))  # of Cholesky, to which each charge adds a row
    for n in range(count):
        like = np.abs(right - square[:, rows] @ charge) / length
        like[rows] = -1.0
        rows.append(new := int(np.argmax(like)))
        own = solve_triangular(factor[:n, :n], square[rows[:-1], new], lower=True)
        factor[n, :n], factor[n, n] = own, np.sqrt(square[new, new] - own @ own)
        charge = cho_solve((factor[: n + 1, : n + 1], True), right[rows])
    return Charges(places[rows], charge)


def _normal(position: FloatArray, sample: Sample, inverse: float) -> tuple[FloatArray, FloatArray]:
    """Returns the matrix (n,n) and the right side (n,) of the equations of the best charges at places (n,3) Å."""
    n = len(position)
    square, right = np.zeros((n, n)), np.zeros(n)
    for rows in _pieces(len(sample.points)):
        root = np.sqrt(sample.weight[rows, None])
        own = (root[..., None] * fields(sample.points[rows], position, inverse)).reshape(-1, n)
        square += own.T @ own
        right += own.T @ (root * sample.field[rows]).reshape(-1)
    square[range(n), range(n)] += _RIDGE * np.linalg.eigvalsh(square)[-1]
    return square, right


def moved(
    start: Charges,
    sample: Sample,
    inverse: float,
    may_be: Callable[[FloatArray], NDArray[np.bool_]],
    least_gain: float = 0.005,
    report: Callable[[str], None] = lambda _: None,
) -> Charges:
    """Returns charges after they have moved to where they fit better, until two steps make the residual less than
    this part smaller. `may_be` tells at which places (n,3) Å they may be; others are not entered."""
    n, found, damping = len(start.charge), start, _DAMPING
    total = float((sample.weight[:, None] * sample.field**2).sum())
    cost, gain = _cost(found, sample, inverse), 1.0
    for turn in range(_STEPS):
        square, slope = _derivatives(found, sample, inverse)
        price = _RIDGE * np.linalg.eigvalsh(square[:n, :n])[-1]
        square[range(n), range(n)] += price
        slope[:n] += price * found.charge
        before = cost + price * float(found.charge @ found.charge)
        usual = np.repeat([np.diag(square)[:n].mean(), np.diag(square)[n:].mean()], [n, 3 * n])
        scale = np.maximum(np.diag(square), usual)
        for _ in range(_TRIES):
            step = np.asarray(np.linalg.solve(square + damping * np.diag(scale), -slope), np.float64)
            tried = _stepped(found, step, may_be)
            now = _cost(tried, sample, inverse)
            if now + price * float(tried.charge @ tried.charge) < before:
                break
            damping *= _MORE
        else:
            break
        damping *= _LESS
        last, gain = gain, 1 - float(np.sqrt(now / cost))
        found, cost = tried, now
        report(f"moving charges: step {turn + 1}, residual {100 * np.sqrt(cost / total):.1f} %")
        if max(last, gain) < least_gain:  # one step alone may be short, after others that were too long
            break
    return found


def _derivatives(found: Charges, sample: Sample, inverse: float) -> tuple[FloatArray, FloatArray]:
    """Returns Gauss's approximation of the second derivatives (4n,4n) of half the cost by charges and places, and the
    first derivatives (4n,)."""
    n = len(found.charge)
    square, slope = np.zeros((4 * n, 4 * n)), np.zeros(4 * n)
    for rows in _pieces(len(sample.points)):
        points, root = sample.points[rows], np.sqrt(sample.weight[rows])
        own = fields(points, found.position, inverse)
        by_place = slopes(points, found.position, inverse) * found.charge[:, None]
        both = np.concatenate([own, by_place.reshape(len(points), 3, 3 * n)], axis=2) * root[:, None, None]
        error = root[:, None] * (own @ found.charge - sample.field[rows])
        both = both.reshape(-1, 4 * n)
        square += both.T @ both
        slope += both.T @ error.reshape(-1)
    return square, slope


def _stepped(found: Charges, step: FloatArray, may_be: Callable[[FloatArray], NDArray[np.bool_]]) -> Charges:
    n = len(found.charge)
    shift = step[n:].reshape(n, 3)
    length = np.sqrt((shift * shift).sum(axis=1, keepdims=True))
    position = found.position + shift * np.minimum(1.0, _LONGEST / np.maximum(length, 1e-12))
    position = np.where(may_be(position)[:, None], position, found.position)
    return Charges(position, found.charge + step[:n])
