"""Objects with threads work in a process that is forked after they were made, as by multiprocessing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tessera
from tests.support.programs import HANGS
from tests.support.samples import sample

SHAPE = (12, 10, 8)


def transform() -> Callable[[], Any]:
    from tessera.fft import Transform

    made = Transform(SHAPE, threads=2)
    values = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE)
    return lambda: made.forward(values).tobytes()


def grid() -> Callable[[], Any]:
    from tessera.grid import Grid

    of_threads = Grid(SHAPE, threads=2)
    operator = of_threads.operator(of_threads.laplacian())
    values = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE)
    return lambda: operator(values).tobytes()


def simulation() -> Callable[[], Any]:
    made = tessera.Simulation(sample("peptide"), {"dynamics": {"seed": 7, "steps": 4}}, threads=2)

    def step() -> tuple[int, ...]:
        made.step(1)
        return made.forces.shape

    return step


@pytest.mark.parametrize("make", [transform, grid, simulation])
def test_objects_of_the_parent_work_in_a_child(make: Callable[[], Callable[[], Any]]) -> None:
    use = make()
    expected = use()
    child = os.fork()
    if child == 0:
        signal.alarm(int(HANGS))  # instead of hanging
        status = 1
        try:
            status = 0 if use() == expected else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert use() == expected
