"""Water without constraints that integrators in NumPy move, independently of the engine, by the forces that it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tessera
from tessera import system as systems

ACCELERATION = 418.4  # (kcal/mol/Å)/amu in Å/ps²

Array = NDArray[np.float64]


class Flexible:
    """Water without constraints, whose forces Tessera computes and an integrator in NumPy moves."""

    def __init__(self, path: Path, **dynamics: Any) -> None:
        settings: dict[str, Any] = {
            "interactions": {"cutoff": 9.0, "switch": 8.0},
            "parallel": {"precision": "double"},
            "output": {"energy_every": 0},
            "dynamics": {
                "constraints": "none",
                "com_removal_every": 0,
                "timestep": 0.5,
                "coupling_every": 1,
                **dynamics,
            },
        }
        self.simulation = tessera.Simulation(path, settings)
        groups = {key: dynamics[key] for key in ("direct_every", "mesh_every") if key in dynamics}
        plain = {**settings, "dynamics": {"constraints": "none", "seed": 1, **groups}, "output": {"energy_every": 0}}
        self._of_forces = tessera.Simulation(path, plain)
        self.mass = systems.read(path).atom_field("mass")[:, None]
        self.x, self.v = self.simulation.positions, self.simulation.velocities
        self.dt = 0.0005  # ps

    def acceleration(self) -> Array:
        self._of_forces.positions = self.x
        return ACCELERATION * self._of_forces.forces / self.mass

    def acceleration_and_virial(self, edges: Array) -> tuple[Array, Array]:
        """Returns the accelerations and the diagonal of the virial (kcal/mol) in a box of these edges."""
        self._of_forces.box = np.diag(edges)
        acceleration = self.acceleration()
        return acceleration, np.array(self._of_forces.energies.virial)[:3]

    def accelerations_of(self, *sources: str) -> list[Array]:
        """Returns those of the sources of forces alone, which need groups of their own."""
        self._of_forces.positions = self.x
        return [ACCELERATION * self._of_forces.forces_of(source) / self.mass for source in sources]

    def kinetic(self) -> float:
        return float(0.5 * (self.mass * self.v**2).sum()) / ACCELERATION

    def error(self) -> float:
        """Returns the greatest distance from where the engine has the atoms, Å."""
        away = (self.simulation.positions - self.x) / np.diag(self.simulation.box)
        return float(np.abs((away - np.rint(away)) * np.diag(self.simulation.box)).max())
