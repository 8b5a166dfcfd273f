"""Finds charges whose screened field is that of a nucleosome's core by the nonlinear equation of Poisson and Boltzmann
(DiSCO: Beard and Schlick 2001; Zhang, Beard and Schlick 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tessera.build.charges import apbs
from tessera.build.charges.core import Core
from tessera.build.charges.debye import PERMITTIVITY, TEMPERATURE, kappa
from tessera.build.charges.fit import Charges, Sample, chosen, moved, residual
from tessera.build.charges.surface import Lattice, heights, spread
from tessera.build.memory import check_memory
from tessera.system.model import FloatArray, IdArray

NEAREST = 5.0  # Å off the surface, where the field is to be right
_DEPTHS, _THICKEST = 2.0, 60.0  # Debye lengths and Å from there to where it is, too
#: Å off the surface where charges may begin, and at how many times as many places as there are charges
_STARTS = ((-2.0, 5), (-5.0, 2), (-9.0, 2))
_HIGHEST = -1.0  # Å off the surface where charges may go
_SPACING = 1.3  # Å between points of the lattice
_FITTED, _CHECKED = 20_000, 20_000  # points
_PLACING, _FEWER = 2, 4  # the parts of the fitted points by which charges get places, and begin to move
_ROUGH, _FINE = 0.02, 0.005  # the relative gains of steps at which they stop
_NEAR = 5.0  # Å: half of the points that are fitted are no further than this behind the nearest
_EDGE = 3  # points from a face of the lattice that are not used


@dataclass
class Made:
    """Charges, and how good they are."""

    charges: Charges
    salt: float  # mol/L
    core_charge: float  # e
    atoms: int
    residual: float  # of points that were not fitted
    reach: float  # Å off the surface
    notes: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Returns what the summary says."""
        charge = self.charges.charge
        # What is missed of the field's energy, ∫ε|E|²/2, goes with the square.
        return {
            "salt": self.salt,
            "points": len(charge),
            "residual": round(self.residual, 4),
            "energy_residual": round(self.residual**2, 4),
            "effective_charge": round(float(charge.sum()), 2),
            "core_charge": round(self.core_charge, 2),
            "largest": round(float(np.abs(charge).max()), 2),
            "debye_length": round(1 / kappa(self.salt), 2),
            "atoms": self.atoms,
            "notes": self.notes,
        }

    def text(self, output: Path) -> str:
        """Returns the summary for people."""
        facts = self.facts()
        lines = [
            f"{output}: {facts['points']} charges of {facts['effective_charge']:g} e in all for {self.atoms:,} atoms "
            f"of {facts['core_charge']:g} e",
            f"  salt {self.salt:g} mol/L, Debye length {facts['debye_length']:g} Å",
            f"  residual of the field {100 * self.residual:.1f} %, of its energy {100 * self.residual**2:.1f} %, "
            f"{NEAREST:g} to {self.reach:.1f} Å off the surface",
            f"  largest charge {facts['largest']:g} e",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def csv(self, source: str) -> str:
        """Returns the file of charges."""
        head = {
            "salt": f"{self.salt:g} mol/L",
            "debye_length": f"{1 / kappa(self.salt):.4f} Å",
            "temperature": f"{TEMPERATURE:g} K",
            "permittivity": f"{PERMITTIVITY:g}",
            "residual": f"{100 * self.residual:.1f} % of the field, {NEAREST:g} to {self.reach:.1f} Å off the surface",
            "source": source,
        }
        rows = np.column_stack([self.charges.position, self.charges.charge]).tolist()
        text = "".join(f"# {key}: {value}\n" for key, value in head.items())
        return text + "x,y,z,charge\n" + "".join(f"{x:.4f},{y:.4f},{z:.4f},{q:.5f}\n" for x, y, z, q in rows)


def lattice_of(core: Core, salt: float) -> Lattice:
    """Returns the lattice on which the field around a core is found."""
    return apbs.lattice_around(core.position, reach(salt) + _EDGE * _SPACING + core.radius.max(), _SPACING)


def reach(salt: float) -> float:
    """Returns how far off the surface the field is to be right, Å."""
    return NEAREST + min(_DEPTHS / kappa(salt), _THICKEST)


def make_charges(
    core: Core, salt: float, count: int, memory: int, seed: int = 0, report: Callable[[str], None] = lambda _: None
) -> Made:
    """Returns this many charges in place of a core, in a monovalent salt in mol/L. Raises `InputError` where APBS is
    not installed or fails, or needs more bytes of memory."""
    apbs.require_apbs()
    lattice = lattice_of(core, salt)
    check_memory(apbs.BYTES_PER_POINT * int(np.prod(lattice.shape)), memory)
    report("solving the equation of Poisson and Boltzmann")
    potential = apbs.solve(core, salt, lattice)
    charges, left = fitted(core, potential, salt, count, seed, report)
    return Made(charges, salt, float(core.charge.sum()), len(core.charge), left, reach(salt), list(core.notes))


def fitted(
    core: Core,
    potential: apbs.Potential,
    salt: float,
    count: int,
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Charges, float]:
    """Returns charges for a potential around a core, and their residual at points that were not fitted."""
    report("enclosing atoms by a surface")
    lattice, inverse = potential.lattice, kappa(salt)
    height = heights(core.position, core.radius, lattice)
    fit, check = _samples(potential, height, salt, np.random.default_rng(seed))
    report("placing charges")
    start = chosen(_places(lattice, height, count), count, fit.part(_PLACING), inverse)

    def may_be(position: FloatArray) -> np.ndarray:
        return np.asarray(height[tuple(lattice.nearest(position).T)] <= _HIGHEST)

    report("moving charges")
    rough = moved(start, fit.part(_FEWER), inverse, may_be, _ROUGH, report)
    found = moved(rough, fit, inverse, may_be, _FINE, report)
    return found, residual(found, check, inverse)


def _places(lattice: Lattice, height: FloatArray, count: int) -> FloatArray:
    """Returns places (n,3) Å where charges may begin: about evenly in layers below the surface."""
    found = []
    for depth, times in _STARTS:
        layer = lattice.places(np.argwhere(np.abs(height - depth) < lattice.spacing.max() / 2))
        found.append(spread(layer, min(times * count, len(layer))))
    return np.concatenate(found)


def _samples(
    potential: apbs.Potential, height: FloatArray, salt: float, random: np.random.Generator
) -> tuple[Sample, Sample]:
    """Returns points that are fitted and others by which the result is checked. The latter are uniform in the volume
    outside; of the former half are near, and weigh as little as they are many."""
    inner = np.zeros(height.shape, bool)
    inner[_EDGE:-_EDGE, _EDGE:-_EDGE, _EDGE:-_EDGE] = True
    index = np.argwhere(inner & (height > NEAREST) & (height < reach(salt)))
    random.shuffle(index)
    check, rest = index[:_CHECKED], index[_CHECKED:]
    is_near = height[tuple(rest.T)] < NEAREST + _NEAR
    near, all_of_it = rest[is_near], rest
    chosen = np.concatenate([all_of_it[: _FITTED // 2], near[-(_FITTED // 2) :]])
    random.shuffle(chosen)
    density = np.full(len(chosen), 0.5 / len(all_of_it))
    density[height[tuple(chosen.T)] < NEAREST + _NEAR] += 0.5 / len(near)
    return _sample(potential, chosen, 1 / density), _sample(potential, check, np.ones(len(check)))


def _sample(potential: apbs.Potential, index: IdArray, weight: FloatArray) -> Sample:
    return Sample(potential.lattice.places(index), potential.field(index), weight)
