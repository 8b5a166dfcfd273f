"""`tessera energy` computes energies and forces of one configuration."""

from __future__ import annotations

from pathlib import Path

import click

from tessera import launch
from tessera.files import AnyPath


@click.command()
@click.argument("system", type=AnyPath())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--forces", type=AnyPath(), help="Write forces (n,3), kcal/mol/Å, to this NumPy file.")
@click.option("-n", "--ranks", default=1, show_default=True, help="Number of MPI ranks.")
@launch.threads_option
@launch.overrides_option
@launch.mpi_option
@launch.oversubscribe_option
@launch.dry_run_option
def energy(
    system: Path,
    as_json: bool,
    forces: Path | None,
    ranks: int,
    threads: int | str | None,
    overrides: tuple[str, ...],
    mpi: str,
    oversubscribe: bool,
    dry_run: bool,
) -> None:
    """Compute energies by term (kcal/mol) of the configuration in SYSTEM (*.tsr).

    \b
    Examples:
      tessera energy dhfr.tsr
      tessera energy dhfr.tsr --json --set interactions.cutoff=9 --set interactions.switch=8
      tessera energy dhfr.tsr -n 4 --forces forces.npy --set parallel.precision=double
    """
    arguments = ["--energy", str(system)]
    if as_json:
        arguments.append("--json")
    if forces is not None:
        arguments += ["--forces", str(forces)]
    for override in overrides:
        arguments += ["--set", override]
    launch.start(
        arguments, ranks=ranks, threads=threads, mpi=mpi, oversubscribe=oversubscribe, dry_run=dry_run,
        after_loss="nothing was written",
    )  # fmt: skip
