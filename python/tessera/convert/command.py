"""`tessera convert` makes a run file of the settings of another program."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import click

from tessera.commands.options import SeveralValues
from tessera.convert.model import brief
from tessera.convert.option import named
from tessera.files import AnyPath
from tessera.printing import are, counted, echo


@click.command(cls=SeveralValues)
@click.argument("inputs", nargs=-1, required=True, type=AnyPath())
@click.option("-o", "--output", type=AnyPath(dir_okay=False), help="The run file to write.")
@click.option(
    "--from",
    "source",
    default="",
    metavar="PROGRAM[@VERSION]",
    help="gromacs, namd, amber, genesis, openmm or charmm-gui; default: as files look. The version decides defaults "
    "that have changed.",
)
@click.option(
    "--system",
    default="system.tsr",
    show_default=True,
    type=AnyPath(),
    help="The system file, as the run file is to name it.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME=SELECTION",
    help="The atoms of a group that the settings name, as a selection of MDAnalysis; repeatable.",
)
@click.option("--lenient", is_flag=True, help="Go on without options that have no counterpart and are no physics.")
@click.option("--force", is_flag=True, help="Replace a file of that name.")
@click.option("--json", "as_json", is_flag=True, help="Print a table of all options: line, option, value, status, key.")
def convert(
    inputs: tuple[Path, ...],
    output: Path | None,
    source: str,
    system: Path,
    groups: tuple[str, ...],
    lenient: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Make a run file of the settings of another program: GROMACS (.mdp), NAMD, AMBER (mdin),
    GENESIS or OpenMM (XML).

    INPUTS is a file of settings, a folder with one, or an archive of CHARMM-GUI, whose steps become stages. Every
    option is translated, told to be without meaning here, or refused with its line; what is not given has that
    program's default, not Tessera's. Where an option is refused, nothing is written. Without -o the run file is
    printed.

    \b
    Examples:
      tessera convert md.mdp --from gromacs@2022 --system protein.tsr -o run.toml
      tessera convert npt.mdp --group Water_and_ions='not protein' -o run.toml
      tessera convert equil.conf --json
      tessera convert charmm-gui-1234567890 --from gromacs -o protocol.toml
      tessera convert system.xml integrator.xml state.xml -o run.toml
    """
    from tessera.convert import convert as converted
    from tessera.convert.run_file import check_run_file
    from tessera.errors import InputError
    from tessera.files import check_free, replaced

    if output is not None:
        check_free(output, force)
    found = converted(inputs, str(system), source, dict(named(text) for text in groups), lenient)
    if as_json:
        table = [row.as_dict() for row in found.rows]
        document = {"program": found.program, "version": found.version, "options": table, "notes": found.notes}
        echo(json.dumps(document, ensure_ascii=False, indent=1))
    for row in found.refused:
        place = f"{row.file}:{row.line}" if row.line else f"{found.program}'s default"
        echo(f"tessera: refused: {place}: {brief(row.option)} = {brief(row.value)}: {row.note}", err=True)
    if n := len(found.refused):
        where = "nothing is written" if output else "there is no run file"
        raise InputError(f"{counted(n, 'option', len(found.rows))} {are(n)} refused, so {where}")
    for note in found.notes:
        echo(f"tessera: note: {note}", err=True)
    if output is not None:
        with replaced(output) as temporary:
            temporary.write_text(found.text, encoding="utf-8")
            check_run_file(temporary)
        counts = Counter(row.status for row in found.rows)
        known = counts["translated"] + counts["replaced"] + counts["agrees"]
        defaults = counted(counts["default"], "default")
        told = f"{counted(known, 'option')} translated, {counts['ignored']} without meaning here"
        told += f", {defaults} of {found.program}"
        if not as_json:
            echo(f"{output}: {told}")
            if found.prepare:
                echo(f"the system: {shlex.join(found.prepare)}")
    elif not as_json:
        echo(found.text, nl=False)
