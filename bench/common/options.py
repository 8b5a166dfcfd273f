"""Options that all scripts have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bench.common.results import ROOT


@dataclass(frozen=True)
class Common:
    """The values of options that all scripts have: folders of inputs and of files to write, and what is printed."""

    work: Path
    results: Path
    data: Path | None
    as_json: bool
    docs: bool

    def say(self, text: str) -> None:
        """Prints progress to standard error, so that --json stays readable."""
        click.echo(text, err=True)


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --layout, --mpi and --cutoff, which are the same for all runs of a script."""
    for option in (
        click.option("--cutoff", default=12.0, show_default=True, help="Å."),
        click.option("--mpi", default="openmpi", show_default=True, help="MPI of a layout with several ranks."),
        click.option("--layout", default="1x2", show_default=True, help="RANKSxTHREADS."),
    ):
        command = option(command)
    return command


def common_options(
    *, steps: int | None = None, repeats: int | None = None, steps_help: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds --steps and --repeats with these defaults, unless there is none; the other common options arrive as one
    argument `common`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            common = Common(
                work=given.pop("work").resolve(),
                results=given.pop("results").resolve(),
                data=given.pop("data"),
                as_json=given.pop("as_json"),
                docs=given.pop("docs"),
            )
            function(common=common, **given)

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
        folder = click.Path(path_type=Path, file_okay=False)
        of_runs = []
        if steps is not None:
            of_runs.append(
                click.option("--steps", type=click.IntRange(0), default=steps, show_default=True, help=steps_help)
            )
        if repeats is not None:
            times = "Number of times that each run is done."
            of_runs.append(
                click.option("--repeats", type=click.IntRange(1), default=repeats, show_default=True, help=times)
            )
        for option in reversed(
            [
                *of_runs,
                click.option(
                    "--data",
                    type=folder,
                    envvar="TESSERA_DATA",
                    help="Folder of the data sets; default: $TESSERA_DATA.",
                ),
                click.option(
                    "--work",
                    type=folder,
                    default=ROOT / "build" / "bench",
                    help="Folder for prepared systems and runs; default: build/bench.",
                ),
                click.option(
                    "--results",
                    type=folder,
                    default=ROOT / "build" / "bench" / "results",
                    help="Folder for NAME.json and NAME.md; default: build/bench/results.",
                ),
                click.option("--docs", is_flag=True, help="Put the tables into docs/records."),
                click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
            ]
        ):
            command = option(command)
        return command

    return decorate


def questions(text: str | None, *commands: click.Command) -> click.Group:
    """Returns a script whose first word is the question that it answers."""
    options = {"help_option_names": ["-h", "--help"]}
    return click.Group(commands={one.name or "": one for one in commands}, help=text, context_settings=options)
