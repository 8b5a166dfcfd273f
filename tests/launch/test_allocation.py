"""What Slurm's variables say of a job, and the commands that follow from it. tests/cluster/test_slurm.py runs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tessera import launch
from tessera.launch.slurm import Allocation, allocation, flavour_of_srun, options_of_srun
from tests.support.programs import ROOT, script

SLURM = ("SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_JOB_NUM_NODES")
SLURM += ("SLURM_JOB_CPUS_PER_NODE", "SLURMD_NODENAME")
SLURM += ("SLURM_HET_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_PTY_PORT", "SLURM_MPI_TYPE")
ALL_BUILT = {flavour: Path(f"/bin/tessera-md-{flavour}") for flavour in launch.FLAVOURS}


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SLURM, "TESSERA_MPIRUN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that puts this process into a job, with variables by the names that follow `SLURM_`."""

    def enter(**variables: str) -> None:
        for name, value in {"JOB_ID": "7", **variables}.items():
            monkeypatch.setenv(f"SLURM_{name}", value)

    return enter


@pytest.fixture
def srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return str(script(tmp_path / "srun", 'echo "slurm 22.05.8"'))


@pytest.mark.parametrize(
    ("variables", "expected"),  # as sbatch set them that was given the options of the comment
    [
        ({"TASKS_PER_NODE": "1", "JOB_NUM_NODES": "1"}, Allocation(1, None, 1)),  # none
        ({"TASKS_PER_NODE": "1(x2)", "JOB_NUM_NODES": "2"}, Allocation(2, None, 2)),  # -N 2
        ({"TASKS_PER_NODE": "64(x2),8", "JOB_NUM_NODES": "3"}, Allocation(136, None, 3)),  # -N 3 --exclusive
        ({"TASKS_PER_NODE": "2,1", "NTASKS": "3", "JOB_NUM_NODES": "2"}, Allocation(3, None, 2)),  # -N 2 -n 3
        ({"TASKS_PER_NODE": "1", "CPUS_PER_TASK": "8", "JOB_NUM_NODES": "1"}, Allocation(1, 8, 1)),  # -c 8
        (
            {"TASKS_PER_NODE": "2(x2)", "NTASKS": "4", "CPUS_PER_TASK": "2", "JOB_NUM_NODES": "2"},
            Allocation(4, 2, 2),  # -N 2 --ntasks-per-node=2 -c 2
        ),
    ],
)
def test_a_job_is_read(job: Callable[..., None], variables: dict[str, str], expected: Allocation) -> None:
    assert allocation() is None
    job(**variables)
    assert allocation() == expected


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"NTASKS": "many"}, "SLURM_NTASKS is 'many'; expected a number of at least 1"),
        ({"NTASKS": "0"}, "SLURM_NTASKS is '0'"),
        ({"NTASKS": "1", "CPUS_PER_TASK": "-2"}, "SLURM_CPUS_PER_TASK is '-2'"),
        (
            {"TASKS_PER_NODE": "2(x"},
            r"SLURM_TASKS_PER_NODE is '2\(x'; expected numbers of nodes as Slurm writes them, as in 2\(x3\),1",
        ),
        ({"TASKS_PER_NODE": "2(x0)"}, "SLURM_TASKS_PER_NODE is"),
        ({"TASKS_PER_NODE": ""}, "SLURM_TASKS_PER_NODE is ''"),
        ({"JOB_CPUS_PER_NODE": "8,"}, "SLURM_JOB_CPUS_PER_NODE is '8,'"),
        ({"HET_SIZE": "2"}, r"heterogeneous: give the numbers of ranks \(-n\)"),
    ],
)
def test_what_is_not_understood_is_refused(job: Callable[..., None], variables: dict[str, str], said: str) -> None:
    job(**variables)
    with pytest.raises(launch.LaunchError, match=said):
        (allocation(), launch.threads_of_run(None, Path("none.toml"), ()))


Command = Callable[..., tuple[int, str]]
RUN = ("run", "run.toml", "--dry-run")


def test_a_run_takes_what_its_job_has(
    command: Command, job: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "-n" not in command(*RUN)[1].split()
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    job(NTASKS="6", TASKS_PER_NODE="3(x2)", CPUS_PER_TASK="4", JOB_NUM_NODES="2")
    _, said = command(*RUN, "--mpi", "openmpi")
    assert "-n 6 " in said and said.rstrip().endswith("run.toml -t 4") and "--oversubscribe" not in said
    _, said = command(*RUN, "--mpi", "openmpi", "-n", "3", "-t", "1")
    assert "-n 3 " in said and said.rstrip().endswith("run.toml -t 1")
    for words in (("-n", "1", "--set", "parallel.threads=2"), ("-n", "1")):
        (tmp_path / "run.toml").write_text("[parallel]\nthreads = 3\n" if len(words) == 2 else "# threads = 3\n")
        assert "-t" not in command(*RUN, *words)[1].split()
    (tmp_path / "run.toml").write_text("# threads = 3\n")
    assert command(*RUN, "-n", "1")[1].rstrip().endswith("-t 4")


def test_ranks_are_bound_where_all_hosts_of_a_job_have_cores_for_them(
    job: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "usable_cores", lambda: 4)
    launcher = launch.Launcher(("mpirun",), "openmpi")
    job(NTASKS="8", JOB_NUM_NODES="2")
    assert "--bind-to" not in launch._options(launcher, "openmpi", 8, 1)
    assert "--bind-to" in launch._options(launcher, "openmpi", 9, 1)
    job(NTASKS="8", JOB_NUM_NODES="2", JOB_CPUS_PER_NODE="16(x2),1")  # this host has nothing to say of others
    assert "--bind-to" not in launch._options(launcher, "openmpi", 33, 1)
    assert launch.threads_of_a_rank("auto", 8) == 4


def test_one_rank_runs_on_a_host_of_its_job(
    srun: str, job: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(srun).parent))
    alone = ["/bin/tessera-md-serial", "run.toml", "-t", "2"]
    assert launch.engine_command(["run.toml"], threads=2, built=ALL_BUILT) == alone
    job(NTASKS="1")  # a shell that salloc has started
    to_host = ["srun", "--nodes=1", "-n", "1", "--kill-on-bad-exit=1", "--cpus-per-task=2"]
    assert launch.engine_command(["run.toml"], threads=2, built=ALL_BUILT) == [*to_host, *alone]
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    assert launch.engine_command(["run.toml"], threads=2, built=ALL_BUILT) == alone


def test_srun_starts_ranks_with_options_of_its_own(
    srun: str, job: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    job(NTASKS="2", CPUS_PER_TASK="4")
    for kind, flavour in (("pmix", "openmpi"), ("pmi2", "mpich"), ("pmix_v4", "openmpi")):
        monkeypatch.setenv("TESSERA_MPIRUN", f"{srun} --mpi={kind}")
        assert launch.engine_command(["run.toml"], ranks=2, threads=4, built=ALL_BUILT) == [
            srun, f"--mpi={kind}", "-n", "2", "--kill-on-bad-exit=1", "--cpus-per-task=4",
            f"/bin/tessera-md-{flavour}", "run.toml", "-t", "4",
        ]  # fmt: skip
    monkeypatch.setenv("TESSERA_MPIRUN", srun)
    with pytest.raises(launch.LaunchError, match="unknown MPI"):
        launch.engine_command(["run.toml"], ranks=2, built=ALL_BUILT)
    with pytest.raises(launch.LaunchError, match="takes the hosts of its job"):
        launch.engine_command(["run.toml"], ranks=2, mpi="mpich", hostfile=Path("hosts"), built=ALL_BUILT)


def test_what_srun_is_asked_for_is_left_to_it() -> None:
    assert options_of_srun(("srun",), 3, 1) == ["-n", "3", "--kill-on-bad-exit=1"]
    for words in (("srun", "-c", "2"), ("srun", "-c2"), ("srun", "--cpus-per-task=2")):
        assert options_of_srun(words, 3, 2) == ["-n", "3", "--kill-on-bad-exit=1"]
    assert flavour_of_srun(("srun", "--mpi", "pmi2"), {"SLURM_MPI_TYPE": "pmix"}) == "mpich"
    assert flavour_of_srun(("srun",), {"SLURM_MPI_TYPE": "pmix"}) == "openmpi"
    assert flavour_of_srun(("srun", "--mpi=none"), {}) is None


def test_copies_of_the_command_are_refused(job: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    job(NTASKS="2", STEP_NUM_TASKS="2", PROCID="1")
    with pytest.raises(launch.LaunchError, match="started several copies of this command"):
        launch.engine_command(["run.toml"], ranks=2, built=ALL_BUILT)
    monkeypatch.setenv("SLURM_PTY_PORT", "1")  # a shell of srun --pty
    monkeypatch.setenv("TESSERA_MPIRUN", "true")
    assert launch.engine_command(["run.toml"], ranks=2, mpi="mpich", built=ALL_BUILT)[:3] == ["true", "-n", "2"]


def test_the_guide_shows_the_scripts_that_are_run() -> None:
    text = (ROOT / "docs" / "guide" / "parallel.md").read_text()
    for name in ("job.sh", "srun.sh", "requeue.sh"):
        assert f"```sh\n{(ROOT / 'examples' / 'slurm' / name).read_text()}```" in text
