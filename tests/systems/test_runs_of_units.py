"""Runs of molecules in units are those of the same molecules written whole, bit for bit, and take less memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from bench.common.polymer import make_polymer
from tessera.build.replicate import copies_of
from tessera.system import layout, write
from tessera.traj import Trajectory
from tests.support.programs import Run, in_turns
from tests.support.runs import Runs, Settings
from tests.support.samples import edited

RUN: Settings = {
    "interactions.electrostatics": "pme",
    "interactions.cutoff": 9.0,
    "interactions.switch": 8.0,
    "pme.spacing": 1.6,
    "dynamics.timestep": 0.2,
    "dynamics.steps": 4,
    "output.energy_every": 2,
}


@pytest.fixture(scope="module")
def long_chain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """200,000 atoms in one molecule: in units, and whole."""
    folder = tmp_path_factory.mktemp("chain")
    system = make_polymer([20_200])
    assert system.n_atoms > 200_000 and len(system.runs) == 1
    write(system, folder / "units.tsr")
    write(system, folder / "whole.tsr", whole=True)
    return folder / "units.tsr", folder / "whole.tsr"


def test_energies_and_forces_on_any_ranks(runs: Runs, long_chain: tuple[Path, Path]) -> None:
    in_units, whole = long_chain
    settings = {k: v for k, v in RUN.items() if k.startswith(("interactions", "pme"))}
    energy, force = runs.forces(whole, settings)
    for ranks in (1, 4):
        found, forces = runs.forces(in_units, settings, mpi="openmpi", ranks=ranks)
        assert {**found, "note": ""} == {**energy, "note": ""}  # which names the file
        assert np.array_equal(forces, force)


def test_memory_is_that_of_the_units(runs: Runs, long_chain: tuple[Path, Path]) -> None:
    reports = [runs.run(path, {**RUN, "dynamics.steps": 0}).report for path in long_chain]
    bytes_of = [report["memory"]["by_owner"]["templates"] for report in reports]
    assert bytes_of[0] < 4 * 200_000 and bytes_of[1] > 300 * 200_000


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two chains in units and one whole, among ions."""
    folder = tmp_path_factory.mktemp("mixed")
    system = make_polymer([600, 4, 500], ions=3)
    system.fraction += np.array([7, 5, 3], np.int32) << 28  # so that faces of the box cut the chains
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "LEAST_BYTES", 100_000)
        write(system, folder / "units.tsr")
    write(system, folder / "whole.tsr", whole=True)
    return folder / "units.tsr", folder / "whole.tsr"


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("constraints", "places"),
    [
        ("none", [("mpich", 3), ("openmpi", 5)]),
        ("h-bonds", [("serial", 1), ("mpich", 2), ("openmpi", 7)]),
    ],
)
def test_dynamics(runs: Runs, mixed: tuple[Path, Path], constraints: str, places: list[tuple[str, int]]) -> None:
    settings: Settings = {**RUN, "dynamics.steps": 12, "dynamics.constraints": constraints}
    whole = runs.run(mixed[1], settings)
    for mpi, ranks in places:
        found = runs.run(mixed[0], settings, mpi=mpi, ranks=ranks)
        assert found.hash == whole.hash, (mpi, ranks)
        for name, column in whole.table.items():
            assert np.array_equal(found.table[name], column, equal_nan=True), name


SOME = "index 20 500:600 3000 9000:9010"
FRAMES: Settings = {**RUN, "output.trajectory_every": 2, "output.energy_every": 0}


@pytest.fixture(scope="module")
def frames(runs: Runs, mixed: tuple[Path, Path]) -> list[np.ndarray]:
    """Frames (n,3) Å of the molecules written whole, and of those in units as one writer puts them together."""
    whole, in_units = (Trajectory(runs.run(path, FRAMES).folder) for path in reversed(mixed))
    found = [frame.positions for frame in in_units]
    assert len(found) == 3
    for frame, positions in zip(whole, found, strict=True):
        np.testing.assert_allclose(positions, frame.positions, rtol=0, atol=3e-5)  # rounded otherwise
        assert np.linalg.norm(np.diff(positions[6:600], axis=0), axis=1).max() < 10  # not torn
    return found


WRITERS = {2: 2, 3: 3, 4: 3, 5: 4, 6: 5, 8: 8}  # by ranks


@in_turns(2, 3, 5, also=WRITERS)
def test_writers_share_a_chain(
    runs: Runs, mpi: str, mixed: tuple[Path, Path], frames: list[np.ndarray], ranks: int
) -> None:
    writers = WRITERS[ranks]
    path = runs.run_file(mixed[0], {**FRAMES, "output.writers": writers})
    path.write_text(path.read_text() + f'[[output.selection]]\nname = "some"\nselect = "{SOME}"\nevery = 2\n')
    output = runs.start(path, mpi=mpi, ranks=ranks).folder
    assert len(list((output / "trajectory.segments").glob("*.part-*"))) == writers
    some = Trajectory(output / "some.segments")
    for positions, frame, of_some in zip(frames, Trajectory(output), some, strict=True):
        np.testing.assert_array_equal(frame.positions, positions)
        np.testing.assert_array_equal(of_some.positions, positions[some.ids])


def _set(name: str, place: tuple[int, ...], value: int) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("instances/chains", (0, 1), 10**6), "a chain consists of 1000000 runs of instances from 1"),
        (_set("instances/chains", (1, 0), 2), "expected chains in order"),
        (_set("instances/chains", (0, 0), 2), "outside the molecule of atom"),
        (_set("templates/2/bond/atoms", (0, 0), -5), "names atom -5 in column 0, expected one of the template's own"),
        (_set("templates/2/dihedral/atoms", (0, 0), -50_000), "outside the molecule of atom"),
        (_set("templates/2/exclusions", (0, 0), -50_000), "outside the molecule of atom"),
        (_set("templates/2/exclusions", (0, 1), -50_000), "expected i < j"),
    ],
)
def test_what_does_not_fit_is_refused(
    run_engine: Run, mixed: tuple[Path, Path], tmp_path: Path, change: Callable[[h5py.File], None], message: str
) -> None:
    path = tmp_path / "a.tsr"
    shutil.copy(mixed[0], path)
    with edited(path) as file:
        change(file)
    refused = run_engine("--energy", path, check=False)
    assert refused.returncode != 0 and message in refused.stderr and refused.stderr.count("\n") == 1


@pytest.mark.mpi
def test_copies(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four chains of the same units side by side."""
    monkeypatch.setattr(layout, "LEAST_BYTES", 100_000)
    system = copies_of(make_polymer([600], ions=3), (2, 2, 1)).in_memory()
    write(system, tmp_path / "units.tsr")
    write(system, tmp_path / "whole.tsr", whole=True)
    settings: Settings = {**RUN, "output.trajectory_every": 2}
    whole = runs.run(tmp_path / "whole.tsr", settings)
    for mpi, ranks in (("serial", 1), ("openmpi", 3), ("mpich", 5)):
        assert runs.run(tmp_path / "units.tsr", settings, mpi=mpi, ranks=ranks).hash == whole.hash, (mpi, ranks)
