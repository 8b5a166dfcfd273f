"""The mean potential of frames: against the sum over waves, the mean of other boxes, and what the command writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.potential.mesh import FINEST, MeanPotential
from tessera.system import read
from tessera.system.model import FloatArray
from tests.support.programs import TESSERA, run_program
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

COULOMB = 332.06371
Tessera = Callable[..., Any]


def sum_over_waves(
    points: FloatArray, positions: FloatArray, charges: FloatArray, box: FloatArray, alpha: float
) -> FloatArray:
    """Returns the potential at points (p,3) by its definition."""
    most = 2 * alpha * np.sqrt(12 * np.log(10))  # where the exponential is 10⁻¹²
    counts = np.ceil(np.linalg.norm(box, axis=1) * most / (2 * np.pi)).astype(int)
    waves = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    k = 2 * np.pi * waves[np.any(waves != 0, axis=1)] @ np.linalg.inv(box).T
    square = np.sum(k**2, axis=1)
    k, square = k[square < most**2], square[square < most**2]
    factor = np.exp(-1j * k @ positions.T) @ charges
    spectrum = 4 * np.pi * COULOMB / square * np.exp(-square / (4 * alpha**2)) * factor
    return np.asarray(np.real(np.exp(1j * points @ k.T) @ spectrum) / abs(np.linalg.det(box)))


def places(index: Any, shape: tuple[int, ...], box: FloatArray) -> FloatArray:
    return np.asarray((np.array(index) / np.array(shape) - 0.5) @ box)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.floats(0.6, 1.0), st.tuples(*[st.integers(9, 24)] * 3))
def test_the_sum_over_waves(seed: int, fineness: float, shape: tuple[int, int, int]) -> None:
    """At 200 points of boxes of any shape, with as coarse a mesh as is allowed, and a charge that is left over."""
    random = np.random.default_rng(seed)
    box = np.diag(random.uniform(0.9, 1.1, 3) * shape) + np.tril(random.uniform(-3, 3, (3, 3)), -1)
    alpha = fineness * FINEST / max(np.linalg.norm(box, axis=1) / shape)
    positions, charges = random.uniform(-40, 40, (30, 3)), random.normal(size=30)
    mean = MeanPotential(shape, alpha, COULOMB)
    mean.add(positions, charges, box)
    found = mean.mean()
    index = random.integers(0, shape, (200, 3))
    expected = sum_over_waves(places(index, shape, box), positions, charges, box, alpha)
    assert np.sqrt(np.mean((found[tuple(index.T)] - expected) ** 2)) <= 1e-3 * np.sqrt(np.mean(expected**2))
    assert abs(found.mean()) < 1e-10 * np.abs(found).max()


def test_the_mean_is_that_of_frames_alone() -> None:
    random = np.random.default_rng(5)
    charges, boxes = random.normal(size=50), [np.eye(3) * edge for edge in (20.0, 20.0, 21.0, 20.0)]
    frames = [random.uniform(0, 20, (50, 3)) for _ in boxes]
    together, alone = MeanPotential((20, 20, 20), 0.25, COULOMB), []
    for positions, box in zip(frames, boxes):
        together.add(positions, charges, box)
        one = MeanPotential((20, 20, 20), 0.25, COULOMB)
        one.add(positions, charges, box)
        alone.append(one.mean())
    assert together.frames == 4
    assert np.allclose(together.mean(), np.mean(alone, axis=0), rtol=0, atol=1e-9 * np.abs(alone).max())


@pytest.fixture(scope="module")
def run(runs: Runs) -> Path:
    """The folder of a run whose box changes from frame to frame."""
    changes: Settings = {
        "dynamics.steps": 30, "dynamics.ensemble": "npt", "output.trajectory": "segments",
        "output.trajectory_every": 10,
    }  # fmt: skip
    return runs.run(sample("peptide"), changes).folder


@pytest.fixture
def tessera(tmp_path: Path) -> Tessera:
    def start(*words: Any, **more: Any) -> Any:
        command = [*TESSERA, "potential", *map(str, words)]
        return run_program(command, cwd=tmp_path, **more)

    return start


def read_dx(path: Path) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns the origin (3,) and the steps (3,3) of points in Å, and the values."""
    lines = path.read_text().splitlines()
    shape = tuple(map(int, lines[1].split()[-3:]))
    origin = np.array(lines[2].split()[1:], float)
    steps = np.array([line.split()[1:] for line in lines[3:6]], float)
    values = np.array(" ".join(lines[8 : 8 + -(-int(np.prod(shape)) // 3)]).split(), float)
    assert lines[7].split()[-3] == str(len(values))
    return origin, steps, values.reshape(shape)


def test_a_run(run: Path, tessera: Tessera, tmp_path: Path) -> None:
    from tessera.traj import Trajectory

    said = json.loads(tessera(run, "-o", "phi.dx", "--unit", "kcal/mol/e", "--spacing", 4, "--json").stdout)
    origin, steps, values = read_dx(tmp_path / "phi.dx")
    frames = list(Trajectory(run))
    assert (said["frames"], said["mesh"]) == (len(frames), list(values.shape))
    box = np.mean([frame.box for frame in frames], axis=0)
    assert np.allclose(steps * np.array(values.shape)[:, None], box, atol=1e-6)
    assert np.allclose(origin, -box.sum(axis=0) / 2, atol=1e-6)
    charges = read(sample("peptide")).atom_field("charge")
    index = np.array([(1, 2, 3), (7, 0, 4)])
    expected = np.mean(
        [
            sum_over_waves(places(index, values.shape, frame.box), frame.positions, charges, frame.box, said["alpha"])
            for frame in frames
        ],
        axis=0,
    )
    assert np.allclose(values[tuple(index.T)], expected, rtol=0, atol=1e-3 * np.abs(values).max())
    assert said["lowest"] == pytest.approx(values.min(), abs=1e-5)


@pytest.mark.mpi
@pytest.mark.parametrize(("mpi", "ranks"), [("openmpi", 5), ("mpich", 3)])
def test_ranks_write_the_same_bytes(run: Path, tessera: Tessera, tmp_path: Path, mpi: str, ranks: int) -> None:
    tessera(run, "-o", "alone.dx", "--first", 1)
    tessera(run, "-o", "ranks.dx", "--first", 1, "-n", ranks, "--mpi", mpi, "--oversubscribe")
    assert (tmp_path / "ranks.dx").read_bytes() == (tmp_path / "alone.dx").read_bytes()


def test_parts_of_a_system_add_up(tessera: Tessera, tmp_path: Path) -> None:
    """And a part is not the whole."""
    for name, text in (("whole", "all"), ("water", "name O*"), ("other", "not name O*")):
        tessera(sample("peptide"), "-o", f"{name}.dx", "--select", text, "--unit", "mV")
    whole, water, other = (read_dx(tmp_path / f"{name}.dx")[2] for name in ("whole", "water", "other"))
    assert np.allclose(whole, water + other, atol=1e-4 * np.abs(water).max())
    assert not np.allclose(whole, other, atol=1e-1 * np.abs(water).max())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "phi.map"], "phi.map: the ending says no format; expected .dx"),
        (["-o", "missing/phi.dx"], "the folder of missing/phi.dx does not exist"),
        (["-o", "there.dx"], "there.dx exists; --force replaces it"),
        (["-o", "phi.dx", "--alpha", "2"], "Gaussians are too narrow for points"),
        (["-o", "phi.dx", "--spacing", "1e-9"], "would have too many points"),
        (["-o", "phi.dx", "--first", "1"], "need the output folder of a run"),
        (["-o", "phi.dx", "--select", "name XYZ"], "XYZ"),
    ],
)
def test_refused(command: Callable[..., tuple[int, str]], tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "there.dx").write_text("kept")
    status, found = command("potential", sample("peptide"), *words)
    assert status == 2
    assert said in found
    assert found.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there.dx"]
    assert (tmp_path / "there.dx").read_text() == "kept"


def test_a_vacuum_is_refused(tessera: Tessera) -> None:
    found = tessera(sample("dipeptide"), "-o", "phi.dx", check=False)
    assert found.returncode == 2
    assert "has no periodic box, which the mesh needs" in found.stderr
