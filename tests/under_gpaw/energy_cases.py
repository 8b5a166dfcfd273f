"""Total energies of small systems by GPAW alone and by GPAW with Tessera enabled, on the ranks of this job.

python energy_cases.py NAME…    prints, as JSON, {name: [energy without, energy with]} in eV
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from ase import Atoms
from ase.build import bulk, hcp0001, molecule
from gpaw import GPAW
from gpaw.mpi import world

import tessera.gpaw

MULTIGRID = {"name": "fd", "relax": "GS", "eps": 1e-14}


def water() -> tuple[Atoms, dict[str, Any]]:
    atoms = molecule("H2O", vacuum=2.2)
    return atoms, {"gpts": (16, 24, 24), "poissonsolver": MULTIGRID}


def water_by_default_multigrid() -> tuple[Atoms, dict[str, Any]]:
    """GPAW's energies are far better than its default `eps`, because each step improves the last one's potential."""
    atoms, settings = water()
    return atoms, {**settings, "poissonsolver": {"name": "fd"}}


def silicon() -> tuple[Atoms, dict[str, Any]]:
    atoms = bulk("Si", cubic=True, a=5.43)
    atoms.positions[0] += 0.05
    return atoms, {"gpts": (12, 12, 12), "kpts": {"size": (2, 2, 1), "gamma": False}, "symmetry": "off"}


def silicon_by_k_points() -> tuple[Atoms, dict[str, Any]]:
    """Ranks share k-points first, so that each grid is on half of them, or on one."""
    atoms, settings = silicon()
    return atoms, {**settings, "parallel": {"kpt": min(2, world.size)}}


def magnesium() -> tuple[Atoms, dict[str, Any]]:
    """A slab: oblique cell, periodic along two edges."""
    atoms = hcp0001("Mg", (1, 1, 2), a=3.21, c=5.21, vacuum=3.5)
    return atoms, {"gpts": (12, 12, 40), "kpts": (3, 3, 1), "setups": {"Mg": "2"}}


def oxygen() -> tuple[Atoms, dict[str, Any]]:
    atoms = molecule("O2", vacuum=2.2)
    return atoms, {"gpts": (24, 24, 32), "hund": False, "occupations": {"name": "fermi-dirac", "width": 0.05},
                   "poissonsolver": {**MULTIGRID, "relax": "J"}}  # fmt: skip


def hydroxide() -> tuple[Atoms, dict[str, Any]]:
    """A charged molecule in an isolated cell."""
    atoms = molecule("OH", vacuum=2.6)
    return atoms, {"gpts": (24, 24, 24), "charge": -1}


def lithium_with_a_dipole() -> tuple[Atoms, dict[str, Any]]:
    """A slab with an atom on one side, in an orthogonal cell with a dipole layer."""
    atoms = Atoms("LiH", [[0, 0, 3.5], [0, 0, 5.1]], cell=[3.2, 3.2, 9.6], pbc=(True, True, False))
    return atoms, {"gpts": (16, 16, 48), "kpts": (2, 2, 1), "poissonsolver": {"dipolelayer": "xy"}}


CASES: dict[str, Callable[[], tuple[Atoms, dict[str, Any]]]] = {
    "water": water,
    "water by default multigrid": water_by_default_multigrid,
    "silicon": silicon,
    "silicon by k-points": silicon_by_k_points,
    "magnesium": magnesium,
    "oxygen": oxygen,
    "hydroxide": hydroxide,
    "lithium with a dipole": lithium_with_a_dipole,
}


def energy(name: str) -> float:
    atoms, settings = CASES[name]()
    atoms.calc = GPAW(
        **{"mode": "fd", "xc": "PBE", "txt": None, "parallel": {"domain": world.size}, "maxiter": 200,
           "convergence": {"energy": 1e-9, "density": 1e-9, "eigenstates": 1e-12}, **settings}
    )  # fmt: skip
    return float(atoms.get_potential_energy(force_consistent=True))


def main() -> None:
    found = {}
    for name in sys.argv[1:] or CASES:
        if name == "silicon by k-points" and world.size == 1:
            continue
        begin = time.perf_counter()
        without = energy(name)
        middle = time.perf_counter()
        with tessera.gpaw.enabled():
            found[name] = [without, energy(name)]
        if world.rank == 0:
            print(f"{name}: {middle - begin:.1f} s, {time.perf_counter() - middle:.1f} s", file=sys.stderr)
    if world.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
