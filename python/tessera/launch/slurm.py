"""Reads from the environment what Slurm has given to a job: how many ranks, and cores of each.

The variables are those of sbatch(1), salloc(1) and srun(1). `SLURM_NTASKS` is set where the job asks for tasks, and
`SLURM_TASKS_PER_NODE` always; without tasks it has as many as there are cores for them, which is what an `mpirun`
starts, too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from tessera.launch.supervision import LaunchError
from tessera.machine.quantities import whole_of


@dataclass(frozen=True)
class Allocation:
    """What a job has: ranks, cores of each rank (None: it did not ask for a number), hosts, and cores of all (None:
    unknown)."""

    ranks: int
    cores: int | None
    hosts: int
    all_cores: int | None = None


def allocation() -> Allocation | None:
    """Returns what Slurm's job has; None outside a job. Raises `LaunchError` where its variables can't be understood,
    or where the job is of several kinds of hosts, each with numbers of its own."""
    if "SLURM_JOB_ID" not in os.environ:
        return None
    if (whole_of(os.environ.get("SLURM_HET_SIZE", "")) or 0) > 1:
        raise LaunchError("this job of Slurm's is heterogeneous: give the numbers of ranks (-n) and threads (-t)")
    ranks = _number("SLURM_NTASKS")
    if ranks is None:
        ranks = _sum_of_nodes("SLURM_TASKS_PER_NODE") or 1
    hosts, cores = (
        _number("SLURM_JOB_NUM_NODES") or 1,
        _sum_of_nodes("SLURM_JOB_CPUS_PER_NODE"),
    )
    return Allocation(ranks, cores_of_a_rank(), hosts, cores)


def words_of_its_host(threads: int) -> list[str]:
    """Returns the words that start one process on the job's first host, where this process is not on one: `salloc`
    leaves its shell on the host where it was called."""
    is_elsewhere = "SLURM_JOB_ID" in os.environ and "SLURMD_NODENAME" not in os.environ
    if not is_elsewhere or shutil.which("srun", path=os.environ.get("PATH")) is None:
        return []
    return ["srun", "--nodes=1", *options_of_srun(("srun",), 1, threads)]


def cores_of_a_rank() -> int | None:
    """Returns the cores that Slurm's job has for each rank; None where it did not ask for a number. Raises
    `LaunchError`."""
    return _number("SLURM_CPUS_PER_TASK")


def _number(name: str) -> int | None:
    text = os.environ.get(name)
    if text is None:
        return None
    number = whole_of(text)
    if number is None or number < 1:
        raise LaunchError(f"{name} is {text!r}; expected a number of at least 1, as Slurm sets it")
    return number


def _sum_of_nodes(name: str) -> int | None:
    """Returns the sum of what nodes have, which is seven where the variable is `2(x3),1`."""
    text = os.environ.get(name)
    if text is None:
        return None
    count = 0
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:\(x(\d{1,9})\))?", part)
        if match is None or int(match[1]) < 1 or int(match[2] or 1) < 1:
            raise LaunchError(f"{name} is {text!r}; expected numbers of nodes as Slurm writes them, as in 2(x3),1")
        count += int(match[1]) * int(match[2] or 1)
    return count


def is_srun(words: tuple[str, ...]) -> bool:
    """Returns whether a launcher is Slurm's own."""
    return os.path.basename(words[0]) == "srun"


def flavour_of_srun(words: tuple[str, ...], environment: Mapping[str, str] = os.environ) -> str | None:
    """Returns the MPI whose ranks find each other by what `srun` is asked for: PMIx is Open MPI's way, PMI-2 that of
    MPICH; None where it is asked for neither."""
    asked = [environment.get("SLURM_MPI_TYPE", "")]
    for word, following in zip(words, (*words[1:], "")):
        if word.startswith("--mpi"):
            asked.append(word.partition("=")[2] or following)
    return {"pmix": "openmpi", "pmi2": "mpich"}.get(asked[-1].partition("_")[0])


def options_of_srun(words: tuple[str, ...], ranks: int, threads: int) -> list[str]:
    """Returns the options by which `srun` starts ranks. It does not take the cores of a rank from the job (since Slurm
    22.05), and without them all threads of a rank would share one core. A rank that is killed ends the others."""
    options = ["-n", str(ranks), "--kill-on-bad-exit=1"]
    has_cores = any(re.match(r"-c|--cpus-per-task", word) for word in words)
    return options if has_cores or threads == 1 else [*options, f"--cpus-per-task={threads}"]
