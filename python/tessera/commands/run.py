"""`tessera run` runs a simulation."""

from __future__ import annotations

from pathlib import Path

import click

from tessera import launch
from tessera.files import AnyPath
from tessera.machine.quantities import Finite
from tessera.select.run import selection_arguments
from tessera.watch.alarm import drift_limit_option
from tessera.watch.events import events_of


@click.command()
@click.argument("run_file", required=False, type=AnyPath())
@launch.ranks_of_run_option
@launch.threads_option
@click.option("--restart", is_flag=True, help="Continue from the last checkpoint in the output folder.")
@click.option(
    "--max-hours",
    type=Finite(min=1e-9, max=launch.MOST_HOURS),
    metavar="H",
    help="Stop with a checkpoint before H hours of wall-clock time have passed.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Before step 1, time splits of Ewald's sum and take the fastest; checkpoints record it.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "gpu"]),
    help="Where forces are computed, in place of parallel.device; the result is the same.",
)
@launch.overrides_option
@launch.mpi_option
@launch.oversubscribe_option
@click.option(
    "--on-event", metavar="COMMAND",
    help="Start COMMAND at the end of the run and at an alarm of its drift, without a shell and for 30 s at most; "
    "TESSERA_EVENT and others say what happened.",
)  # fmt: skip
@drift_limit_option
@click.option("--print-defaults", is_flag=True, help="Print a run file with every key and stop.")
@launch.dry_run_option
def run(
    run_file: Path | None,
    ranks: int,
    threads: int | str | None,
    restart: bool,
    max_hours: float | None,
    tune: bool,
    device: str | None,
    overrides: tuple[str, ...],
    mpi: str,
    oversubscribe: bool,
    on_event: str | None,
    drift_limit: float,
    print_defaults: bool,
    dry_run: bool,
) -> None:
    """Run the simulation that RUN_FILE (TOML) describes, or its stages one after the other.

    The result is bitwise the same on any number of ranks and threads. Paths in the run file are
    relative to it, paths in --set to the working directory. In a job of Slurm's, a rank is
    started for each task (--ntasks), with a thread for each of its cores (--cpus-per-task), on
    the hosts of the job.

    \b
    Examples:
      tessera run --print-defaults > run.toml
      tessera run run.toml -n 4
      tessera run run.toml -n 2 -t 4 --set dynamics.steps=50000
      tessera run run.toml -n 8 --restart --max-hours 24
      tessera run run.toml --device gpu
      sbatch --ntasks=256 --wrap "tessera run run.toml"
      TESSERA_MPIRUN="srun --mpi=pmix" tessera run run.toml
      tessera run run.toml --on-event "./tell.sh me@example.org"
    """
    if print_defaults:
        launch.start(["--print-defaults"], dry_run=dry_run)
        return
    if run_file is None:
        raise click.UsageError("give a run file; `tessera run --print-defaults > run.toml` writes one to start from")
    arguments = [launch.word_of(run_file), *(["--restart"] if restart else []), *(["--tune"] if tune else [])]
    if device is not None:
        overrides = (f"parallel.device={device}", *overrides)
    threads = launch.threads_of_run(threads, run_file, overrides)
    if max_hours is not None:
        arguments += ["--max-hours", str(max_hours)]
    for override in overrides:
        arguments += ["--set", override]
    if not dry_run:
        arguments += selection_arguments(run_file, overrides, restart)
    if ranks > 1 and not dry_run:
        launch.check(arguments, ranks)
    launch.start(
        arguments,
        ranks=ranks,
        threads=threads,
        mpi=mpi,
        oversubscribe=oversubscribe,
        dry_run=dry_run,
        around=events_of(on_event, run_file, overrides, drift_limit) if on_event is not None else None,
        is_run=True,
    )
