"""Compares Tessera's operators, transformers and preconditioner with GPAW's own on the ranks of this job.

python seam_cases.py            prints the greatest differences as JSON, by what was compared
"""

from __future__ import annotations

import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
from gpaw.fd_operators import FDOperator, Gradient, GUCLaplace, Laplace, LaplaceA
from gpaw.mpi import world
from gpaw.old.grid_descriptor import GridDescriptor
from gpaw.preconditioner import Preconditioner
from gpaw.transformers import Transformer

import tessera.gpaw

differences: dict[str, float] = {}


def note(what: str, found: Any, expected: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    differences[what] = max(differences.get(what, 0.0), float(np.abs(found - expected).max(initial=0)) / scale)


def both(make: Any) -> tuple[Any, Any]:
    own = make()
    with tessera.gpaw.enabled():
        ours = make()
    return own, ours


def random(gd: GridDescriptor, leading: tuple[int, ...], dtype: type) -> Any:
    numbers = np.random.default_rng([1, world.rank])
    values = numbers.normal(size=(*leading, *gd.n_c))
    return values + 1j * numbers.normal(size=values.shape) if dtype is complex else values


def phases_of(gd: GridDescriptor, dtype: type) -> Any:
    k = np.where(gd.pbc_c, [0.2, -0.3, 0.5], 0)
    return np.exp(2j * np.pi * gd.sdisp_cd * k[:, None]) if dtype is complex else None


def compare_operators(gd: GridDescriptor, dtype: type) -> None:
    stencils = {
        **{f"laplace {n}": lambda n=n: Laplace(gd, -0.5, n, dtype) for n in (1, 2, 3)},
        "gradient": lambda: Gradient(gd, 1, 1.0, 2, dtype),
        "mehrstellen": lambda: LaplaceA(gd, -0.25, dtype),
        "one-sided": lambda: FDOperator([0.3, -1.5, 2.0], [(0, 0, 0), (0, 1, 0), (-2, 0, 0)], gd, dtype),
    }
    if not gd.orthogonal:
        stencils = {"oblique laplace": lambda: GUCLaplace(gd, 1.0, 2, dtype=dtype)}
    for name, make in stencils.items():
        own, ours = both(make)
        assert own.get_diagonal_element() == ours.get_diagonal_element()
        for leading in [(), (1,), (3,), (19,)]:
            values, turned = random(gd, leading, dtype), phases_of(gd, dtype)
            expected, found = np.empty_like(values), np.empty_like(values)
            own.apply(values, expected, turned)
            ours.apply(values, found, turned)
            note(f"apply {name}", found, expected)
            ours.apply(values, values, turned)
            note("apply in place", values, expected)
        if dtype is complex and gd.pbc_c.any():  # another k-point, and back
            for factor in (1.0, 0.5):
                values, turned = random(gd, (2,), dtype), phases_of(gd, dtype) ** factor
                expected, found = np.empty_like(values), np.empty_like(values)
                own.apply(values, expected, turned)
                ours.apply(values, found, turned)
                note("apply with other phases", found, expected)
        if dtype is float and own.get_diagonal_element() and (own.offset_p[0] == 0):
            source = random(gd, (), float)
            for method in (1, 2):
                expected, found = source[::-1].copy(), source[::-1].copy()
                own.relax(method, expected, source, 3, 0.6)
                ours.relax(method, found, source, 3, 0.6)
                note(f"relax {method}", found, expected)


def has_room(own: Any) -> bool:
    """Tells whether GPAW's interpolation stays inside its memory, which it does not where boxes are thin."""
    inner = own.gdin.n_c + own.pad_cd.sum(axis=1)
    return not own.interpolate or inner[0] * inner[1] <= own.gdout.n_c[0] * own.gdout.n_c[1]


def compare_transformers(gd: GridDescriptor, dtype: type) -> None:
    coarse = gd.coarsen()
    thinnest = world.min_scalar(int(min(*gd.n_c, *(2 * coarse.n_c))))
    for order in (1, 2, 3, 4):
        if thinnest < 2 * order:
            continue  # GPAW takes points from the next neighbours alone
        for name, begin, end in [("restrict", gd, coarse), ("interpolate", coarse, gd)]:
            made = None
            with suppress(ValueError):
                made = both(lambda b=begin, e=end, n=order: Transformer(b, e, n, dtype))
            if world.min_scalar(int(made is not None and has_room(made[0]))) == 0:
                continue
            own, ours = made
            for leading in [(), (3,), (11,)]:
                values, turned = random(begin, leading, dtype), phases_of(gd, dtype)
                note(f"{name} {order}", ours.apply(values, None, turned), own.apply(values, None, turned))


def compare_preconditioner(gd: GridDescriptor, dtype: type) -> None:
    own, ours = both(lambda: Preconditioner(gd, Laplace(gd, -0.5, 3, dtype), dtype, 4))
    kpt = SimpleNamespace(phase_cd=phases_of(gd, dtype))
    residual = random(gd, (6,), dtype)
    expected, found = np.empty_like(residual), np.empty_like(residual)
    own(residual, kpt, out=expected)
    with tessera.gpaw.enabled():
        ours(residual, kpt, out=found)
        note("preconditioner", found, expected)
        note("preconditioner", ours(residual[:2].copy(), kpt), expected[:2])
        own(residual, kpt, out=found)  # GPAW's own operators go on while Tessera is enabled
        note("preconditioner of GPAW", found, expected)


def main() -> None:
    oblique = [[6, 0, 0], [1.5, 5, 0], [0, 0.5, 7.0]]
    for shape, cell, periodic in [
        ((16, 20, 28), (4, 5, 7), (1, 1, 1)),  # seven ranks have a point each on the coarsest grid
        ((24, 32, 20), (4, 5, 6), (0, 1, 0)),
        ((48, 20, 24), (4, 5, 6), (0, 0, 0)),
        ((16, 16, 20), oblique, (1, 1, 1)),
    ]:
        gd = GridDescriptor(shape, cell, periodic, comm=world)
        for dtype in (float, complex):
            compare_operators(gd, dtype)
            if gd.orthogonal:
                compare_transformers(gd, dtype)
                compare_preconditioner(gd, dtype)
    values = np.array(list(differences.values()))
    world.max(values)
    if world.rank == 0:
        print(json.dumps(dict(zip(differences, values.tolist()))))


if __name__ == "__main__":
    main()
