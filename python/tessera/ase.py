"""Energies, forces and stress of Tessera's force fields for [ASE](https://wiki.fysik.dtu.dk/ase), which is optional.

    atoms.calc = TesseraCalculator("dhfr.tsr", {"interactions": {"cutoff": 9.0}})
    atoms.get_potential_energy()      # eV

Atoms stand in the order of the system's ids. The box follows the cell, which may have any shape, so that ASE's filters
relax it. Nothing is constrained, and arithmetic is in double precision unless the settings say otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from ase import Atoms, units
from ase.calculators.calculator import Calculator, all_changes
from ase.stress import full_3x3_to_voigt_6_stress

from tessera.errors import InputError
from tessera.settings import Settings, sections_of
from tessera.simulation import Simulation
from tessera.system import read
from tessera.system.box import placed

if TYPE_CHECKING:
    from tessera.system import System
    from tessera.system.model import FloatArray

__all__ = ["TesseraCalculator", "make_atoms"]

KCAL = units.kcal / units.mol  # eV


def make_atoms(system: str | os.PathLike[str] | System) -> Atoms:
    """Returns the atoms of a system, or of the system in a file, with its box."""
    if isinstance(system, str | os.PathLike):
        system = read(Path(system))
    return Atoms(
        numbers=system.atom_field("atomic_number"),
        masses=system.atom_field("mass"),
        positions=system.positions(),
        cell=system.box if system.periodic else None,
        pbc=system.periodic,
    )


class TesseraCalculator(Calculator):  # type: ignore[misc]
    """An ASE calculator; arguments as those of `tessera.Simulation`, whose `simulation` it holds."""

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]  # as ASE calls them

    def __init__(
        self, system: str | os.PathLike[str] | System, settings: Settings | str | os.PathLike[str] | None = None,
        comm: Any = None, threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        sections: dict[str, Any] = {
            name: dict(keys) if isinstance(keys, Mapping) else keys for name, keys in sections_of(settings).items()
        }
        sections.setdefault("dynamics", {}).setdefault("constraints", "none")
        sections["dynamics"].setdefault("velocities", "zero")
        sections.setdefault("parallel", {}).setdefault("precision", "double")
        self.simulation = Simulation(system, sections, comm, threads)  # whose positions and box follow ASE's atoms

    def calculate(
        self, atoms: Any = None, properties: list[str] | None = None, system_changes: list[str] = all_changes
    ) -> None:
        """Computes energy (eV), forces (n, 3) eV/Å and stress (6,) eV/Å³ of `atoms`, as ASE asks a calculator to.
        Raises `InputError` for other atoms than those of the system, and for a cell that it can't have."""
        super().calculate(atoms, properties or ["energy"], system_changes)
        simulation, atoms = self.simulation, self.atoms
        if len(atoms) != simulation.n_atoms:
            raise InputError(f"{len(atoms)} atoms, expected the {simulation.n_atoms} of the system")
        rotation = self._follow_cell() if atoms.pbc.any() else np.eye(3)
        positions = atoms.positions @ rotation
        simulation.positions = positions
        moved = np.linalg.solve(simulation.box.T, (simulation.positions - positions).T)
        if np.abs(moved - np.rint(moved)).max() > 1e-6:
            raise InputError("the system's distances are constrained, so its atoms can't stand anywhere")
        energies = simulation.energies
        self.results = {
            "energy": energies["potential"] * KCAL,
            "free_energy": energies["potential"] * KCAL,
            "forces": simulation.forces @ rotation.T * KCAL,
        }
        if atoms.pbc.all():
            xx, yy, zz, xy, xz, yz = energies.virial
            virial = rotation @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ rotation.T
            self.results["stress"] = -full_3x3_to_voigt_6_stress(virial) * KCAL / np.linalg.det(simulation.box)

    def _follow_cell(self) -> FloatArray:
        """Gives the simulation the cell as its box. Returns the rotation from ASE's frame to that of the box, whose
        first vector is along x."""
        try:
            found = placed(self.atoms.cell.array)
        except ValueError as error:
            raise InputError(f"the cell can't be a box: {error}") from None
        if not np.array_equal(found.box, self.simulation.box):
            self.simulation.box = found.box
        return np.eye(3) if found.rotation is None else found.rotation
