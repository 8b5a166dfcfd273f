"""Grids on ranks, and operators on their fields."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tessera import flavours
from tessera.arguments import (
    NO_NUMBERS,
    Settled,
    aligned_empty,
    checked_number,
    checked_out,
    checked_path,
    checked_shape,
    fitting,
    real_values,
    slices,
)
from tessera.errors import InputError
from tessera.grid.eigen import Eigenstates, eigenstates
from tessera.grid.errors import GridError
from tessera.grid.poisson import Poisson
from tessera.grid.stencil import Stencil

#: Fields and the numbers that they are made of.
REAL_OF = {"float32": "float32", "complex64": "float32", "float64": "float64", "complex128": "float64"}


@flavours.refusing(GridError)
def poisson_methods() -> list[str]:
    """Returns the names of the methods of `Grid.poisson`."""
    return list(flavours.load("grid", "serial").poisson_methods())


@flavours.refusing(GridError)
def approaches() -> list[str]:
    """Returns the names of the ways to bring halos from other ranks."""
    return list(flavours.load("grid", "serial").approaches())


class Grid(Settled):
    """A uniform grid on one communicator. The constructor is collective.

    `shape`: points along its three edges. `cell`: the lengths of the edges, or the edges as rows (3, 3), in any unit of
    length; None: points are 1 apart. Points are cell/shape apart where an edge is periodic, and cell/(shape + 1) where
    it is not, as the points on both faces, which are zero, are left out. `periodic`: for all edges or each. `comm`: an
    mpi4py communicator; None: this process alone. `processes`: ranks along each edge; None: those of least surface.
    `machine`: the map from `tessera machine measure`, by which the places of ranks and the size of batches are chosen;
    None: the map that TESSERA_MACHINE names, or none. `threads`: the number of threads of this rank. Raises GridError.

    `slices` are this rank's points of the whole, `local_shape` is their shape.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        *,
        cell: ArrayLike | None = None,
        periodic: bool | Sequence[bool] = True,
        comm: Any = None,
        processes: tuple[int, int, int] | None = None,
        machine: str | os.PathLike[str] | None = None,
        threads: int = 1,
    ) -> None:
        complaint, settings = "", None
        try:
            shape = checked_shape(shape)
            edges = _checked_edges(periodic)
            steps = _steps(cell, shape, edges)
            processes = None if processes is None else checked_shape(processes, "processes")
            threads = checked_number("threads", threads)
            machine = checked_path(machine)
            settings = (shape, edges, steps.tolist(), processes)
        except InputError as error:
            complaint = str(error)
        if comm is not None:
            if not flavours.is_communicator(comm):
                raise GridError(f"comm is {comm!r}; expected an mpi4py communicator of one group, or None")
            all_ranks = comm.allgather((complaint, settings))
            complaint = next((other for other, _ in all_ranks if other), "")
            differs = next((rank for rank, (_, one) in enumerate(all_ranks) if one != all_ranks[0][1]), None)
            if not complaint and differs is not None:
                complaint = f"ranks 0 and {differs} ask for different grids: {all_ranks[0][1]}, {all_ranks[differs][1]}"
        if complaint:
            raise GridError(complaint)
        self.shape = shape  # points along each edge
        self.periodic = edges  # whether it repeats along each edge
        self.steps = steps  # (3,3) from a point to the next along each edge
        self.comm = comm  # an mpi4py communicator; None: this process alone
        self.threads = threads  # of each rank
        with flavours.refusing(GridError):
            self._module = flavours.module_of("grid", comm)
        try:
            self._native = self._module.Grid(
                shape,
                is_periodic=edges,
                processes=processes,
                machine_file=machine,
                fortran_handle=flavours.handle_of(self._module, comm),
                threads=threads,
            )
        except InputError as error:
            raise GridError(str(error)) from None
        self.processes: tuple[int, int, int] = tuple(self._native.processes)  # ranks along each edge
        self.slices = slices(self._native.bounds)  # this rank's points, along each edge
        self.local_shape = tuple(part.stop - part.start for part in self.slices)  # this rank's points along each edge
        self._settle()

    def empty(self, fields: int | None = None, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Returns an array without values for this rank's points of a field (nx, ny, nz) or of fields (B, nx, ny, nz).

        It begins at a cache line, which other arrays of NumPy need not do: stencils are about a third faster on it.
        """
        leading = () if fields is None else (checked_number("fields", fields),)
        return aligned_empty((*leading, *self.local_shape), _checked_dtype(dtype))

    def laplacian(self, order: int = 4) -> Stencil:
        """Returns ∇² with errors of an even order from 2 to 12 in the distance of points."""
        return self._made(self._module.laplacian, order)

    def gradient(self, axis: int, order: int = 4) -> Stencil:
        """Returns the derivative along the Cartesian axis 0, 1 or 2. Raises GridError for another axis."""
        if axis not in (0, 1, 2):
            raise GridError(f"axis is {axis!r}; expected 0, 1 or 2")
        return self._made(self._module.gradient, order, axis)

    def operator(
        self,
        stencil: Stencil,
        *,
        dtype: DTypeLike = np.float64,
        phases: Sequence[complex] = (1, 1, 1),
        approach: str | None = None,
        batch: int | None = None,
        slope: int | None = None,
        shared_memory: bool = True,
    ) -> Operator:
        """Returns the stencil as a function of fields on this grid. Collective.

        `dtype`: of fields, float32, float64, complex64 or complex128. `phases`: in(r + edge d) = phases[d] · in(r), of
        absolute value 1, for complex fields. `approach`: one of `approaches()`. `batch`: how many fields' faces go in
        one message. `slope`: how many batches, each twice as large as the one before, come first. Those that are None
        are predicted to be the quickest for many fields by the map of the machine and by `rates`. `shared_memory`:
        ranks of one host read each other's faces there; without it they send messages. Raises GridError.
        """
        return Operator(self, stencil, dtype, phases, approach, batch, slope, shared_memory)

    def rates(self, stencil: Stencil, dtype: DTypeLike = np.float64) -> dict[str, float]:
        """Returns what the slowest rank takes for a stencil on this grid, by which `operator` chooses. Collective.

        `point`: s that a core needs for a point of a field while all cores compute; `packing`: s for a byte of a face,
        into a message and out of one; `synchronising`: s until the threads of a rank have met; `overlap`: the share
        of computing during which messages between hosts progress, 1 where there are none or it can't be told. They are
        measured by a short trial, once in a process for each kind: type of numbers, terms and reach of the stencil,
        box, ranks and threads. Raises GridError.
        """
        complaint = ""
        try:
            its = _checked_dtype(dtype)
            if not isinstance(stencil, Stencil) or len(stencil.offsets) == 0:
                raise InputError(f"stencil is {stencil!r}; expected a tessera.grid.Stencil with terms")
        except InputError as error:
            complaint = str(error)
        self.agree(complaint)
        terms = (stencil.offsets.tolist(), stencil.coefficients.tolist())
        is_float = REAL_OF[its.name] == "float32"
        found = self._native.rates(terms, is_float, its.kind == "c")
        return dict(zip(("point", "packing", "synchronising", "overlap"), found))

    def poisson(
        self,
        method: str = "multigrid",
        *,
        order: int = 4,
        tolerance: float = 1e-9,
        max_iterations: int = 50,
        images: bool = False,
    ) -> Poisson:
        """Returns a function that finds the potential φ of a density ρ: ∇²φ = −4πρ. Collective.

        In atomic units, with the cell in bohr, φ is the Hartree potential in hartree of a density of charge in e/bohr³.
        φ is zero just beyond edges that are not periodic. On grids whose edges are all periodic, a neutralising
        background makes the mean of ρ zero, and the mean of φ is zero.

        `method`: one of `poisson_methods()`; all solve the same equations. `order`: of the stencil for ∇², 2 to 12.
        `tolerance`: greatest |∇²φ + 4πρ| over greatest |4πρ|. `images`: beyond edges that are not
        periodic, ∇² sees odd mirror images of φ instead of zeros, as in GPAW's FastPoissonSolver; the method is "fft",
        which is direct then, and the residual is not measured. Cells must be orthogonal. Raises GridError.
        """
        return Poisson(self, method, order, tolerance, max_iterations, images)

    def eigenstates(
        self,
        potential: ArrayLike,
        n: int,
        *,
        order: int = 4,
        phases: Sequence[complex] = (1, 1, 1),
        dtype: DTypeLike | None = None,
        tolerance: float = 1e-6,
        max_iterations: int = 200,
        guess: ArrayLike | None = None,
    ) -> Eigenstates:
        """Returns the n lowest eigenstates of H = −½∇² + V. Collective.

        In atomic units: the cell in bohr, energies in hartree. ψ is zero just beyond edges that are not periodic.

        `potential`: V at this rank's points (nx, ny, nz), real and finite. `order`: of the stencil for ∇², 2 to 12.
        `phases`: ψ(r + edge d) = phases[d] · ψ(r), exp(ik·edge) of a Bloch wave. `dtype`: float64 or complex128; None:
        float64 where phases are 1. `tolerance`: greatest norm of Hψ − εψ of normalised ψ, hartree; errors of energies
        are about its square over the distance to other energies. `guess`: fields (m, nx, ny, nz) that the search begins
        with, such as those of a similar potential; they need not be orthonormal. Raises GridError on all ranks if an
        array of any rank does not fit, a value is not finite, or the tolerance is not reached.
        """
        try:
            turned, complaint = _checked_phases(phases), ""
        except InputError as error:
            turned, complaint = [], str(error)
        self.agree(complaint)
        return eigenstates(
            self,
            potential,
            n,
            order=order,
            dtype=dtype,
            phases=turned,
            tolerance=tolerance,
            max_iterations=max_iterations,
            guess=guess,
        )

    def coarser(self) -> Grid:
        """Returns the grid with half the points along each edge, whose points are points of this one. Collective.

        An edge of n points can be halved if it is periodic and n is even, or not periodic and n is odd, so that both
        faces stay. Raises GridError.
        """
        for n, periodic, name in zip(self.shape, self.periodic, "xyz"):
            if n < 2 or n % 2 != (0 if periodic else 1):
                raise GridError(
                    f"{n} points along {name}, {'periodic' if periodic else 'not periodic'}; expected an "
                    f"{'even' if periodic else 'odd'} number of at least {2 if periodic else 3}, to be halved"
                )
        x, y, z = (n // 2 for n in self.shape)
        lengths = [n if periodic else n + 1 for n, periodic in zip(self.shape, self.periodic)]
        fits = all(parts <= n for parts, n in zip(self.processes, (x, y, z)))
        return Grid(
            (x, y, z),
            cell=self.steps * np.array(lengths)[:, None],
            periodic=self.periodic,
            comm=self.comm,
            processes=self.processes if fits else None,
            threads=self.threads,
        )

    def restriction(
        self,
        coarse: Grid,
        *,
        order: int = 1,
        dtype: DTypeLike = np.float64,
        phases: Sequence[complex] = (1, 1, 1),
    ) -> Transfer:
        """Returns a function that brings fields of this grid to one with half the points along some or all edges, such
        as `coarser()`: the transpose of `interpolation`, times ½ for each of these edges. Collective.

        With order 1 it is full weighting, ¼ ½ ¼. Arguments are those of `interpolation`. Raises GridError.
        """
        return Transfer(self, coarse, True, order, dtype, phases)

    def interpolation(
        self,
        fine: Grid,
        *,
        order: int = 1,
        dtype: DTypeLike = np.float64,
        phases: Sequence[complex] = (1, 1, 1),
    ) -> Transfer:
        """Returns a function that brings fields of this grid to one with twice the points along some or all edges (and
        one more where it is not periodic). Collective.

        A value half-way between two is that of the polynomial through its 2 · `order` neighbours, `order` 1 to 4, along
        one edge after the other. `dtype` and `phases`: as in `operator`. Both grids are on one communicator, or on
        those with the same ranks in the same order. Raises GridError.
        """
        return Transfer(self, fine, False, order, dtype, phases)

    def _made(self, make: Any, order: Any, *more: int) -> Stencil:
        try:
            return Stencil.of(make(checked_number("order", order), *more, self.steps.tolist()))
        except InputError as error:
            raise GridError(str(error)) from None

    def agree(self, complaint: str) -> None:
        """Raises the first rank's complaint on every rank, if there is one. Collective."""
        try:
            self._native.agree(complaint)
        except InputError as error:
            raise GridError(str(error)) from None

    def __repr__(self) -> str:
        x, y, z = self.processes
        return f"<tessera.grid.Grid: {'×'.join(map(str, self.shape))} points on {x}×{y}×{z} processes>"


class Operator(Settled):
    """A stencil on a grid, made by `Grid.operator`."""

    def __init__(
        self,
        grid: Grid,
        stencil: Stencil,
        dtype: DTypeLike,
        phases: Sequence[complex],
        approach: str | None,
        batch: int | None,
        slope: int | None,
        shared_memory: bool,
    ) -> None:
        complaint = ""
        try:
            self.dtype = _checked_dtype(dtype)  # of fields
            turned = _checked_phases(phases)
            n = 0 if batch is None else checked_number("batch", batch)
            ramp = -1 if slope is None else checked_number("slope", slope, least=0)
            if not isinstance(stencil, Stencil):
                raise InputError(f"stencil is {stencil!r}; expected a tessera.grid.Stencil")
        except InputError as error:
            complaint = str(error)
        grid.agree(complaint)
        self.grid, self.stencil = grid, stencil
        self.is_complex = self.dtype.kind == "c"  # whether fields are
        module = grid._module
        make = module.OperatorFloat if REAL_OF[self.dtype.name] == "float32" else module.OperatorDouble
        try:
            self._native = make(
                grid._native,
                (stencil.offsets.tolist(), stencil.coefficients.tolist()),
                approach="" if approach is None else str(approach),
                batch=n,
                slope=ramp,
                is_complex=self.is_complex,
                phases=turned,
                shares_memory=bool(shared_memory),
            )
        except InputError as error:
            raise GridError(str(error)) from None
        self._one_at_a_time = threading.Lock()
        self._settle()

    @property
    def approach(self) -> str:
        """How halos come from other ranks."""
        return str(self._native.approach)

    @property
    def batch(self) -> int:
        """How many fields' faces go in one message."""
        return int(self._native.batch)

    @property
    def slope(self) -> int:
        """Number of smaller batches with which the exchange begins."""
        return int(self._native.slope)

    @property
    def seconds(self) -> dict[str, float]:
        """Where the time of all calls so far went on this rank: packing, waiting and computing."""
        return dict(zip(("packing", "waiting", "computing"), self._native.seconds))

    def __call__(self, fields: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Returns the result for this rank's points of a field (nx, ny, nz) or of B fields (B, nx, ny, nz). Collective.

        Arrays that are not contiguous or of another type are copied first. `out`: another array for the result,
        contiguous and of the right type. Raises GridError on all ranks if an array of any rank does not fit.
        """
        with self._one_at_a_time:
            return _applied(self, self.grid, self.grid, fields, out)

    @property
    def sends_messages(self) -> bool:
        """Whether faces come to this rank in messages: from ranks of other hosts, or without shared memory."""
        return bool(self._native.sends_messages)

    def apart(self, fields: ArrayLike, out: NDArray[Any] | None = None, *, computes: bool = True) -> None:
        """Does what a call does, with fields of the same shape, but sends the halo of each batch only when the batch
        before is done, so that nothing travels while it computes; without `computes` it brings halos and nothing else.
        For the times by which overlap is told. Collective. Raises GridError as a call does."""
        with self._one_at_a_time:
            _applied(self, self.grid, self.grid, fields, out, "apart" if computes else "bring")


class Transfer(Settled):
    """A restriction or an interpolation between two grids, made by `Grid.restriction` or `Grid.interpolation`."""

    def __init__(
        self, source: Grid, target: Grid, halves: bool, order: int, dtype: DTypeLike, phases: Sequence[complex]
    ) -> None:
        complaint = ""
        try:
            self.dtype = _checked_dtype(dtype)  # of fields
            self.is_complex = self.dtype.kind == "c"  # whether fields are
            order = checked_number("order", order)
            turned = _checked_phases(phases)
            if not isinstance(target, Grid) or not _are_alike(source.comm, target.comm):
                raise InputError(f"{target!r} is no grid on the same ranks; expected one")
            if any(phase != 1 and not (self.is_complex and edge) for phase, edge in zip(turned, source.periodic)):
                raise InputError(f"phases are {phases!r}; expected 1 for real fields and edges that are not periodic")
        except InputError as error:
            complaint = str(error)
        source.agree(complaint)
        self.source, self.target = source, target
        module = source._module
        make = module.TransferFloat if REAL_OF[self.dtype.name] == "float32" else module.TransferDouble
        try:
            self._native = make(
                source._native, target._native, halves=halves, order=order, is_complex=self.is_complex, phases=turned
            )
        except InputError as error:
            raise GridError(str(error)) from None
        self._one_at_a_time = threading.Lock()
        self._settle()

    def __call__(self, fields: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Returns a field (nx, ny, nz) of this rank's points of the target, or B fields (B, nx, ny, nz), from as many
        of this rank's points of the source. Collective. Other arguments and errors are those of an operator."""
        with self._one_at_a_time:
            return _applied(self, self.source, self.target, fields, out)


def _applied(
    function: Operator | Transfer,
    source: Grid,
    target: Grid,
    fields: ArrayLike,
    out: NDArray[Any] | None,
    way: str = "apply",
) -> NDArray[Any]:
    """Returns what the function makes of a field or fields. `way`: of an operator also "apart" and "bring", which
    leaves `out` as it is."""
    complaint = ""
    values = np.empty(0)
    leading: tuple[int, ...] = ()
    try:
        leading = np.shape(fields)[:-3] if np.ndim(fields) == 4 else ()
        values = fitting(fields, (*leading, *source.local_shape), function.dtype)
        shape = (*leading, *target.local_shape)
        out = aligned_empty(shape, function.dtype) if out is None else checked_out(out, shape, function.dtype)
        if np.may_share_memory(out, values):
            complaint = "out shares memory with the fields; expected another array"
    except InputError as error:
        complaint = str(error)
    except (ValueError, MemoryError) as error:
        complaint = f"what is given is no array: {error}"
    source.agree(complaint)
    assert out is not None
    kind = "complex" if function.is_complex else "real"
    apply = getattr(function._native, f"{'apart' if way == 'bring' else way}_{kind}")
    apply(values, out[..., :0] if way == "bring" else out, leading[0] if leading else 1)
    return out


def _are_alike(one: Any, other: Any) -> bool:
    """Tells whether communicators have the same ranks in the same order."""
    if one is None or other is None:
        return one is other
    mpi = sys.modules[type(one).__module__]
    return one is other or mpi.Comm.Compare(one, other) in (mpi.IDENT, mpi.CONGRUENT)


def _checked_edges(periodic: Any) -> tuple[bool, bool, bool]:
    try:
        edges = (periodic,) * 3 if isinstance(periodic, bool | np.bool_) else tuple(periodic)
    except TypeError:
        edges = ()
    if len(edges) != 3 or not all(isinstance(edge, bool | np.bool_) for edge in edges):
        raise InputError(f"periodic is {periodic!r}; expected True, False or three of them")
    return bool(edges[0]), bool(edges[1]), bool(edges[2])


def _steps(cell: Any, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool]) -> NDArray[np.float64]:
    """Returns the vectors from a point to the next along each edge, as rows."""
    if cell is None:
        return np.eye(3)
    try:
        edges = real_values(cell)
    except NO_NUMBERS:
        edges = np.empty(0)
    if edges.shape == (3,):
        edges = np.diag(edges)
    if edges.shape != (3, 3) or not np.isfinite(edges).all() or not abs(np.linalg.det(edges)) > 0:
        raise InputError(f"cell is {cell!r}; expected three lengths or three edges as rows, not in a plane")
    return edges / [[n if wraps else n + 1] for n, wraps in zip(shape, periodic)]


def _checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.name not in REAL_OF:
        raise InputError(f"dtype is {dtype!r}; expected one of {', '.join(REAL_OF)}")
    return found


def _checked_phases(phases: Any) -> list[complex]:
    try:
        turned = [complex(phase) for phase in phases]
    except NO_NUMBERS:
        turned = []
    if len(turned) != 3 or not np.allclose(np.abs(turned), 1, rtol=0, atol=1e-9):
        raise InputError(f"phases are {phases!r}; expected three complex numbers of absolute value 1")
    return turned
