"""Three-dimensional Fourier transforms of NumPy arrays that are distributed over the ranks of an MPI communicator.

    transform = Transform((128, 128, 128), comm=MPI.COMM_WORLD)
    x = field[transform.input_slices]          # this rank's part of the points
    y = transform.forward(x)                   # its part of the spectrum: rfftn(field)[transform.output_slices]
    x = transform.backward(y)                  # x again

As in `numpy.fft`, forward does not scale, backward divides by the number of points, and the spectrum of real points has
about half the length in its last direction. Results are the same bits on any number of ranks and threads, with any
scheme and on any processor, because a line is always transformed by the same operations. Any shape and any number of
ranks are possible; a rank may have no points.

It needs the compiled part of Tessera for the MPI that mpi4py uses; without a communicator it needs neither.
"""

from __future__ import annotations

import math
import os
import threading
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tessera import flavours
from tessera.arguments import (
    Settled,
    Slices,
    aligned_empty,
    checked_number,
    checked_out,
    checked_path,
    checked_shape,
    fitting,
    slices,
)
from tessera.errors import InputError

__all__ = ["FftError", "Transform", "exchanges", "schemes"]

#: The most points along an edge, as cpp/tessera/fft/lines takes them.
MOST_ALONG_AN_EDGE = 2**30 - 1
#: The most points of a mesh: complex numbers of 16 bytes in addresses of 64 bits.
MOST_POINTS = 2**58


class FftError(InputError):
    """A transform can't be made, or an array does not fit it; all ranks raise it."""


@flavours.refusing(FftError)
def schemes() -> list[str]:
    """Returns the names of the ways to distribute a transform over ranks."""
    return list(flavours.load("fft", "serial").schemes())


@flavours.refusing(FftError)
def exchanges() -> list[str]:
    """Returns the names of the ways to carry out an exchange between ranks."""
    return list(flavours.load("fft", "serial").exchanges())


class Transform(Settled):
    """Transforms of one shape on one communicator. The constructor and each transform are collective.

    `shape`: points along x, y, z. `comm`: an mpi4py communicator; None: this process alone. `kind`: "r2c" for real
    points, or "c2c" for complex ones. `dtype`: a NumPy type of either precision, float32 or float64 (complex64 and
    complex128 mean the same). `scheme`: one of `schemes()`; "auto": the one with the least predicted time; "trial": the
    one with the least measured time, which later transforms find in $XDG_CACHE_HOME/tessera. `threads`: the number of
    threads of this rank. `batch`: the number of fields in an array, its leading dimension, which are transformed
    together. `shared_memory`: ranks of one host read each other's data directly; False: all data go in messages.
    `machine`: the map from `tessera machine measure`, by which the scheme and the places of ranks are chosen; None: the
    map that TESSERA_MACHINE names, or none; rank 0 reads it for all. `exchange`: one of `exchanges()`; "auto":
    "pairwise", or "collectives" where the map predicts a gain. print(transform) shows the choice and its reason. Raises
    FftError.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        *,
        comm: Any = None,
        kind: Literal["r2c", "c2c"] = "r2c",
        dtype: DTypeLike = np.float64,
        scheme: str = "auto",
        threads: int = 1,
        batch: int | None = None,
        shared_memory: bool = True,
        machine: str | os.PathLike[str] | None = None,
        exchange: str = "auto",
    ) -> None:
        complaint = ""
        try:
            shape = checked_shape(shape)
            if max(shape) > MOST_ALONG_AN_EDGE:
                raise FftError(f"shape {shape} has an edge of more than {MOST_ALONG_AN_EDGE:,} points")
            precision = _checked_precision(dtype)
            _checked(kind, scheme, exchange)
            threads = checked_number("threads", threads)
            batch = None if batch is None else checked_number("batch", batch)
            if math.prod(shape) * (batch or 1) > MOST_POINTS:
                raise FftError(f"shape {shape} with a batch of {batch or 1} has more points than memory has addresses")
            machine = checked_path(machine)
        except InputError as error:
            complaint = str(error)
        if comm is not None:
            if not flavours.is_communicator(comm):
                raise FftError(f"comm is {comm!r}; expected an mpi4py communicator of one group, or None")
            settings = comm.allgather(
                (complaint, None if complaint else (shape, kind, precision, scheme, exchange, batch, shared_memory))
            )
            complaint = next((other for other, _ in settings if other), "")
            differs = next((rank for rank, one in enumerate(settings) if one != settings[0]), None)
            if not complaint and differs is not None:
                complaint = (
                    f"ranks 0 and {differs} ask for different transforms: {settings[0][1]}, {settings[differs][1]}"
                )
        if complaint:
            raise FftError(complaint)

        self.shape = shape  # points along each edge
        self.kind = kind  # "c2c" or "r2c"
        self.batch = batch  # fields at once; None: one, without an axis of its own
        self.real_dtype = np.dtype(precision)  # float32 or float64
        self.complex_dtype = np.result_type(self.real_dtype, np.complex64)  # complex64 or complex128
        self.input_dtype = self.real_dtype if kind == "r2c" else self.complex_dtype  # of what `forward` takes
        with flavours.refusing(FftError):
            module = flavours.module_of("fft", comm)
        make = module.TransformFloat if precision == "float32" else module.TransformDouble
        try:
            self._native = make(
                shape,
                is_real=kind == "r2c",
                scheme=scheme,
                machine_file=machine,
                exchange=exchange,
                fortran_handle=flavours.handle_of(module, comm),
                threads=threads,
                fields=batch or 1,
                shares_memory=bool(shared_memory),
            )
        except InputError as error:
            raise FftError(str(error)) from None
        except MemoryError:
            raise FftError(f"a transform of shape {shape} does not fit into memory; use more ranks") from None
        self._error = InputError
        self._one_at_a_time = threading.Lock()
        self.input_slices = slices(self._native.input_bounds)  # this rank's points, along each edge
        self.output_slices = slices(self._native.output_bounds)  # this rank's waves, along each edge
        self._settle()

    @property
    def scheme(self) -> str:
        """The name of the scheme in use."""
        return str(self._native.scheme)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of this rank's points, with the batch."""
        return self._local(self.input_slices)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of this rank's part of the spectrum, with the batch."""
        return self._local(self.output_slices)

    def forward(self, x: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Transforms this rank's part `x` (`input_shape`) of the points and returns its part (`output_shape`) of the
        spectrum. Collective.

        Arrays that are not contiguous or of another type are copied first. `out`: the array for the result, contiguous
        and of the right type. Raises FftError on all ranks if an array of any rank does not fit.
        """
        with self._one_at_a_time:
            x, out = self._arrays(x, self.input_shape, self.input_dtype, out, self.output_shape, self.complex_dtype)
            (self._native.forward_real if self.kind == "r2c" else self._native.forward_complex)(x, out)
        return out

    def backward(self, y: ArrayLike, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Inverts `forward`: backward(forward(x)) is x within rounding. `y` has `output_shape` and does not change, the
        result `input_shape`. Collective. Raises FftError as `forward` does."""
        with self._one_at_a_time:
            y, out = self._arrays(y, self.output_shape, self.complex_dtype, out, self.input_shape, self.input_dtype)
            (self._native.backward_real if self.kind == "r2c" else self._native.backward_complex)(y, out)
        return out

    def __repr__(self) -> str:
        carried = ", ".join(dict.fromkeys(self._native.exchanges)) or "none"
        return f"<tessera.fft.Transform: {self._native.summary.strip()}\n  exchanges: {carried}>"

    def _local(self, slices: Slices) -> tuple[int, ...]:
        local = tuple(s.stop - s.start for s in slices)
        return local if self.batch is None else (self.batch, *local)

    def _arrays(
        self,
        given: ArrayLike,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        out: NDArray[Any] | None,
        out_shape: tuple[int, ...],
        out_dtype: np.dtype[Any],
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns the arrays to read and to write, after a check on all ranks."""
        complaint = ""
        try:
            values = fitting(given, shape, dtype)
            result = aligned_empty(out_shape, out_dtype) if out is None else checked_out(out, out_shape, out_dtype)
            if np.may_share_memory(result, values):
                complaint = "out is the array that is transformed; expected another"
        except InputError as error:
            complaint = str(error)
        except MemoryError as error:
            complaint = f"arrays do not fit into memory ({error}); use more ranks"
        try:
            self._native.agree(complaint)
        except self._error as error:
            raise FftError(str(error)) from None
        return values, result


def _checked_precision(dtype: DTypeLike) -> str:
    precisions = {"float32": "float32", "complex64": "float32", "float64": "float64", "complex128": "float64"}
    try:
        return precisions[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise FftError(f"dtype is {dtype!r}; expected one of {', '.join(precisions)}") from None


def _checked(kind: str, scheme: str, exchange: str) -> None:
    if kind not in ("r2c", "c2c"):
        raise FftError(f"kind is {kind!r}; expected 'r2c' or 'c2c'")
    if scheme not in (known := ["auto", "trial", *schemes()]):
        raise FftError(f"scheme is {scheme!r}; expected one of {', '.join(known)}")
    if exchange not in (known := ["auto", *exchanges()]):
        raise FftError(f"exchange is {exchange!r}; expected one of {', '.join(known)}")
