"""GPAW's eigensolvers of finite-difference wave functions on a fixed potential, without atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

#: By their names in GPAW's parameter `eigensolver`.
SOLVERS = {"dav": "davidson.Davidson", "rmm-diis": "rmmdiis.RMMDIIS", "ppcg": "ppcg.PPCG"}
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Found:
    """The lowest energies, hartree."""

    eigenvalues: np.ndarray
    iterations: int
    is_converged: bool


def solver(
    name: str, shape: tuple[int, int, int], edge: float, periodic: bool, order: int
) -> Callable[[np.ndarray, np.ndarray, int, float], Found]:
    """Returns what finds the `n` lowest energies from (potential, guess, n, tolerance): until the root of the mean
    square of the norms of n residuals is at most the tolerance.

    The guess has as many fields as waves are to be iterated. GPAW's objects are made here and are not timed: the
    Hamiltonian −½∇² + V with its stencil, its preconditioner, its solver; wave functions have no projectors.
    """
    from importlib import import_module

    from gpaw.core import UGDesc
    from gpaw.core.atom_arrays import AtomArraysLayout, AtomDistribution
    from gpaw.mpi import serial_comm
    from gpaw.new.fd.hamiltonian import FDHamiltonian
    from gpaw.new.pwfd.wave_functions import PWFDWaveFunctions
    from gpaw.setup import Setups

    module, kind = SOLVERS[name].split(".")
    sizes = [n if periodic else n + 1 for n in shape]
    grid = UGDesc(cell=[edge] * 3, size=sizes, pbc=[periodic] * 3, zerobc=[not periodic] * 3)
    hamiltonian = FDHamiltonian(grid, kin_stencil=order // 2)
    setups = Setups([], {}, {}, None, world=serial_comm)
    atoms = AtomDistribution([], serial_comm)
    overlaps = AtomArraysLayout([], atomdist=atoms).empty()
    no_atoms = SimpleNamespace(deltaH=lambda projections, out_ani=None, spin=0: out_ani)

    def solve(potential: np.ndarray, guess: np.ndarray, n: int, tolerance: float) -> Found:
        waves = grid.empty(len(guess))
        waves.data[:] = guess
        states = PWFDWaveFunctions(
            waves, spin=0, q=0, k=0, setups=setups, relpos_ac=np.zeros((0, 3)), atomdist=atoms,
            domain_band_comm=serial_comm,
        )  # fmt: skip
        local = grid.empty()
        local.data[:] = potential

        def apply(psit: Any, out: Any, **_: Any) -> Any:
            hamiltonian.apply_local_potential(local, psit, out)
            return out

        its = getattr(import_module(f"gpaw.new.pwfd.{module}"), kind)(
            nbands=len(guess), wf_grid=grid, band_comm=serial_comm, domain_band_comm=serial_comm,
            hamiltonian=hamiltonian, convergence={},
        )  # fmt: skip
        its._initialize(Everything([states], len(guess), grid))
        counted = (np.arange(len(guess)) < n).astype(float)
        states.orthonormalize()
        iteration, is_converged = 0, False
        while not is_converged and iteration < MAX_ITERATIONS:
            iteration += 1
            # What is returned is the sum of the squares of residuals before the last step.
            is_converged = its.iterate1(states, apply, no_atoms, overlaps, counted) <= n * tolerance**2
        states.orthonormalize()
        states.subspace_diagonalize(apply, no_atoms.deltaH, psit2_nX=waves.new())
        return Found(states.eig_n[:n].copy(), iteration, is_converged)

    return solve


class Everything:
    """What GPAW's solvers ask of all wave functions when they get their memory."""

    def __init__(self, states: list[Any], bands: int, grid: Any) -> None:
        from gpaw.mpi import serial_comm

        self._wfs_u, self.nbands, self.dtype, self.xp = states, bands, float, np
        self.domain_comm = self.band_comm = serial_comm
        self.shape = tuple(grid.myshape)

    def __iter__(self) -> Any:
        return iter([SimpleNamespace(n1=0, n2=self.nbands)])

    def get_max_shape(self) -> tuple[int, ...]:
        return self.shape
