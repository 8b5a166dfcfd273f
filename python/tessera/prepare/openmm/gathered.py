"""The terms of a System's forces, gathered before they are divided into kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tessera.system import LennardJones
from tessera.system.model import FloatArray, IdArray


@dataclass
class Restraint:
    """A harmonic force that holds atoms at places: k Σ (d − d₀)² over the axes."""

    k: float  # kcal/mol/Å²
    axes: str
    atoms: IdArray  # (m,)
    places: FloatArray  # (m,3) Å


@dataclass
class Gathered:
    """The terms of all forces before they are divided into kinds, in kcal/mol, Å and radian."""

    bonds: list[tuple[int, int, float, float]] = field(default_factory=list)
    quartic_bonds: list[tuple[int, int, float, float]] = field(default_factory=list)
    urey_bradleys: list[tuple[int, int, float, float]] = field(default_factory=list)
    angles: list[tuple[float, ...]] = field(default_factory=list)
    cosine_angles: list[tuple[float, ...]] = field(default_factory=list)
    torsions: list[tuple[float, ...]] = field(default_factory=list)
    rb_torsions: list[tuple[float, ...]] = field(default_factory=list)
    impropers: list[tuple[float, ...]] = field(default_factory=list)
    cmaps: list[tuple[int, ...]] = field(default_factory=list)
    maps: list[FloatArray] = field(default_factory=list)
    exceptions: list[tuple[int, int, float, float, float]] = field(default_factory=list)
    pair_lj: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    charge: FloatArray | None = None
    lj: FloatArray | None = None  # (n,2) σ, ε
    table: tuple[IdArray, FloatArray, FloatArray] | None = None  # type of each atom, A, B
    ions: tuple[IdArray, FloatArray] | None = None  # type of each atom, C of −C/r⁴
    exclusions: IdArray | None = None  # (·,2) pairs without an interaction in the tables
    lennard_jones: LennardJones | None = None
    restraints: list[Restraint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    periodic: set[bool] = field(default_factory=set)  # whether each force between pairs is periodic


def value(quantity: Any) -> float:
    """Returns a plain number in nm, kJ/mol, radian, amu and e (OpenMM's own units)."""
    return float(getattr(quantity, "_value", quantity))
