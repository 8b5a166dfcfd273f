"""`tessera clashes` finds atoms in one place, bonds through rings and knots, and turns groups until no atoms clash."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tessera.commands.options import progress
from tessera.errors import InputError
from tessera.files import AnyPath, check_free
from tessera.printing import echo, end

FILE = AnyPath(dir_okay=False)
LEFT = 75  # the exit status where something is left


@click.command()
@click.argument("file", type=FILE)
@click.option("--fix", is_flag=True, help="Turn phosphates and side chains, and write the file with new coordinates.")
@click.option("--tails", is_flag=True, help="Pose ends of proteins anew with --fix, where nothing else mends a clash.")
@click.option("-o", "--output", type=FILE, metavar="OUT", help="The file to write with --fix, of the kind of FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON object.")
def clashes(file: Path, fix: bool, tails: bool, output: Path | None, as_json: bool) -> None:
    """Find clashes in FILE, a PDB, mmCIF or system file: atoms nearer than 0.9 Å that more than three bonds join, or
    none. In a box nearest images count. Bonds through rings and knots in backbones are found too.

    With --fix, phosphates of nucleic acids turn about the line from O3' to the next C5' (φ), and side chains of
    proteins about the bond of Cα and Cβ (χ). Bonds keep their lengths; what no turn mends is named. All else in the
    file stays as it is. With --tails too, up to 40 residues at an end of a protein may turn about a bond of its
    backbone (φ or ψ) where these turns mend nothing.

    The exit status is 0 if nothing is left, and 75 if clashes, bonds through rings or knots are.

    \b
    Examples:
      tessera clashes 1kx5.pdb
      tessera clashes model.cif --fix -o mended.cif
      tessera clashes fiber.tsr --fix --tails -o mended.tsr --json
    """
    from tessera.build.clashes.files import kind_of
    from tessera.build.clashes.report import clashes_of

    try:
        if fix != (output is not None):
            raise InputError("--fix needs -o OUT" if fix else "-o is of --fix: give both, or none to look only")
        if tails and not fix:
            raise InputError("--tails is of --fix: give both, or none to look only")
        if output is not None and kind_of(Path(f"_{output.suffix}")) != kind_of(file):
            raise InputError(
                f"{output.name} has another kind of name than {file.name}: `tessera export` changes formats"
            )
        if output is not None:
            check_free(output, force=True)
        with progress(quiet=as_json) as report:
            found = clashes_of(file, output, report, tails)
    except (InputError, OSError) as error:
        raise end(error) from None
    if as_json:
        echo(json.dumps(found.facts()))
    else:
        echo("\n".join([found.text(), *(f"note: {note}" for note in found.molecules.notes)]))
    if found.left:
        raise SystemExit(LEFT)


if __name__ == "__main__":
    clashes()
