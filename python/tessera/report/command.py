"""`tessera report` writes a run up as one page."""

from __future__ import annotations

from pathlib import Path

import click

from tessera.commands.bar import bar
from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.printing import echo, end


@click.command()
@click.argument("folder", metavar="RUN", type=AnyPath())
@click.option("-o", "--output", type=AnyPath(dir_okay=False), help="The page [RUN/report.html].")
@click.option("--quick", is_flag=True, help="Leave out checksums and the check of files, which read all of them.")
def report(folder: Path, output: Path | None, quick: bool) -> None:
    """Write the run or the protocol in RUN up as one page of HTML, to send to somebody: what was simulated in words,
    plots, means, drift, speed, files with checksums, how to do it again, and which works to cite.

    The page needs no other file and no network. The same run gives the same page.

    \b
    Examples:
      tessera report output
      tessera report output -o report.html --quick
    """
    from tessera.report.citations import works
    from tessera.report.files import files_of
    from tessera.report.page import write_page
    from tessera.report.run import runs_of
    from tessera.verify import size_of

    output = folder / "report.html" if output is None else output
    try:
        if output.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{output}: the name of a page has to end in .html")
        runs = runs_of(folder)
        files = []
        if not quick:
            with bar(folder.name, size_of(folder), False) as progress:
                files = [one for one in files_of(folder, progress) if Path(one.name).name != output.name]
        write_page(output, folder, runs, files, works([run.settings for run in runs]))
    except (InputError, OSError) as error:
        raise end(error) from None
    echo(str(output))
