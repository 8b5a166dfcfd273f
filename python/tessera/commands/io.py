"""`tessera io` measures how fast ranks write files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from tessera import launch
from tessera.files import AnyPath
from tessera.io.bench import FORMATS, METHODS, USUAL_FORMATS, Request, choose, commands, measure, put_into_map
from tessera.machine.quantities import whole_of
from tessera.printing import echo


class Words(click.ParamType):
    """A list of words on the command line, with commas between."""

    name = "words"

    def __init__(self, known: tuple[str, ...]) -> None:
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        words = tuple(value) if isinstance(value, (list, tuple)) else tuple(str(value).split(","))
        for word in words:
            if word not in self.known:
                self.fail(f"{word!r} is unknown; they are {', '.join(self.known)}", param, ctx)
        return words


class Counts(click.ParamType):
    """A list of numbers of ranks on the command line: 1,2,4."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        words = value if isinstance(value, (list, tuple)) else str(value).split(",")
        if not all(0 < (whole_of(str(word)) or 0) < 2**31 for word in words):
            self.fail(f"{value!r} are no numbers of ranks; write 4, or 1,2,4", param, ctx)
        return tuple(sorted({int(word) for word in words}))


@click.group()
def io() -> None:
    """Measure how fast ranks write files, and keep it in the machine file."""


@io.command()
@click.argument("folder", metavar="DIR", type=AnyPath())
@click.option("-n", "--ranks", type=Counts(), metavar="N,…", help="Numbers of ranks [1 and this host's cores].")
@click.option(
    "--atoms",
    type=click.IntRange(1, 2**40),
    default=1_000_000,
    show_default=True,
    help="Number of atoms of the configuration.",
)
@click.option(
    "--methods", type=Words(METHODS), metavar="NAME,…", help=f"Methods to measure, of {', '.join(METHODS)} [all]."
)
@click.option(
    "--formats", type=Words(FORMATS), metavar="NAME,…",
    help=f"Of {', '.join(FORMATS)} [{', '.join(USUAL_FORMATS)}; as owned also without netcdf].",
)  # fmt: skip
@click.option(
    "--order", type=click.Choice(["sorted", "owned"]), default="sorted", show_default=True,
    help="Atoms by number, or rank after rank.",
)  # fmt: skip
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Repeats of each measurement; their median is reported.",
)
@click.option("--hostfile", type=AnyPath(), help="Host file in the format of the MPI's launcher.")
@launch.parallel_mpi_option
@launch.oversubscribe_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--plot", type=AnyPath(), help="Also draw MB/s by ranks (PNG, PDF, SVG).")
@click.option("-o", "--output", type=AnyPath(), help="The machine file to write it into.")
@click.option("--dry-run", is_flag=True, help="Print the commands that would be run and stop.")
def bench(
    folder: Path,
    ranks: tuple[int, ...] | None,
    atoms: int,
    methods: tuple[str, ...] | None,
    formats: tuple[str, ...] | None,
    order: str,
    repeats: int,
    hostfile: Path | None,
    mpi: str,
    oversubscribe: bool,
    as_json: bool,
    plot: Path | None,
    output: Path | None,
    dry_run: bool,
) -> None:
    """Write a configuration to DIR by every method, format and number of ranks; recommend one.

    Times end when all is on the disk. Methods take turns, and so does a writer of raw bytes. Nothing is left in DIR.

    \b
    Examples:
      tessera io bench /scratch
      tessera io bench /scratch -n 1,2,4 --atoms 10000000 -o map.json --plot io.png
      tessera io bench /scratch -n 64 --hostfile hosts --methods segments,pdaw,mpiw-collective --formats text
    """
    request = Request(
        folder=folder,
        ranks=ranks or tuple(sorted({1, launch.usable_cores()})),
        atoms=atoms,
        methods=methods or METHODS,
        formats=formats or tuple(name for name in USUAL_FORMATS if order == "sorted" or name != "netcdf"),
        order=order,
        repeats=repeats,
        mpi=mpi,
        hostfile=hostfile,
        oversubscribe=oversubscribe,
    )
    if dry_run:
        for _, command in commands(request):
            echo(shlex.join(command))
        return
    results = measure(request, lambda line: echo(f"tessera: {line}", err=True))
    results["recommendation"] = _recommended(results, request)
    if output is not None:
        put_into_map(results, output)
        echo(f"wrote {output}", err=True)
    if plot is not None:
        from tessera.io.plot import plot_results

        plot_results(results, plot)
        echo(f"wrote {plot}", err=True)
    if as_json:
        echo(json.dumps(results, indent=2))
    else:
        _print(results)


def _recommended(results: dict[str, Any], request: Request) -> dict[str, Any]:
    """Asks the engine's own rule, by a machine file that is removed again."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        map_file = Path(folder) / "map.json"
        put_into_map(results, map_file)
        return choose(
            map_file,
            Path(results["folder"]) / "file",
            ranks=request.ranks[-1],
            atoms=request.atoms,
            formats=request.formats,
            order=request.order,
        )


def _print(results: dict[str, Any]) -> None:
    from rich.console import Console

    from tessera.io.text import left_out, ranks_text, ratio_table, ratios, recommendation, table_of

    console = Console(highlight=False, soft_wrap=True)
    system = results["file_system"]
    order = "sorted by number" if results["order"] == "sorted" else "as ranks own them"
    console.print(
        f"{results['folder']} ({system['kind']} of {system['folder']}): {results['atoms']:,} atoms {order}; medians, "
        "until all is on the disk",
        markup=False,
    )
    console.print(table_of(results))
    for name, why in left_out(results).items():
        console.print(f"{name} is left out: it {why}")
    if ratios(results):
        console.print("as Todorov et al. found it, and here:")
        console.print(ratio_table(results))
    console.print(f"recommended with {ranks_text(results['runs'][-1]['ranks'])}:")
    console.print(recommendation(results, results["recommendation"]), markup=False)
