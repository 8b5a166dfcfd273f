"""What the mesoscale model samples, beside what DNA and chromatin are known to do."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tessera._core import FiberChain
from tessera.build.fiber import core
from tessera.build.fiber.mesoscale import BEAD, Layout, chain, springs
from tessera.build.fiber.tails import Tail
from tessera.system.model import FloatArray
from tests.fiber.charges import fewer_charges

WAYS = {"shifts": 1.0, "stretching": 0.5, "bending": 1.0, "twisting": 0.5}  # kT: a half for each


@cache
def free_dna() -> tuple[FloatArray, FloatArray]:
    """Returns the energies (4) of a step of DNA in the mean, and the cosines of the angle between beads (6), of those
    that are 1, 2, 4, 8, 16 and 32 apart."""
    n = 60
    frames = np.zeros((n - 1, 4, 3))
    frames[:, 1:] = np.eye(3)
    nothing = (np.zeros((0, 4)), np.zeros((0, 3)))
    sampled = FiberChain(
        [nothing], np.zeros(n, np.int64), frames, frames, np.tile(springs(np.array([BEAD])), (n - 1, 1)),
        screened=(7.14, 0.1, 60.0), diameter=0.0, radius=np.inf, reach=np.inf, seed=1,
    )  # fmt: skip
    assert sampled.grow(np.arange(n))
    sampled.run(100_000, tune=True)
    energies, cosines = [], []
    for _ in range(8000):
        sampled.run(600)
        energies.append(sampled.step_energies().mean(axis=0))
        along = sampled.frames()[:, 3]
        cosines.append([(along[:-k] * along[k:]).sum(axis=1).mean() for k in (1, 2, 4, 8, 16, 32)])
    return np.mean(energies, axis=0), np.mean(cosines, axis=0)


@pytest.mark.slow(part="physics")
def test_dna_has_a_persistence_length_of_50_nm() -> None:
    """Directions are forgotten as exp(-s/P)."""
    _, cosines = free_dna()
    for apart, cosine in zip((1, 2, 4, 8, 16), cosines):
        assert -BEAD * apart / np.log(cosine) == pytest.approx(500, abs=30)


@pytest.mark.slow(part="physics")
def test_every_spring_has_half_of_the_temperature() -> None:
    """Bending has the weight sin θ/θ, by which it has 1 - 1/3k, k its spring in kT/rad²."""
    energies, _ = free_dna()
    expected = np.array(list(WAYS.values()))
    expected[2] -= 1 / (3 * 500.0 / BEAD)
    assert energies == pytest.approx(expected, rel=0.02)


def size_of_twelve(salt: float, seed: int, before: int, after: int, tails: tuple[Tail, ...]) -> float:
    """Returns the radius of gyration of 12 nucleosomes with linkers of 61 base pairs, Å, by the mean of its square. A
    core has few charges: at these distances they have the field of all."""
    layout = Layout((61,) * 11)
    own = core.core(salt, tails=tails)
    own = replace(own, charges=fewer_charges(own.charges, 60))
    sampled = chain(layout, own, salt, np.inf, seed, reach=np.inf)
    assert sampled.grow(layout.cores)
    assert sampled.grow_tails() == 0
    sampled.run(layout.nodes * before, tune=True)
    squares = []
    for _ in range(after):
        sampled.run(layout.nodes)
        squares.append(sampled.frames()[layout.cores, 0].var(axis=0).sum())
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("tails", [(), core.own_tails()], ids=["crystal", "beads"])
def test_twelve_nucleosomes_shrink_with_salt(tails: tuple[Tail, ...]) -> None:
    """As arrays do in experiments, and in the models of Sun, Zhang and Schlick (2005) and, with beads, of Arya, Zhang
    and Schlick (2006)."""
    little, much = (
        np.mean([size_of_twelve(salt, seed, 100, 300, tails) for seed in (1, 2, 3)]) for salt in (0.01, 0.2)
    )
    assert little > 1.2 * much
