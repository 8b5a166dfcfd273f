"""The linear solves of GPAW's Poisson solvers.

GPAW's classes keep what they do around them: charges, backgrounds, moments, corrections for dipoles, logs. Each calls
its `solve_neutral` for a potential φ of a density ρ with ∇²φ = −4πρ, which is replaced here:

    FastPoissonSolver   method `fft`; beyond isolated edges its Laplacian sees odd mirror images, as GPAW's does
    FDPoissonSolver     method `multigrid`, until GPAW's measure of the residual is at most the solver's `eps`
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError, RunError
from tessera.gpaw import domains

Field = NDArray[np.float64]
Say = Callable[[str], None]

GREATEST_ORDER = 12
#: A direct solution is checked for periodic grids only, on which rounding is far less than this.
DIRECT_TOLERANCE = 1e-6
#: Tighter ones are beyond rounding, and looser ones would leave the guess.
TOLERANCES = (1e-15, 0.1)


class _Solver:
    """Tessera's solver for one of GPAW's and the grid that it has now. Making it is collective.

    Raises InputError on all ranks for a grid that can't be.
    """

    def __init__(self, theirs: Any, is_fast: bool) -> None:
        gd = theirs.gd
        self.grid, self.made_for = gd, _settings(theirs)
        address = gd.comm.get_c_object() if gd.comm.size > 1 else None
        self.module, ranks = domains.ranks_at(address)
        (layout,) = domains.gathered_layout(self.module, ranks, [np.array(gd.n_c)], np.array(gd.neighbor_cd))
        self._native = self.module.Poisson(
            ranks,
            layout,
            steps=np.abs(gd.h_cv.diagonal()).tolist(),
            method="fft" if is_fast else "multigrid",
            order=2 * theirs.nn,
            max_iterations=1 if is_fast else theirs.maxiter,
            has_images=is_fast,
        )

    def is_for(self, theirs: Any) -> bool:
        return self.grid is theirs.gd and self.made_for == _settings(theirs)

    def solve(self, phi: Field, rho: Field, has_guess: bool, tolerance: float) -> int:
        """Overwrites `phi` and returns the number of iterations. Raises InputError or RunError on all ranks."""
        density = np.ascontiguousarray(rho)
        if np.may_share_memory(density, phi):
            density = density.copy()
        out = phi if phi.flags.c_contiguous else np.ascontiguousarray(phi)
        try:
            return int(self._native.solve(density, out, has_guess, tolerance))
        finally:
            if out is not phi:
                phi[:] = out


#: Tessera's solvers by GPAW's.
_solvers: WeakKeyDictionary[Any, _Solver] = WeakKeyDictionary()


def forget() -> None:
    """Drops all solvers."""
    _solvers.clear()


def fast_or(own: Callable[..., int], say: Say) -> Callable[..., int]:
    """Returns a method in the place of `FastPoissonSolver.solve_neutral`. `own` is GPAW's, for what is not done here,
    of which `say` is told."""

    def solve_neutral(self: Any, phi_g: Field, rho_g: Field, timer: Any = None) -> int:
        solver = _solver_for(self, True, phi_g, rho_g, say)
        if solver is None:
            return own(self, phi_g, rho_g, timer=timer)
        with timer("Tessera") if timer else nullcontext():
            return _solved(solver, phi_g, rho_g, False, DIRECT_TOLERANCE)

    return solve_neutral


def multigrid_or(own: Callable[..., int], say: Say) -> Callable[..., int]:
    """Returns a method in the place of `FDPoissonSolver.solve_neutral`, as `fast_or` does."""

    def solve_neutral(self: Any, phi: Field, rho: Field, timer: Any = None) -> int:
        solver = _solver_for(self, False, phi, rho, say)
        if solver is None:
            return own(self, phi, rho, timer=timer)
        # GPAW's measure is ∫(∇²φ/4π + ρ)² ≤ eps, which holds where the integrand is at most eps over the volume.
        gd = self.gd
        volume = gd.dv * float(np.prod(gd.get_size_of_global_array()))
        largest = gd.comm.max_scalar(float(np.abs(rho).max(initial=0)))
        tolerance = np.sqrt(self.eps / volume)
        # As GPAW, a solution improves even a guess that is good enough, so that self-consistent potentials get better
        # than `eps`, on which the accuracy of GPAW's energies rests.
        of_guess = gd.comm.max_scalar(float(np.abs(_residual_of(self, phi, rho)).max(initial=0)))
        if of_guess < 2 * tolerance:
            tolerance = of_guess / 2
        tolerance = tolerance / largest if largest > 0 else 1.0
        with timer("Tessera") if timer else nullcontext():
            try:
                return _solved(solver, phi, rho, True, float(np.clip(tolerance, *TOLERANCES)))
            except _convergence_error():
                # Ours is the stricter measure, which rounding may prevent.
                if not _error_of(self, phi, rho) <= self.eps:
                    raise
        if gd.pbc_c.all():
            phi -= gd.comm.sum_scalar(float(phi.sum())) / np.prod(gd.get_size_of_global_array())
        return int(self.maxiter)

    return solve_neutral


def described_or(own: Callable[..., str]) -> Callable[..., str]:
    """Returns a method in the place of a solver's `get_description`, by which GPAW's log tells who solves."""

    def get_description(self: Any) -> str:
        text = own(self)
        return text if _reason_against(self) else text.rstrip("\n") + "\n    Solved by Tessera"

    return get_description


def _settings(theirs: Any) -> tuple[Any, ...]:
    return theirs.nn, getattr(theirs, "maxiter", None)


def _reason_against(theirs: Any) -> str:
    """Returns which solvers, of which this is one, are left to GPAW; empty if it is not."""
    name = type(theirs).__name__
    if type(theirs).__module__ != "gpaw.poisson":
        return f"Poisson solvers of the class {name}"
    if theirs.xp is not np:
        return "Poisson solvers on a GPU"
    if theirs.gd is not None and not theirs.gd.orthogonal:
        return "Poisson solvers of oblique cells"
    if theirs.nn == "M":
        return "Poisson solvers with Mehrstellen stencils"
    if not (isinstance(theirs.nn, int) and 1 <= theirs.nn <= GREATEST_ORDER // 2):
        return f"Poisson solvers with nn={theirs.nn}"
    return ""


def _solver_for(theirs: Any, is_fast: bool, phi: Any, rho: Any, say: Say) -> _Solver | None:
    """Returns Tessera's solver, or none where GPAW's is to be used. Collective."""
    reason = _reason_against(theirs)
    if not reason and not (phi.dtype == rho.dtype == np.float64):
        reason = "Poisson solvers of densities that are not real numbers of 64 bits"
    if reason:
        say(reason)
        return None
    found = _solvers.get(theirs)
    if found is None or not found.is_for(theirs):
        found = _solvers[theirs] = _Solver(theirs, is_fast)
    return found


def _residual_of(theirs: Any, phi: Field, rho: Field) -> Field:
    residual = np.empty(rho.shape)
    theirs.operators[0].apply(np.ascontiguousarray(phi), residual)
    residual -= rho
    return residual


def _error_of(theirs: Any, phi: Field, rho: Field) -> float:
    """Returns GPAW's measure of a potential's residual."""
    residual = _residual_of(theirs, phi, rho)
    return float(theirs.gd.comm.sum_scalar(float(np.vdot(residual, residual))) * theirs.gd.dv)


def _convergence_error() -> type[Exception]:
    from gpaw import PoissonConvergenceError

    return PoissonConvergenceError  # type: ignore[no-any-return]


def _solved(solver: _Solver, phi: Field, rho: Field, has_guess: bool, tolerance: float) -> int:
    try:
        return max(1, solver.solve(phi, rho, has_guess, tolerance))
    except (InputError, RunError) as error:
        raise _convergence_error()(str(error)) from None
