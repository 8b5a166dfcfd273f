"""Runs one rank of what gpaw.py times: GPAW's own code and Tessera's in turn, in one process. Prints one line of JSON.

python -m bench.grid.gpaw_child operation NAME float|complex N FIELDS REPEATS
python -m bench.grid.gpaw_child run SYSTEM REPEATS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from ase.build import bulk, molecule
from gpaw import GPAW
from gpaw.fd_operators import Laplace
from gpaw.mpi import world
from gpaw.old.grid_descriptor import GridDescriptor
from gpaw.poisson import PoissonSolver
from gpaw.preconditioner import Preconditioner
from gpaw.transformers import Transformer

import tessera.gpaw

Turn = Callable[[], Any]


def seconds(turns: dict[str, Turn], repeats: int, count: int) -> dict[str, list[float]]:
    """Returns the seconds of each turn, which does `count` calls; the turns alternate."""
    found: dict[str, list[float]] = {name: [] for name in turns}
    for turn in range(-1, repeats):
        for name, call in turns.items():
            world.barrier()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            world.barrier()
            if turn >= 0:
                found[name].append((time.perf_counter() - begin) / count)
    return found


def operation(name: str, dtype: type, n: int, fields: int, repeats: int) -> dict[str, list[float]]:
    gd = GridDescriptor((n, n, n), (n / 5.0,) * 3, comm=world)
    other = {"restriction": gd.coarsen, "interpolation": gd.coarsen}.get(name, lambda: gd)()
    begin, end = (other, gd) if name == "interpolation" else (gd, other)
    phases = np.exp(2j * np.pi * gd.sdisp_cd * 0.25) if dtype is complex else None
    numbers = np.random.default_rng(world.rank)
    values = np.empty((fields, *begin.n_c), dtype)
    for field in values:
        field[:] = numbers.normal(size=field.shape)
    out = np.zeros((fields, *end.n_c), dtype)
    kpt = SimpleNamespace(phase_cd=phases)

    def made() -> Turn:
        if name == "stencil":
            laplace = Laplace(gd, -0.5, 2, dtype)
            return lambda: laplace.apply(values, out, phases)
        if name == "preconditioner":
            cycle = Preconditioner(gd, Laplace(gd, -0.5, 3, dtype), dtype, fields)
            return lambda: cycle(values, kpt, out=out)
        if name == "relaxation":
            laplace = Laplace(gd, -0.25 / np.pi, 2)
            return lambda: laplace.relax(1, out[0], values[0], 4, 1.0)
        transfer = Transformer(begin, end, 3, dtype)
        return lambda: transfer.apply(values, out, phases)

    if name.startswith("poisson-"):
        return poisson(gd, name.removeprefix("poisson-"), values[0], repeats)
    turns = {"GPAW": made()}
    with tessera.gpaw.enabled():
        turns["Tessera"] = made()
        count = max(1, 1_000_000 // (n**3 * fields))
        return seconds(turns, repeats, count)


def poisson(gd: GridDescriptor, name: str, density: Any, repeats: int) -> dict[str, list[float]]:
    """Times solutions from a zero guess to GPAW's default accuracy."""
    density -= gd.integrate(density) / gd.integrate(np.ones_like(density))
    phi = gd.zeros()

    def made() -> Any:
        solver = PoissonSolver(name)
        solver.set_grid_descriptor(gd)
        return solver

    def turn(solver: Any) -> Turn:
        def call() -> None:
            phi[:] = 0
            solver.solve(phi, density, charge=0)

        return call

    own = made()
    own.solve_neutral = own.solve_neutral  # GPAW's method stays with this solver
    with tessera.gpaw.enabled():
        return seconds({"GPAW": turn(own), "Tessera": turn(made())}, repeats, 1)


def run(system: str, repeats: int) -> dict[str, list[float]]:
    settings: dict[str, Any] = {"mode": "fd", "xc": "PBE", "txt": None, "parallel": {"domain": world.size}}

    def energy() -> None:
        if system == "water":
            atoms = molecule("H2O", vacuum=3.0)
            settings.update(gpts=(32, 40, 40))
        else:
            atoms = bulk("Si", cubic=True, a=5.43)
            settings.update(gpts=(24, 24, 24), kpts=(2, 2, 2))
        atoms.calc = GPAW(**settings)
        atoms.get_potential_energy()

    def with_tessera() -> None:
        with tessera.gpaw.enabled():
            energy()

    return seconds({"GPAW": energy, "Tessera": with_tessera}, repeats, 1)


def main() -> None:
    kind, name, *rest = sys.argv[1:]
    if kind == "run":
        found = run(name, int(rest[0]))
    else:
        dtype, n, fields, repeats = rest
        found = operation(name, {"float": float, "complex": complex}[dtype], int(n), int(fields), int(repeats))
    if world.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
