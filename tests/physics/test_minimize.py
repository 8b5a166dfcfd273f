"""Minimisation from bad starts: the same bits on any ranks, energies as low as OpenMM's, the files."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from signal import SIGTERM
from typing import Any

import numpy as np
import openmm
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from openmm import unit

from tessera.build.nacl import crystal
from tessera.build.water import make_water
from tessera.launch import supervision
from tessera.system import System, image, read, write
from tests.support.oracle import KCAL, Settings, openmm_system
from tests.support.programs import ENGINES, HANGS, TESSERA, Run, run_program, start
from tests.support.samples import sample

SHORT = ["--set", "interactions.cutoff=9", "--set", "interactions.switch=8"]
FRACTION = 2.0**32  # units of a box edge


def spoilt(system: System, seed: int, displaced: float, moved: int, coincident: int = 0) -> System:
    """Returns the system with each atom displaced by 0.6 to 1 times `displaced` Å, after some molecules of water (the
    last ones) were put onto other atoms, and some exactly onto other waters."""
    random = np.random.default_rng(seed)
    fraction = system.fraction.astype(np.int64)
    water = lambda k: np.arange(3) + system.n_atoms - 3 * (k + 1)  # noqa: E731
    for k in range(moved):
        atoms = water(2 * k)
        fraction[atoms] += fraction[random.integers(0, system.n_atoms)] - fraction[atoms[0]]
    push = random.normal(size=(system.n_atoms, 3))
    push *= displaced * random.uniform(0.6, 1, (system.n_atoms, 1)) / np.linalg.norm(push, axis=1, keepdims=True)
    fraction += np.rint(push / np.diag(system.box) * FRACTION).astype(np.int64)
    for k in range(coincident):
        fraction[water(4 * k + 1)] = fraction[water(4 * k + 3)]
    wrapped = ((fraction + 2**31) % 2**32 - 2**31).astype(np.int32)
    return dataclasses.replace(system, fraction=wrapped, velocity=None)


def minimized(run_engine: Run, system: Path, place: Path, *words: str, **sizes: Any) -> tuple[dict[str, Any], Any]:
    """Returns what the engine prints as JSON, and the positions (n,3) in units of 2⁻³² of the box."""
    positions = place / "positions.npy"
    done = run_engine("--minimize", system, "--positions", positions, "--json", *words, check=False, **sizes)
    assert done.returncode in (0, supervision.NOT_CONVERGED), done.stderr
    return json.loads(done.stdout), np.load(positions)


def tessera(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run_program([*TESSERA, *words], env={"TESSERA_BIN": str(ENGINES)}, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A peptide in water with atoms that overlap, some exactly."""
    path = tmp_path_factory.mktemp("bad") / "bad.tsr"
    write(spoilt(read(sample("peptide")), seed=1, displaced=0.5, moved=20, coincident=3), path)
    return path


@pytest.fixture(scope="module")
def of_one_rank(run_engine: Run, bad: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Any]:
    return minimized(run_engine, bad, tmp_path_factory.mktemp("one"), *SHORT)


def test_overlaps_are_resolved(of_one_rank: tuple[dict[str, Any], Any], run_engine: Run, tmp_path: Path) -> None:
    found, _ = of_one_rank
    assert found["converged"] and found["max_force"] <= 10
    assert found["start"]["energy"] > 1e12
    assert found["energy"] == pytest.approx(sum(found["energies"].values()))
    relaxed, _ = minimized(run_engine, sample("peptide"), tmp_path, *SHORT)
    assert found["energy"] < relaxed["energy"] + 0.03 * abs(relaxed["energy"])


def test_stiff_atoms_hold_nothing_up(run_engine: Run, tmp_path: Path) -> None:
    """89 moves; where L-BFGS took all atoms for alike, forces on stiff ones rose and fell, and it took 1,180."""
    found, _ = minimized(run_engine, sample("peptide"), tmp_path, *SHORT, "--max-force=1", "--steps=200")
    assert found["converged"]


@pytest.mark.parametrize(("ranks", "threads"), [(1, 2), (2, 1), (2, 2), (3, 1)])
def test_same_bits(
    run_engine: Run, bad: Path, of_one_rank: tuple[dict[str, Any], Any], tmp_path: Path, ranks: int, threads: int
) -> None:
    mpi = "openmpi" if ranks > 1 else "serial"
    if not (ENGINES / f"tessera-md-{mpi}").exists():
        pytest.skip(f"the engine was not built for {mpi}")
    found, positions = minimized(run_engine, bad, tmp_path, *SHORT, mpi=mpi, ranks=ranks, threads=threads)
    expected, expected_positions = of_one_rank
    assert (found["energy"], found["max_force"], found["steps"]) == (
        expected["energy"], expected["max_force"], expected["steps"],
    )  # fmt: skip
    assert np.array_equal(positions, expected_positions)


@settings(max_examples=12, deadline=None, database=None, phases=[Phase.generate],
          suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)  # fmt: skip
@given(
    seed=st.integers(0, 2**32 - 1),
    displaced=st.floats(0, 1),
    moved=st.integers(0, 30),
    coincident=st.integers(0, 20),
    constraints=st.sampled_from(["none", "h-bonds"]),
)
def test_any_box_of_water_converges(
    run_engine: Run, tmp_path: Path, seed: int, displaced: float, moved: int, coincident: int, constraints: str
) -> None:
    write(spoilt(make_water(1500), seed, displaced, moved, coincident), tmp_path / "start.tsr")
    words = ["--set", "interactions.cutoff=7", "--set", "interactions.switch=6"]
    words += ["--set", f"dynamics.constraints={constraints}"]
    found, _ = minimized(run_engine, tmp_path / "start.tsr", tmp_path, *words)
    assert found["converged"], (seed, displaced, moved, coincident)
    assert -16 < found["energy"] / 500 < -9  # kcal/mol a molecule; the liquid has about −10 at 300 K


def test_as_low_as_openmm(run_engine: Run, tmp_path: Path) -> None:
    """From one start both find the same minimum. The tolerance is what is left of a force of 0.01 in its softest
    torsion."""
    system = read(sample("tripeptide"))
    words = [f"--set=interactions.{key}" for key in ("cutoff=20", "switch=19", "lj=cut", "electrostatics=cut")]
    words += ["--set=dynamics.constraints=none", "--set=parallel.precision=double", "--max-force=0.01"]
    found, _ = minimized(run_engine, sample("tripeptide"), tmp_path, *words)
    assert found["converged"]
    integrator = openmm.VerletIntegrator(0.001)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(openmm_system(system, Settings(cutoff=None)), integrator, platform)
    context.setPositions(system.fraction / FRACTION @ system.box / 10)
    openmm.LocalEnergyMinimizer.minimize(context, 0.01)
    energy = context.getState(energy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole) / KCAL
    assert found["energy"] < energy + 0.05


def test_the_command(water: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsr"
    done = tessera("minimize", water, "-o", out, *SHORT)
    assert done.returncode == 0, done.stderr
    assert f"written: {out}" in done.stdout and "lowered the energy" in done.stdout
    before, after = read(water), read(out)
    assert after.velocity is None and np.array_equal(after.box, before.box)
    again = json.loads(tessera("minimize", out, "-o", tmp_path / "again.pdb", "--json", *SHORT).stdout)
    assert again["converged"] and again["steps"] == 0
    assert again["energy"] < json.loads(tessera("energy", water, "--json", *SHORT).stdout)["total"]
    assert (tmp_path / "again.pdb").read_text().count("\nATOM") == before.n_atoms
    assert {path.name for path in tmp_path.iterdir()} == {"out.tsr", "again.pdb"}


def test_out_of_steps_is_no_success(water: Path, tmp_path: Path) -> None:
    done = tessera(
        "minimize", water, "-o", tmp_path / "out.tsr", "--max-force", "0.1", "--steps", "4", "--json", *SHORT
    )
    assert done.returncode == supervision.NOT_CONVERGED
    found = json.loads(done.stdout)
    assert not found["converged"] and found["ending"] == "out of steps" and found["steps"] == 4
    assert "not converged: out of steps" in done.stderr and "give more --steps" in done.stderr
    assert read(tmp_path / "out.tsr").n_atoms == 3000


def test_atoms_that_stay_together_are_named(water: Path, tmp_path: Path) -> None:
    """A hydrogen without Lennard-Jones on an oxygen: no move away from it lowers the energy."""
    system = read(water)
    system.force_field.type_lj[1, 1] = 0
    fraction = system.fraction.astype(np.int64)
    fraction[:3] += fraction[3] - fraction[1]
    wrapped = ((fraction + 2**31) % 2**32 - 2**31).astype(np.int32)
    write(dataclasses.replace(system, fraction=wrapped, velocity=None), tmp_path / "stuck.tsr")
    pair = "; atom 2 (TIP3 H1, molecule 1) and atom 4 (TIP3 OH2, molecule 2) are 0.000 Å apart: "
    for words, told in (
        ([], "atoms that overlap part more easily without constraints, minimise with --set dynamics.constraints=none"),
        (["--set", "dynamics.constraints=none"], "move one of them, or leave out a molecule that stands where another"),
    ):
        done = tessera("minimize", tmp_path / "stuck.tsr", "-o", tmp_path / "out.tsr", *SHORT, *words)
        assert done.returncode == supervision.NOT_CONVERGED and pair + told in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "out.xyz"], "expected .tsr, or one of .pdb"),
        (["-o", "no/out.tsr"], "the folder of no/out.tsr does not exist"),
        (["-o", "."], "is a directory"),
        (["-o", "out.tsr", "--max-force", "0"], "0.0 is not in the range x>0"),
        (["-o", "out.tsr", "--steps", "-1"], "-1 is not in the range x>=0"),
        (["-o", "out.tsr", "--set", "dynamics.constraints=some"], "constraints"),
    ],
    ids=["ending", "folder", "no file", "force", "steps", "key"],
)
def test_bad_requests(water: Path, tmp_path: Path, words: list[str], message: str) -> None:
    done = tessera("minimize", water, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_signal_writes_the_best_so_far(bad: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsr"
    command = [*TESSERA, "minimize", bad, "-o", out, "--max-force=1e-9", "--steps=1000000"]
    command += [*SHORT, "--set", "parallel.precision=double", "--set", "output.progress=log"]
    process = start(command, env={"TESSERA_BIN": str(ENGINES)})
    assert process.stderr is not None
    assert any("step" in line for line in process.stderr), "nothing of the progress is shown"  # up to its first line
    process.send_signal(SIGTERM)
    printed, errors = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + SIGTERM, errors
    assert "not converged: stopped" in errors and f"written: {out}" in printed
    assert read(out).n_atoms == read(bad).n_atoms
    assert [path.name for path in tmp_path.iterdir()] == ["out.tsr"]


PEAK = """
import sys
from pathlib import Path
from tessera.commands.minimize import _write
from tessera.commands.peaks import Peaks
peaks = Peaks()
peaks.begin("writing")
_write(*map(Path, sys.argv[1:]), 10_000_000)
peaks.end()
print(peaks.phases["writing"])
"""


def test_memory_to_write_does_not_grow_with_the_system(tmp_path: Path) -> None:
    paths = start, positions, out = [tmp_path / name for name in ("start.tsr", "positions.npy", "out.tsr")]
    peaks = []
    for ions in (500_000, 1_500_000):
        made = crystal(ions)
        write(made.system, start, made.parts(10**9))
        system = read(start)
        moved = dataclasses.replace(system, fraction=system.fraction + np.int32(10**8), velocity=None)
        np.save(positions, moved.fraction.astype(np.float64))
        peaks.append(int(run_program([sys.executable, "-c", PEAK, *paths]).stdout))
    assert peaks[1] - peaks[0] < 1_000_000 * 4, peaks  # a coordinate of each ion would be more
    assert out.read_bytes() == image(moved)


@pytest.mark.slow(part="physics")
def test_dhfr_from_overlaps(run_engine: Run, tmp_path: Path) -> None:
    """The demo's system with displaced atoms and fifty waters put onto other atoms, without help."""
    system = read(sample("dhfr"))
    write(spoilt(system, seed=3, displaced=0.5, moved=50, coincident=5), tmp_path / "bad.tsr")
    found, positions = minimized(run_engine, tmp_path / "bad.tsr", tmp_path, threads=2)
    assert found["converged"]
    good, _ = minimized(run_engine, sample("dhfr"), tmp_path, threads=2)
    assert found["energy"] < 0.98 * good["energy"]
    again, of_ranks = minimized(run_engine, tmp_path / "bad.tsr", tmp_path, mpi="openmpi", ranks=4)
    assert again["energy"] == found["energy"] and np.array_equal(of_ranks, positions)
