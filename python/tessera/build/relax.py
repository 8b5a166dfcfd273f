"""Closes sugars and phosphates between bases: moves them until the force field's bonds, angles, torsions and contacts
are met.

Rigid nucleotides leave gaps of up to 4.4 Å between O3' and P where steps are not those of straight B-DNA. The engine
minimises the energy without charges, since those of phosphates have no water here that shields them, and with
stiffer bonds and angles: these decide what is left where bases allow no way without strain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.launch import usable_cores
from tessera.prepare.numbering import selection_of
from tessera.system import System
from tessera.system.model import BOND_KINDS, FloatArray, IdArray

_STIFFER = {"bond": 8.0, "angle": 24.0}  # factors of force constants: half of these leave 6° in 1KX5's sharpest bends
_CUTOFF = 6.0  # Å: contacts are nearer
_FORCE, _MOVES = 6.0, 5000  # kcal/mol/Å, with the stiffer terms: a third of it is reached later, with the same strain
_ATOMS_A_THREAD = 20_000  # with fewer, threads wait for each other
WITHIN_BONDS, WITHIN_ANGLES = 3.0, 6.0  # %, degrees: what is expected of built atoms
_WORST_BONDS, _WORST_ANGLES = 10.0, 25.0  # where a minimisation of the whole system would not mend it


def relaxed(system: System, is_fixed: NDArray[np.bool_], moves: int = _MOVES) -> FloatArray:
    """Returns where the atoms are (n,3) Å at the least energy of bonded terms and contacts, without charges, or after
    so many moves."""
    from tessera.simulation import Simulation

    field = system.force_field
    tables = {
        kind: table * [_STIFFER.get(kind, 1.0), *[1.0] * (table.shape[1] - 1)] for kind, table in field.tables.items()
    }
    neutral = [replace(template, charge=np.zeros_like(template.charge)) for template in system.templates]
    dynamics: dict[str, Any] = {"constraints": "none", "velocities": "zero"}
    if is_fixed.any():
        dynamics["fixed"] = selection_of(np.flatnonzero(is_fixed))
    settings = {"interactions": {"electrostatics": "cut", "cutoff": _CUTOFF}, "dynamics": dynamics}
    threads = min(usable_cores(), 1 + system.n_atoms // _ATOMS_A_THREAD)
    changed = replace(system, force_field=replace(field, tables=tables), templates=neutral)
    simulation = Simulation(changed, settings, threads=threads)
    simulation.minimize(_FORCE, moves)
    return np.asarray(simulation.positions)


@dataclass(frozen=True)
class Strain:
    """The greatest deviations from equilibrium, and the rows of the atoms that have them."""

    bond: float  # %
    bond_atoms: IdArray
    angle: float  # degrees
    angle_atoms: IdArray


def strain_of(system: System, position: FloatArray, is_judged: NDArray[np.bool_] | None = None) -> Strain:
    """Compares bonds and angles of atoms at these places (n,3) Å with the force field's equilibrium: all of them, or
    those with an atom that is judged (n,)."""
    bonds, stretch = _stretches(system, position, is_judged)
    angles, bend = _bends(system, position, is_judged)
    bond, angle = int(stretch.argmax()), int(bend.argmax())
    return Strain(float(stretch[bond]), bonds[bond], float(bend[angle]), angles[angle])


def strained(system: System, position: FloatArray, is_judged: NDArray[np.bool_]) -> IdArray:
    """Returns the rows of atoms of bonds and angles that are beyond what is expected of built atoms."""
    bonds, stretch = _stretches(system, position, is_judged)
    angles, bend = _bends(system, position, is_judged)
    return np.union1d(bonds[stretch > WITHIN_BONDS], angles[bend > WITHIN_ANGLES])


def _stretches(system: System, position: FloatArray, is_judged: NDArray[np.bool_] | None) -> tuple[IdArray, FloatArray]:
    """Returns the atoms of bonds, and how far these are from equilibrium, %."""
    bonds, row = _judged(system, "bond", is_judged)
    length = np.linalg.norm(position[bonds[:, 0]] - position[bonds[:, 1]], axis=1)
    return bonds, 100 * np.abs(length / system.force_field.table("bond")[row, 1] - 1)


def _bends(system: System, position: FloatArray, is_judged: NDArray[np.bool_] | None) -> tuple[IdArray, FloatArray]:
    """Returns the atoms of angles, and how far these are from equilibrium, degrees."""
    angles, row = _judged(system, "angle", is_judged)
    one, other = (position[angles[:, end]] - position[angles[:, 1]] for end in (0, 2))
    sine = np.linalg.norm(np.cross(one, other), axis=1)
    angle = np.arctan2(sine, (one * other).sum(axis=1))
    return angles, np.degrees(np.abs(angle - system.force_field.table("angle")[row, 1]))


def _judged(system: System, kind: str, is_judged: NDArray[np.bool_] | None) -> tuple[IdArray, IdArray]:
    """Returns the atoms of terms of a kind and the rows of their parameters."""
    atoms, row = system.expand(kind)
    kept = slice(None) if is_judged is None else is_judged[atoms].any(axis=1)
    return atoms[kept], row[kept]


def inverted(system: System, before: FloatArray, after: FloatArray) -> IdArray:
    """Returns the rows of atoms with four neighbours whose handedness differs between two sets of places (n,3) Å.

    The three neighbours that are compared are those of the atom's own residue, which have their places from templates.
    """
    found = []
    of_instance, first = system.instances()
    for index, template in enumerate(system.templates):
        bonds = np.concatenate([template.term(kind).atoms for kind in BOND_KINDS])
        both = np.concatenate([bonds, bonds[:, ::-1]])
        degree = np.bincount(both[:, 0], minlength=template.n_atoms)
        inside = both[template.residue[both[:, 0]] == template.residue[both[:, 1]]]
        inside = inside[np.argsort(inside[:, 0], kind="stable")]
        count = np.bincount(inside[:, 0], minlength=template.n_atoms)
        atom = np.flatnonzero((degree == 4) & (count >= 3))
        three = inside[(np.cumsum(count) - count)[atom][:, None] + np.arange(3), 1]
        rows = first[of_instance == index][:, None, None] + np.column_stack([atom, three])
        one, other = (np.linalg.det(places[rows[..., 1:]] - places[rows[..., :1]]) for places in (before, after))
        found.append(rows[one * other < 0][:, 0])
    return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))


@dataclass(frozen=True)
class Fault:
    """What a minimisation of the whole system would not mend: the rows of atoms, what they make up, and what is wrong
    with it."""

    atoms: IdArray
    what: str
    wrong: str

    def text(self, name: Callable[[int], str], hint: str) -> str:
        """Returns a message by the names of atoms, with a hint."""
        names = (", " if len(self.atoms) > 2 else " and ").join(name(int(atom)) for atom in self.atoms)
        return f"{self.what}{names} {self.wrong}: {hint}"


def fault_of(
    system: System, before: FloatArray, after: FloatArray, is_judged: NDArray[np.bool_] | None = None
) -> tuple[Fault | None, Strain]:
    """Returns what can't be closed, if anything: an atom that is inside out, or bonds or angles that are far from
    equilibrium, of all or of those with an atom that is judged (n,); and the strain."""
    strain = strain_of(system, after, is_judged)
    inside_out = inverted(system, before, after)[:1]
    if len(inside_out):
        return Fault(inside_out, "", "came out inside out"), strain
    if strain.bond > _WORST_BONDS:
        return Fault(strain.bond_atoms, "the bond of ", f"is {strain.bond:.0f} % off its length"), strain
    if strain.angle > _WORST_ANGLES:
        return Fault(strain.angle_atoms, "the angle of ", f"is {strain.angle:.0f}° off"), strain
    return None, strain


def check_closed(
    system: System,
    before: FloatArray,
    after: FloatArray,
    name: Callable[[int], str],
    hint: str,
    is_judged: NDArray[np.bool_] | None = None,
) -> list[str]:
    """Returns notes on what is strained, by the names of atoms, of all bonds and angles or of those with an atom that
    is judged (n,). Raises `InputError` with a hint that names what can't be closed."""
    fault, strain = fault_of(system, before, after, is_judged)
    if fault is not None:
        raise InputError(fault.text(name, hint))
    notes = [f"bonds are within {strain.bond:.1f} % and angles within {strain.angle:.1f}° of equilibrium"]
    if strain.bond > WITHIN_BONDS or strain.angle > WITHIN_ANGLES:
        atoms = strain.bond_atoms if strain.bond > WITHIN_BONDS else strain.angle_atoms
        notes.append(f"most strained: {', '.join(name(int(atom)) for atom in atoms)}; `tessera minimize` lowers it")
    return notes
