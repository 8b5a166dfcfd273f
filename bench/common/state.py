"""Reads the final positions and velocities of a run, and makes a new start from them."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from bench.common.engine import ROOT  # this import makes `tessera` importable from a checkout
from tessera import system as system_file
from tessera.system import write

assert ROOT
MAGIC = b"tessera-checkpoint 1\n"
RECORD = np.dtype([("id", "<i8"), ("position", "<i4", 3), ("velocity", "<i4", 3), ("displacement", "<i4", 3)])
VELOCITY_UNIT = 2.0**-20  # Å/ps


def read_checkpoint(folder: Path) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Returns positions as fractions of the box (N,3) and velocities (N,3) Å/ps, by id."""
    content = (folder / "checkpoint.tck").read_bytes()
    if not content.startswith(MAGIC):
        raise click.ClickException(f"the checkpoint in {folder} is not of the version that this script reads")
    end = content.index(b"\n", len(MAGIC))
    n = json.loads(content[len(MAGIC) : end])["atoms"]
    records = np.frombuffer(content, RECORD, n, end + 1)
    if not np.array_equal(np.sort(records["id"]), np.arange(n)):
        raise click.ClickException(f"the checkpoint in {folder} does not hold every atom once")
    fraction, velocity = np.empty((n, 3), np.int32), np.empty((n, 3))
    fraction[records["id"]] = records["position"] + records["displacement"]  # overflow wraps as the box does
    velocity[records["id"]] = records["velocity"] * VELOCITY_UNIT
    return fraction, velocity


def continue_from(system: Path, folder: Path, output: Path, *, keep_velocities: bool) -> None:
    """Writes a system file like `system` with the state at the end of the run in `folder`."""
    value = system_file.read(system)
    value.fraction, velocity = read_checkpoint(folder)
    value.velocity = velocity if keep_velocities else None
    write(value, output)


def momentum(system: Path, folder: Path) -> float:
    """Returns the length of the sum of momenta at the end of a run over the sum of their lengths; 0 is exact
    conservation."""
    mass = system_file.read(system).atom_field("mass")
    _, velocity = read_checkpoint(folder)
    momenta = mass[:, None] * velocity
    return float(np.linalg.norm(momenta.sum(0)) / np.linalg.norm(momenta, axis=1).sum())
