"""Checks of what callers give to functions on distributed arrays: shapes, numbers, arrays, paths."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera.errors import InputError

Slices = tuple[slice, slice, slice]


class Settled:
    """An object whose public attributes follow from what it was made with: once `_settle` was called, none of them can
    be set. A class that is derived may have more of its own."""

    def _settle(self) -> None:
        vars(self)["_settled"] = frozenset(vars(self))

    def __setattr__(self, name: str, value: Any) -> None:
        settled = vars(self).get("_settled")
        is_derived = type(self).__module__.partition(".")[0] != "tessera"
        if settled is None or name.startswith("_") or (is_derived and name not in settled and name not in dir(self)):
            return super().__setattr__(name, value)
        raise AttributeError(f"{name} of a {type(self).__name__} can't be set: make another one")

    def __delattr__(self, name: str) -> None:
        if name in vars(self).get("_settled", ()):
            raise AttributeError(f"{name} of a {type(self).__name__} can't be taken away")
        super().__delattr__(name)


def real_values(values: ArrayLike) -> NDArray[np.float64]:
    """Returns values as an array of floats. Raises `TypeError` for complex ones, of which a part would be lost,
    `ValueError` or `OverflowError`."""
    given = np.asarray(values)
    if np.iscomplexobj(given):
        raise TypeError("they are complex, expected real ones")
    return np.ascontiguousarray(given, np.float64)


#: What making numbers of what is no number raises.
NO_NUMBERS = (TypeError, ValueError, OverflowError)


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns an array that begins on a cache line, so that a vector of neighbouring lines is in one cache line, not
    two."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + size].view(dtype).reshape(shape)


def fitting(given: ArrayLike, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns contiguous values of that shape and type, copied if necessary. Raises InputError."""
    try:
        values = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"what is given is no array: {error}") from None
    if values.shape != shape:
        raise InputError(f"an array of shape {values.shape}, but this rank's part has {shape}")
    if not np.can_cast(values.dtype, dtype, "same_kind"):
        raise InputError(f"an array of {values.dtype}, which does not go into {dtype}")
    return np.require(values, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def checked_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    expected = f"expected an array of {dtype} of shape {shape}, contiguous, aligned and not read-only"
    if not isinstance(out, np.ndarray):
        raise InputError(f"out is a {type(out).__name__}; {expected}")
    if (out.shape, out.dtype) != (shape, dtype) or not out.flags.carray:
        flags = {"not contiguous": not out.flags.c_contiguous, "not aligned": not out.flags.aligned,
                 "read-only": not out.flags.writeable}  # fmt: skip
        found = ", ".join([f"{out.dtype} of shape {out.shape}", *(text for text, is_so in flags.items() if is_so)])
        raise InputError(f"out is {found}; {expected}")
    return out


def checked_shape(shape: Any, name: str = "shape") -> tuple[int, int, int]:
    try:
        n = tuple(int(k) for k in shape)
        is_whole = n == tuple(shape)
    except (TypeError, ValueError, OverflowError):
        n, is_whole = (), False
    if len(n) != 3 or not is_whole or min(n) < 1:
        raise InputError(f"{name} is {shape!r}; expected three whole numbers from 1 up")
    return n[0], n[1], n[2]


def checked_number(name: str, value: Any, least: int = 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number < 2**31:
        raise InputError(f"{name} is {value!r}; expected a whole number from {least} up")
    return number


def checked_path(machine: Any) -> str:
    """Returns the path of the map, or an empty string for none."""
    try:
        return os.environ.get("TESSERA_MACHINE", "") if machine is None else os.fsdecode(machine)
    except TypeError:
        raise InputError(f"machine is {machine!r}; expected the path of a map") from None


def slices(bounds: list[tuple[int, int]]) -> Slices:
    x, y, z = (slice(begin, end) for begin, end in bounds)
    return x, y, z
