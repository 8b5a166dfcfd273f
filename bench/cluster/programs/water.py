"""Computes the energy of a water molecule with GPAW, on the ranks of this job, which share a grid. Rank 0 prints it."""

from __future__ import annotations

from ase.build import molecule
from gpaw import GPAW
from gpaw.mpi import world


def main() -> None:
    atoms = molecule("H2O", vacuum=2.5)
    atoms.calc = GPAW(
        mode="fd",
        gpts=(32, 32, 32),
        xc="LDA",
        txt=None,
        parallel={"domain": world.size},
        convergence={"energy": 1e-5, "density": 1e-4, "eigenstates": 1e-6},
    )
    energy = atoms.get_potential_energy()
    if world.rank == 0:
        print(f"energy {energy:.9f} eV")


if __name__ == "__main__":
    main()
