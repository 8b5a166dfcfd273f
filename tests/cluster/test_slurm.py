"""Runs under Slurm, brought up here with two hosts: scripts of examples/slurm, signals, limits, queues and cores.

What every job prints and what Slurm says of it stays in build/campaigns/slurm/logs, a folder for each test.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.slurm import Slurm, slurm, user_name
from tests.support.programs import ENGINES, FLAVOURS, ROOT
from tests.support.runs import SHORT_RANGE, Runs, Settings, write_run_file

pytestmark = pytest.mark.slow(part="slurm")

LOGS = ROOT / "build" / "campaigns" / "slurm" / "logs"
SCRIPTS = ROOT / "examples" / "slurm"
KINDS = {"openmpi": "pmix", "mpich": "pmi2"}  # of srun
SIZES = [(1, 2), (2, 2)]  # hosts, ranks on each
ON_ONE = ["--nodes=1", "--ntasks-per-node=2", "--time=30"]
#: a run of some seconds on any machine, and one that no machine finishes
SETTINGS: Settings = {"dynamics.steps": 20, "output.energy_every": 5, "output.trajectory": "none"}
ENDLESS: Settings = {**SETTINGS, "dynamics.steps": 10_000_000, "output.checkpoint_every": 10}


@pytest.fixture(scope="module")
def site() -> Iterator[Slurm]:
    shutil.rmtree(LOGS, ignore_errors=True)
    with slurm() as up:
        yield up
        shutil.copytree(up.folder / "logs", LOGS / "daemons")


@dataclass
class Case:
    """What a test submits: a run in a folder of its own, whose logs are kept."""

    site: Slurm
    folder: Path
    settings: Settings
    jobs: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        programs = f"{Path(sys.executable).parent}:{ENGINES}:{os.environ['PATH']}"
        return {"PATH": f"{programs}:/usr/sbin:/sbin", "TESSERA_BIN": str(ENGINES)}

    def submit(self, *words: str | Path, **variables: str) -> str:
        job = self.site.submit(*words, cwd=self.folder, env={**self.environment, **variables})
        self.jobs.append(job)
        return job

    def run(self, *words: str | Path, check: bool = True, **variables: str) -> str:
        """Carries out a command on the login host, and returns all that it prints."""
        done = self.site.run(*words, cwd=self.folder, env={**self.environment, **variables}, check=False)
        said = done.stdout + done.stderr
        with (self.folder / "commands.out").open("a") as file:
            file.write(f"$ {' '.join(map(str, words))}\n{said}[status {done.returncode}]\n")
        assert done.returncode == 0 or not check, said
        return said

    def printed(self, job: str) -> str:
        return (self.folder / f"slurm-{job}.out").read_text()

    def end(self, job: str, state: str = "COMPLETED") -> dict[str, str]:
        """Waits until a job has ended, which must be in this state."""
        facts = self.site.wait(job)
        assert facts["JobState"] == state, (facts, self.printed(job))
        return facts

    def wait_for_rows(self, job: str, rows: int = 4, folder: str = "output") -> None:
        """Waits until the run of a job has written so many rows of energies."""
        path = self.folder / folder / "energy.csv"
        self.site.wait(job, lambda _: path.exists() and path.read_bytes().count(b"\n") >= rows)

    def report(self, folder: str = "output") -> dict[str, Any]:
        return dict(json.loads((self.folder / folder / "report.json").read_text()))

    def sizes(self, folder: str = "output") -> tuple[int, int, int]:
        """Returns hosts, ranks and threads of a rank of the run."""
        report = self.report(folder)
        return report["halo"]["hosts"] if report.get("halo") else 1, report["ranks"], report["threads"]

    def keep(self) -> None:
        place = LOGS / re.sub(r"[^\w.-]+", "-", self.folder.name)
        place.mkdir(parents=True)
        for path in self.folder.glob("*.out"):
            shutil.copy(path, place)
        said = [self.site.run("scontrol", "show", "job", job, cwd=self.folder, check=False).stdout for job in self.jobs]
        (place / "jobs").write_text("".join(said))


Start = Callable[..., Case]


@pytest.fixture
def start(site: Slurm, small_water: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Start]:
    """A function that makes a case with a run file of these settings; of several in a test, each has a name. Jobs that
    are left at its end are cancelled."""
    cases: list[Case] = []

    def make(settings: Settings, name: str = "") -> Case:
        folder = tmp_path / f"{request.node.name.removeprefix('test_')}{name and f'[{name}]'}"
        folder.mkdir()
        base: Settings = {"input.system": str(small_water), "output.folder": "output"}
        cases.append(Case(site, folder, {**SHORT_RANGE, **base, **settings}))
        write_run_file(folder / "run.toml", cases[-1].settings)
        return cases[-1]

    yield make
    site.run("scancel", f"--user={user_name()}", cwd=tmp_path)
    for case in cases:
        for job in case.jobs:
            site.wait(job)
        case.keep()


@pytest.fixture
def expected(runs: Runs, small_water: Path) -> Callable[[Settings], str]:
    """A function that returns the bits of the same run on one rank, without Slurm."""
    return lambda settings: runs.hash_of_one_rank(small_water, {**settings, "output.checkpoint_every": 0})


Expected = Callable[[Settings], str]


@pytest.mark.parametrize("mpi", FLAVOURS)
@pytest.mark.parametrize(("hosts", "each"), SIZES)
def test_srun_starts_ranks(start: Start, expected: Expected, mpi: str, hosts: int, each: int) -> None:
    case = start(SETTINGS)
    ranks = str(hosts * each)
    options = [f"--nodes={hosts}", f"--ntasks={ranks}", f"--mpi={KINDS[mpi]}", "--kill-on-bad-exit=1"]
    case.run("srun", *options, "tessera-md", "run.toml")
    assert case.sizes() == (hosts, hosts * each, 1)
    assert case.report()["state_hash"] == expected(SETTINGS)


def test_ranks_that_would_not_find_each_other_are_refused(start: Start) -> None:
    case = start(SETTINGS)
    said = case.run("srun", "--ntasks=2", "tessera-md", "run.toml", check=False)
    assert "use srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH)" in said
    for kind in KINDS.values():
        said = case.run("srun", "--ntasks=2", f"--mpi={kind}", "tessera", "run", "run.toml", check=False)
        assert "a launcher has started several copies of this command" in said
    assert not (case.folder / "output").exists()


@pytest.mark.parametrize("mpi", FLAVOURS)
@pytest.mark.parametrize(("hosts", "each"), SIZES)
def test_a_job_runs_on_all_its_hosts(start: Start, expected: Expected, mpi: str, hosts: int, each: int) -> None:
    case = start(SETTINGS)
    options = [f"--nodes={hosts}", f"--ntasks-per-node={each}", "--time=30"]
    facts = case.end(job := case.submit(*options, SCRIPTS / "job.sh", "--mpi", mpi))
    assert case.sizes() == (hosts, hosts * each, 1), case.printed(job)
    assert case.report()["state_hash"] == expected(SETTINGS)
    names = case.run("scontrol", "show", "hostnames", facts["NodeList"]).split()
    assert names == case.site.hosts[:hosts] and case.report()["machine"]["name"] == names[0]


@pytest.mark.parametrize("mpi", FLAVOURS)
def test_a_job_of_srun(start: Start, expected: Expected, mpi: str) -> None:
    case = start(SETTINGS)
    job = case.submit("--nodes=2", "--ntasks-per-node=2", "--time=30", SCRIPTS / "srun.sh", KINDS[mpi])
    case.end(job)
    assert case.sizes() == (2, 4, 1) and case.report()["state_hash"] == expected(SETTINGS)


@pytest.mark.parametrize("launcher", ["mpirun", "srun"])
@pytest.mark.parametrize("mpi", FLAVOURS)
@pytest.mark.parametrize("hosts", [1, 2])
def test_ranks_have_the_threads_of_their_tasks(
    start: Start, expected: Expected, mpi: str, launcher: str, hosts: int
) -> None:
    """Two cores a task: no rank may say that its threads share one."""
    case = start(SETTINGS)
    chosen = {"TESSERA_MPIRUN": f"srun --mpi={KINDS[mpi]}"} if launcher == "srun" else {}
    options = [f"--nodes={hosts}", "--ntasks-per-node=1", "--cpus-per-task=2", "--time=30"]
    case.end(job := case.submit(*options, SCRIPTS / "job.sh", "--mpi", mpi, **chosen))
    assert case.sizes() == (hosts, hosts, 2) and "share" not in case.printed(job).split("phase ")[0]
    assert case.report()["state_hash"] == expected(SETTINGS)


@pytest.mark.parametrize("mpi", FLAVOURS)
def test_a_command_of_salloc(start: Start, expected: Expected, mpi: str) -> None:
    """It is carried out on the login host, and its ranks on those of the job."""
    case = start(SETTINGS)
    case.run("salloc", "--nodes=2", "--ntasks=4", "tessera", "run", "run.toml", "--mpi", mpi)
    assert case.sizes() == (2, 4, 1) and case.report()["machine"]["name"] == case.site.hosts[0]
    case.run("salloc", "--cpus-per-task=2", "tessera", "run", "run.toml", "--set", "output.folder=alone")
    assert case.sizes("alone") == (1, 1, 2) and case.report("alone")["machine"]["name"] == case.site.hosts[0]
    assert case.report()["state_hash"] == case.report("alone")["state_hash"] == expected(SETTINGS)


def goes_on(case: Case, mpi: str, expected: Expected) -> None:
    """Submits the script again, which goes on to a step after that where the run has stopped."""
    stopped = case.report()["last_step"]
    steps = stopped + 10
    case.end(case.submit(*ON_ONE, SCRIPTS / "job.sh", "--mpi", mpi, "--set", f"dynamics.steps={steps}"))
    report = case.report()
    assert (report["first_step"], report["last_step"]) == (stopped, steps)
    assert report["state_hash"] == expected({**SETTINGS, "dynamics.steps": steps})


@pytest.mark.parametrize("mpi", FLAVOURS)
@pytest.mark.parametrize("script", ["job.sh", "srun.sh"])
def test_a_signal_that_is_sent_by_hand(start: Start, expected: Expected, mpi: str, script: str) -> None:
    case = start({**ENDLESS, "output.checkpoint_every": 0})
    words = ["--mpi", mpi] if script == "job.sh" else [KINDS[mpi]]
    job = case.submit(*ON_ONE, SCRIPTS / script, *words)
    case.wait_for_rows(job)
    case.run("scancel", *(["--batch"] if script == "job.sh" else []), "--signal=USR1", job)
    assert case.end(job, "FAILED")["ExitCode"] == "138:0"
    assert "stopped by a signal at step" in case.printed(job)
    goes_on(case, mpi, expected)


def limit(case: Case, job: str, in_minutes: int) -> None:
    """Waits until the run of a job is under way, and sets the job a limit, for a slow machine makes few steps in it."""
    case.wait_for_rows(job, 8)
    elapsed = minutes(case.site.facts(job)["RunTime"])
    case.run("scontrol", "update", f"JobId={job}", f"TimeLimit={elapsed + in_minutes}")


def minutes(text: str) -> int:
    """Returns the whole minutes of [days-]hours:minutes:seconds."""
    days, _, clock = text.rpartition("-")
    hours, whole, _ = map(int, clock.split(":"))
    return 60 * (24 * int(days or 0) + hours) + whole


def test_a_signal_ahead_of_the_limit(start: Start, expected: Expected) -> None:
    """Both MPIs at once, each on a host, since Slurm looks at limits twice a minute."""
    cases = {mpi: start({**ENDLESS, "output.checkpoint_every": 0}, mpi) for mpi in FLAVOURS}
    options: list[str | Path] = [*ON_ONE, "--signal=B:USR1@60", SCRIPTS / "job.sh"]
    jobs = {mpi: case.submit(*options, "--mpi", mpi) for mpi, case in cases.items()}
    for mpi, case in cases.items():
        limit(case, jobs[mpi], 2)
    for mpi, case in cases.items():
        assert case.end(jobs[mpi], "FAILED")["ExitCode"] == "138:0"
        assert "stopped by a signal at step" in case.printed(jobs[mpi])
        goes_on(case, mpi, expected)


def test_a_job_that_is_killed_at_its_limit_goes_on(start: Start, expected: Expected) -> None:
    """Without --signal Slurm sends SIGTERM, and SIGKILL some seconds later: at worst the last checkpoint is there."""
    cases = {mpi: start(ENDLESS, mpi) for mpi in FLAVOURS}
    jobs = {
        mpi: case.submit(*ON_ONE, "--wrap", f"exec tessera run run.toml --mpi {mpi}") for mpi, case in cases.items()
    }
    for mpi, case in cases.items():
        limit(case, jobs[mpi], 1)
    for mpi, case in cases.items():
        case.end(jobs[mpi], "TIMEOUT")
        begin = last_checkpoint(case)
        more = ["--mpi", mpi, "--set", f"dynamics.steps={begin + 10}"]
        case.end(case.submit(*ON_ONE, SCRIPTS / "job.sh", *more))
        report = case.report()
        assert (report["first_step"], report["last_step"]) == (begin, begin + 10)
        assert report["state_hash"] == expected({**SETTINGS, "dynamics.steps": begin + 10})


def last_checkpoint(case: Case) -> int:
    """Returns the step of the last checkpoint, which must be whole."""
    said = case.run("tessera", "verify", "output/checkpoint.tck")
    found = re.search(r"step ([\d,]+)", said)
    assert found is not None, said
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("mpi", FLAVOURS)
def test_a_job_goes_back_into_the_queue(start: Start, expected: Expected, mpi: str) -> None:
    """By itself where it is asked to stop, and by the administrator, who kills it and lets it go later."""
    case = start(ENDLESS)
    job = case.submit(*ON_ONE, SCRIPTS / "requeue.sh", "--mpi", mpi)
    case.wait_for_rows(job)
    case.run("scancel", "--batch", "--signal=USR1", job)
    case.site.wait(job, lambda facts: facts["Restarts"] == "1" and facts["JobState"] == "RUNNING")
    assert "stopped by a signal at step" in case.printed(job)
    rows = (case.folder / "output" / "energy.csv").read_bytes().count(b"\n")
    case.wait_for_rows(job, rows + 4)
    case.run("scontrol", "requeuehold", job)
    case.site.wait(job, lambda facts: facts["JobState"] in ("PENDING", "REQUEUE_HOLD"))
    begin = last_checkpoint(case)
    write_run_file(case.folder / "run.toml", {**case.settings, "dynamics.steps": begin + 10})
    case.run("scontrol", "release", job)
    assert case.end(job)["Restarts"] == "2"
    report = case.report()
    assert (report["first_step"], report["last_step"]) == (begin, begin + 10)
    assert report["state_hash"] == expected({**SETTINGS, "dynamics.steps": begin + 10})


@pytest.mark.parametrize("mpi", FLAVOURS)
def test_an_array_of_jobs(start: Start, expected: Expected, mpi: str) -> None:
    bath: Settings = {**SETTINGS, "dynamics.ensemble": "nvt"}
    case = start(bath)
    job = case.submit("--ntasks=2", "--nodes=1", "--time=30", "--array=1-3%2", SCRIPTS / "array.sh", "--mpi", mpi)
    for number in (1, 2, 3):
        case.site.wait(f"{job}_{number}")
        assert case.report(f"output-{number}")["state_hash"] == expected({**bath, "dynamics.seed": number})
        assert case.sizes(f"output-{number}") == (1, 2, 1)


def test_a_job_sees_its_cores_alone(start: Start) -> None:
    case = start(SETTINGS)
    text = "tessera run run.toml -t auto --dry-run; tessera run run.toml -t 2; cat /proc/self/cgroup"
    case.end(job := case.submit("--ntasks=1", "--cpus-per-task=1", "--time=30", "--wrap", text))
    said = case.printed(job)
    assert case.site.cores > 1 and "run.toml -t 1\n" in said
    assert "2 threads share 1 core of" in said
    if case.site.has_cgroups:
        assert re.search(rf"cpuset:/slurm_{case.site.hosts[0]}/\S*job_{job}", said), said


@pytest.mark.parametrize("mpi", FLAVOURS)
def test_each_rank_of_srun_has_its_cores(start: Start, mpi: str) -> None:
    case = start(SETTINGS)
    tell = f"{sys.executable} -c 'import os; print(\"cores\", sorted(os.sched_getaffinity(0)))'"
    options = ["--nodes=1", "--ntasks=2", "--cpus-per-task=1", f"--mpi={KINDS[mpi]}"]
    said = case.run("srun", *options, "sh", "-c", f"{tell}; exec tessera-md run.toml")
    assert sorted(re.findall(r"cores (.*)", said)) == ["[0]", "[1]"]
    assert case.sizes() == (1, 2, 1) and "share" not in said.split("phase ")[0]
