"""Trajectories in segments that tests write themselves, and the numbers that they hold."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tessera.io import SegmentWriter
from tests.support.commands import called, facts_of

TIMESTEP = 0.002  # ps
MOVED = {"kind": "moved", "distance": 45.0, "key_every": 4}
FLOAT32, LOSSLESS = {"kind": "float32"}, {"kind": "lossless"}
PACKED = {"kind": "packed", "unit": 0.01}
BOX = np.array([[30.0, 0, 0], [5, 28, 0], [3, -4, 25]])


run, ran = partial(called, "traj"), partial(facts_of, "traj")


def numbers(step: int, atoms: int, quantity: str = "positions") -> np.ndarray:
    """(atoms,3) of a step; runs that calculate a step again come to the same."""
    generator = np.random.default_rng([step, len(quantity)])
    return generator.normal(scale=20, size=(atoms, 3)).astype(np.float32)


def write_segment(
    folder: Path,
    steps: range,
    atoms: int = 20,
    quantities: tuple[str, ...] = ("positions",),
    encodings: list[dict[str, Any]] | None = None,
    after_step: int = -1,
    **options: Any,
) -> Path:
    """Adds a segment with a frame of each of these steps, and returns the folder."""
    with SegmentWriter(
        folder, atoms, every=steps.step, timestep=TIMESTEP, quantities=quantities, encodings=encodings,
        after_step=after_step, **options,
    ) as writer:  # fmt: skip
        for step in steps:
            values = {name: numbers(step, atoms, name) for name in quantities}
            writer.append(step, step * TIMESTEP, BOX, **values)
    return folder


def expected(values: np.ndarray, encoding: dict[str, Any]) -> np.ndarray:
    """What a reader gets of numbers that were written."""
    if encoding["kind"] != "packed":
        return values
    return (np.rint(values.astype(float) / encoding["unit"]) * encoding["unit"]).astype(np.float32)
