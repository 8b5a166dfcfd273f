"""Energies, forces and stress of Tessera's force fields for [ASE](https://wiki.fysik.dtu.dk/ase), which is optional.

    atoms.calc = TesseraCalculator("dhfr.tsr", {"interactions": {"cutoff": 9.0}})
    atoms.get_potential_energy()      # eV

Atoms stand in the order of the system's ids. The box is the system's; nothing is constrained, and arithmetic is in
double precision unless the settings say otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from ase import Atoms, units
from ase.calculators.calculator import Calculator, all_changes

from tessera.errors import InputError
from tessera.simulation import Simulation

if TYPE_CHECKING:
    from tessera.system import System

__all__ = ["TesseraCalculator", "make_atoms"]

KCAL = units.kcal / units.mol  # eV
VOIGT = [0, 1, 2, 5, 4, 3]  # of xx yy zz xy xz yz


def make_atoms(system: System) -> Atoms:
    """The atoms of a system, with its box."""
    return Atoms(
        numbers=system.atom_field("atomic_number"),
        masses=system.atom_field("mass"),
        positions=system.positions(),
        cell=system.box,
        pbc=system.periodic,
    )


class TesseraCalculator(Calculator):  # type: ignore[misc]
    """An ASE calculator; arguments as those of `tessera.Simulation`, whose `simulation` it holds."""

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]

    def __init__(
        self, system: str | os.PathLike[str] | System, settings: Mapping[str, Mapping[str, Any]] | None = None,
        comm: Any = None, threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        sections = {name: dict(keys) for name, keys in (settings or {}).items()}
        sections.setdefault("dynamics", {}).setdefault("constraints", "none")
        sections["dynamics"].setdefault("velocities", "zero")
        sections.setdefault("parallel", {}).setdefault("precision", "double")
        self.simulation = Simulation(system, sections, comm, threads)

    def calculate(
        self, atoms: Any = None, properties: list[str] | None = None, system_changes: list[str] = all_changes
    ) -> None:
        super().calculate(atoms, properties or ["energy"], system_changes)
        simulation, atoms = self.simulation, self.atoms
        if len(atoms) != simulation.n_atoms:
            raise InputError(f"{len(atoms)} atoms, expected the {simulation.n_atoms} of the system")
        if atoms.pbc.any() and np.abs(atoms.cell.array - simulation.box).max() > 1e-6:
            raise InputError(
                f"the cell is {atoms.cell.array.tolist()}, expected the system's {simulation.box.tolist()}"
            )
        simulation.positions = atoms.positions
        moved = np.linalg.solve(simulation.box.T, (simulation.positions - atoms.positions).T)
        if np.abs(moved - np.rint(moved)).max() > 1e-6:
            raise InputError("the system's distances are constrained, so its atoms can't stand anywhere")
        energies = simulation.energies
        self.results = {
            "energy": energies["potential"] * KCAL,
            "free_energy": energies["potential"] * KCAL,
            "forces": simulation.forces * KCAL,
        }
        if atoms.pbc.all():
            virial = np.array(energies.virial)[VOIGT]
            self.results["stress"] = -virial * KCAL / abs(np.linalg.det(simulation.box))
