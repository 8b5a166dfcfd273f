"""The build for aarch64 passes its unit tests under QEMU, and its engine gives the same bits as this machine's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tessera.build.water import make_water
from tessera.system import write
from tests.support.programs import FLAVOURS, ROOT, run_program
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

BUILD, SYSROOT = ROOT / "build" / "arm", ROOT / "build" / "arm-sysroot"
EMULATED = ("qemu-aarch64", "-L", str(SYSROOT))
SHARES = 12  # of the unit tests, which take hours: a campaign goes on after the last share that passed

# Unit tests that are left out, and why.
MEMORY = "QEMU gives a program as much memory as it wants (RLIMIT_AS)"
TIME = "expects a time, which QEMU makes tens of times longer"
STEPS = "takes a quarter of an hour or more for many steps of code that other tests run, too"
LEFT_OUT = {
    "base.ThreadPool.SaysHowManyThreadsTheSystemHas": MEMORY,
    "md.Decomposition.PlansLargeMachinesInTime": TIME,
    "md.Engine.ConservesEnergy": STEPS,
    "md.Engine.EnergyErrorIsOfSecondOrder": STEPS,
    "md.Engine.RunsBackwardsToWhereItStarted": STEPS,
    "md.External.IsTheSameOnAnyRanksOfOwnAndListedAtoms": STEPS,
    "md.ForceGroups.AtTwoTimesConserveEnergyAndBits": STEPS,
    "md.Minimize.OverlapsAreResolvedTheSameOnAnyRanks": STEPS,
}

pytestmark = pytest.mark.slow(part="arm")


@pytest.fixture(scope="module", autouse=True)
def _is_built() -> None:
    if shutil.which(EMULATED[0]) is None:
        pytest.skip(f"NOTHING IS TESTED FOR AARCH64: there is no {EMULATED[0]}; make arm")
    if not (BUILD / "bin" / "tessera-md-serial").exists():
        pytest.skip(f"NOTHING IS TESTED FOR AARCH64: nothing is built in {BUILD}; make arm")


@pytest.mark.parametrize("flavour", ["serial", *FLAVOURS])
def test_the_engine_is_built_for_every_mpi(flavour: str) -> None:
    done = run_program([*EMULATED, BUILD / "bin" / f"tessera-md-{flavour}", "--version"])
    assert done.stdout.startswith("tessera 0.") and "NEON" in done.stdout
    assert ("Open MPI" in done.stdout) == (flavour == "openmpi")


@pytest.mark.parametrize("share", range(SHARES))
def test_unit_tests(share: int) -> None:
    """Each share is every twelfth test, so that all take about as long."""
    left_out = "|".join(f"^{name}$" for name in LEFT_OUT)
    command = ["ctest", "--test-dir", BUILD, "-I", f"{share + 1},,{SHARES}", "-E", left_out, "--no-tests=error"]
    run_program([*command, "--output-on-failure", "--timeout", "3600", "-j", str(os.cpu_count() or 1)], timeout=30000)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    def run(*arguments: str | Path, threads: int = 1, **options: object) -> subprocess.CompletedProcess[str]:
        engine = BUILD / "bin" / "tessera-md-serial"
        return run_program([*EMULATED, engine, *arguments, "--threads", str(threads)], **options)

    return Runs(run, tmp_path_factory.mktemp("emulated"))


@pytest.fixture(scope="module")
def system(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if name == "dhfr":
        return sample("dhfr")
    path = tmp_path_factory.mktemp("water") / "water.tsr"
    write(make_water(9000), path)
    return path


SETTINGS: dict[str, Settings] = {
    "water": {"dynamics.steps": 200, "output.energy_every": 10},
    "dhfr": {"dynamics.steps": 20, "interactions.cutoff": 12.0, "interactions.switch": 10.0},
}


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("name", SETTINGS, scope="module")
def test_the_engine_gives_the_same_bits(name: str, system: Path, threads: int, runs: Runs, emulated: Runs) -> None:
    settings = SETTINGS[name]
    here = runs.run(system, settings, timeout=600)
    there = emulated.run(system, settings, threads=threads, timeout=7200)
    assert there.report["versions"]["simd"] == "NEON" != here.report["versions"]["simd"]
    assert there.report["threads"] == threads
    assert there.hash == here.hash
    assert (there.folder / "energy.csv").read_text() == (here.folder / "energy.csv").read_text()
