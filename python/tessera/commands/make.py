"""`tessera make` makes systems that need no input files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from tessera.prepare.options import output_option, run
from tessera.system import System


@click.group()
def make() -> None:
    """Make a system without input files, for tests and measurements."""


@make.command()
@click.option("--atoms", required=True, type=int, help="Atoms; rounded to whole molecules.")
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, 2**63 - 1),
    help="Seed for the shift and orientation of the liquid in the box.",
)
@output_option
def water(atoms: int, seed: int, output: Path, as_json: bool) -> None:
    """Make a box of rigid TIP3P water at 0.997 g/cm³, near equilibrium.

    \b
    Example:
      tessera make water --atoms 24000 -o water.tsr
    """
    from tessera.build.water import make_water

    run(_said(lambda: make_water(atoms, seed), atoms, "atoms"), output, as_json)


@make.command()
@click.option("--ions", required=True, type=int, help="Ions; rounded to whole unit cells.")
@output_option
def nacl(ions: int, output: Path, as_json: bool) -> None:
    """Make a rock-salt crystal of sodium and chloride (CHARMM's parameters).

    \b
    Example:
      tessera make nacl --ions 8000 -o nacl.tsr
    """
    from tessera.build.nacl import make_nacl

    run(_said(lambda: make_nacl(ions), ions, "ions"), output, as_json)


def _said(build: Callable[[], System], wanted: int, what: str) -> Callable[[Callable[[str], None]], System]:
    """Returns a function that builds the system and prints a note where the number was rounded."""
    from tessera.build.memory import BYTES_PER_ATOM, BYTES_PER_ATOM_OF_LIQUID, check_memory

    bytes_per_atom = BYTES_PER_ATOM_OF_LIQUID if what == "atoms" else BYTES_PER_ATOM

    def made(report: Callable[[str], None]) -> System:
        check_memory(wanted, f"make fewer {what}", bytes_per_atom)
        report("building")
        system = build()
        if system.n_atoms != wanted:
            click.echo(f"tessera: note: {wanted:,} {what} rounded to {system.n_atoms:,}", err=True)
        return system

    return made


if __name__ == "__main__":
    make()
