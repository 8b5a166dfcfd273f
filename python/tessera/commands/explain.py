"""`tessera explain` shows the plan of a run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click

from tessera import launch
from tessera.files import AnyPath
from tessera.select.run import selection_arguments


@click.command()
@click.argument("run_file", type=AnyPath())
@click.option(
    "--ranks", "-n", default=1, show_default=True, help="Number of ranks to plan for; none of them is started."
)
@click.option(
    "--cores-per-node",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Plan for hosts of N cores each [the map's, or this host's].",
)
@launch.threads_option
@launch.overrides_option
@click.option(
    "--measured-steps",
    type=click.IntRange(0, launch.MOST_MEASURED_STEPS),
    metavar="N",
    help="Number of steps to measure on this machine; 0: none, for systems that do not fit here [those of a second, at "
    "least 10].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@launch.dry_run_option
def explain(
    run_file: Path,
    ranks: int,
    cores_per_node: int | None,
    threads: int | str | None,
    overrides: tuple[str, ...],
    measured_steps: int | None,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Show the plan of a run of RUN_FILE on that many ranks: cells, grids, messages, memory, files.

    It starts none of these ranks, so a laptop can plan for a cluster.

    \b
    Examples:
      tessera explain run.toml --ranks 64
      tessera explain run.toml --ranks 4096 -t 4 --cores-per-node 64 --json
    """
    if ranks < 1:
        raise click.UsageError(f"{ranks} ranks; give at least 1")
    if ranks > launch.MOST_RANKS:
        raise click.UsageError(f"{ranks} ranks; give at most {launch.MOST_RANKS:,}")
    arguments = ["--explain", str(run_file), "--ranks", str(ranks)]
    if threads == launch.AUTO:
        arguments.append("--fill-cores")
        if cores_per_node is not None:
            threads = None  # hosts of their own, not this one
    threads = launch.threads_of_a_rank(threads, ranks)
    if cores_per_node is not None:
        arguments += ["--cores-per-node", str(cores_per_node)]
    if measured_steps is not None:
        arguments += ["--measured-steps", str(measured_steps)]
    if as_json:
        arguments.append("--json")
    for override in overrides:
        arguments += ["--set", override]
    with tempfile.TemporaryDirectory() as folder:
        found = [] if dry_run else selection_arguments(run_file, overrides, folder=Path(folder))
        if found:  # the file must be there until the engine has read it
            command = launch.engine_command([*arguments, *found], threads=threads, oversubscribe=True)
            status = subprocess.run(command).returncode
            sys.exit(status if status >= 0 else 128 - status)
    launch.start(arguments, threads=threads, oversubscribe=True, dry_run=dry_run)  # threads of the planned machine
