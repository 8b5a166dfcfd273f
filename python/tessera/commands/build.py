"""`tessera build` builds molecules from sequences and shapes, and measures those that are there."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tessera.errors import InputError
from tessera.printing import echo, end

FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def build() -> None:
    """Build double helices of DNA, and measure them."""


@build.command(name="analyse")
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the parameters of every step and pair as one JSON object.")
def analyse_command(file: Path, as_json: bool) -> None:
    """Measure the double helix in FILE: a PDB, mmCIF or system file. Proteins, water and ions beside it do not count.

    Steps between base pairs have shift, slide, rise, tilt, roll and twist, and pairs shear, stretch, stagger, buckle,
    propeller and opening, in Å and degrees, by the convention of 3DNA. The superhelix is the one nearest to the path of
    the pairs; there is none where the path makes less than a quarter of a turn.

    \b
    Examples:
      tessera build analyse 1kx5.pdb
      tessera build analyse dna.tsr --json
    """
    from tessera.build.dna.analyse import analyse

    try:
        found = analyse(file)
    except (InputError, OSError) as error:
        raise end(error) from None
    echo(json.dumps(found.facts()) if as_json else found.text())


if __name__ == "__main__":
    build()
