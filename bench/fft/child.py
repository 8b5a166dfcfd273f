"""Runs one rank of the transforms that peers.py times. Prints one line for each forward and backward transform, with
its mesh and seconds.

python -m bench.fft.child tessera|mpi4py_fft r2c|c2c float32|float64 NXxNYxNZ:REPEATS...
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI


def tessera(shape: tuple[int, int, int], kind: str, dtype: str) -> Callable[[], None]:
    from tessera import fft

    transform = fft.Transform(shape, comm=MPI.COMM_WORLD, kind=kind, dtype=dtype)  # type: ignore[arg-type]
    y = transform.forward(np.ones(transform.input_shape, transform.input_dtype))
    x = transform.backward(y)
    z = transform.forward(x)

    def both() -> None:
        transform.forward(x, y)
        transform.backward(y, x)

    assert np.allclose(y, z)
    return both


def mpi4py_fft(shape: tuple[int, int, int], kind: str, dtype: str) -> Callable[[], None]:
    from mpi4py_fft import PFFT, newDistArray

    points = np.dtype(dtype) if kind == "r2c" else np.result_type(dtype, np.complex64)
    transform = PFFT(MPI.COMM_WORLD, shape, dtype=points)
    x = newDistArray(transform, False)
    y = newDistArray(transform, True)

    def both() -> None:
        transform.forward(x, y)
        transform.backward(y, x)

    return both


def main() -> None:
    peer, kind, dtype, *meshes = sys.argv[1:]
    for mesh, repeats in (text.split(":") for text in meshes):
        x, y, z = map(int, mesh.split("x"))
        both = {"tessera": tessera, "mpi4py_fft": mpi4py_fft}[peer]((x, y, z), kind, dtype)
        for i in range(-2, int(repeats)):
            MPI.COMM_WORLD.Barrier()
            begin = time.perf_counter()
            both()
            MPI.COMM_WORLD.Barrier()
            if MPI.COMM_WORLD.rank == 0 and i >= 0:
                print(f"{mesh} {time.perf_counter() - begin:.9f}")


if __name__ == "__main__":
    main()
