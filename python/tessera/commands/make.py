"""`tessera make` makes systems that need no input files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessera.commands.options import Means, means_options, output_option, run
from tessera.printing import echo
from tessera.system import System

if TYPE_CHECKING:
    from tessera.build.copies import Copies


@click.group()
def make() -> None:
    """Make a system without input files, for tests and measurements."""


@make.command()
@click.option(
    "--atoms", required=True, type=click.IntRange(max=10**30), help="Number of atoms, rounded to whole molecules."
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, 2**63 - 1),
    help="Seed for the shift and orientation of the liquid in the box.",
)
@means_options
@output_option
def water(atoms: int, seed: int, means: Means, output: Path, as_json: bool) -> None:
    """Make a box of rigid TIP3P water at 0.997 g/cm³, near equilibrium. From 5 million atoms on it consists of whole
    tiles of 648 atoms, and need not fit into memory.

    \b
    Example:
      tessera make water --atoms 24000 -o water.tsr
    """
    from tessera.build.memory import BYTES_PER_ATOM_OF_LIQUID, check_memory
    from tessera.build.water import WHOLE_TILES_FROM, make_water, tiles
    from tessera.ranks import of_launcher

    if atoms < WHOLE_TILES_FROM and not of_launcher().is_root:
        return  # the root has such a box in memory, and makes it alone

    def build() -> System | Copies:
        if atoms >= WHOLE_TILES_FROM:
            return tiles(atoms, seed)
        check_memory(BYTES_PER_ATOM_OF_LIQUID * atoms, means.memory)
        return make_water(atoms, seed)

    run(_said(build, atoms, "atoms", output, means), output, as_json, means)


@make.command()
@click.option(
    "--ions", required=True, type=click.IntRange(max=10**30), help="Number of ions, rounded to whole unit cells."
)
@click.option(
    "--potential",
    type=click.Choice(["charmm", "dlpoly"]),
    default="charmm",
    show_default=True,
    help="charmm: Lennard-Jones of CHARMM36's ions; dlpoly: Born–Huggins–Mayer of DL_POLY's benchmark (Tosi and Fumi "
    "1964).",
)
@means_options
@output_option
def nacl(ions: int, potential: str, means: Means, output: Path, as_json: bool) -> None:
    """Make a rock-salt crystal of sodium and chloride. It need not fit into memory.

    \b
    Examples:
      tessera make nacl --ions 8000 -o nacl.tsr
      tessera make nacl --ions 27000 --potential dlpoly -o nacl.tsr
    """
    from tessera.build.nacl import crystal

    run(_said(lambda: crystal(ions, potential), ions, "ions", output, means), output, as_json, means)


def _said(
    build: Callable[[], System | Copies], wanted: int, what: str, output: Path, means: Means
) -> Callable[[Callable[[str], None]], System | Copies]:
    """Returns a function that builds the system and prints a note where the number was rounded."""

    def made(report: Callable[[str], None]) -> System | Copies:
        from tessera.build.memory import check_copies

        report("building")
        found = build()
        if isinstance(found, System):
            n_atoms = found.n_atoms
        else:
            check_copies(found, output, means.memory, means.processes)
            n_atoms = found.system.n_atoms
        if n_atoms != wanted:
            echo(f"tessera: note: {wanted:,} {what} rounded to {n_atoms:,}", err=True)
        return found

    return made


if __name__ == "__main__":
    make()
