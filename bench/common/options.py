"""Options that all scripts have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from bench.common.results import ROOT, Figure


@dataclass(frozen=True)
class Common:
    """The values of options that all scripts have: folders of inputs and of files to write, what is printed, and
    whether missed promises are a failure. `settings`: all options by name, for the figure."""

    work: Path
    results: Path
    data: Path | None
    as_json: bool
    docs: bool
    check: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def say(self, text: str) -> None:
        """Prints progress to standard error, so that --json stays readable."""
        click.echo(text, err=True)

    def figure(self, name: str, title: str, versions: Mapping[str, str] | None = None, **more: Any) -> Figure:
        """Returns a figure of this script, with its options and `more` as the settings."""
        return Figure(name, title, {**self.settings, **more}, dict(versions or {}))


FOLDER = click.Path(path_type=Path, file_okay=False)
HELP = {"help_option_names": ["-h", "--help"]}


def option(*names: str, **keys: Any) -> click.Option:
    return click.Option(names, **keys)


#: of all runs of a script
OF_RUNS = (
    option("--layout", default="1x2", show_default=True, help="RANKSxTHREADS."),
    option("--mpi", default="openmpi", show_default=True, help="MPI of a layout with several ranks."),
    option("--cutoff", default=12.0, show_default=True, help="Å."),
)
OF_ALL = (
    option("--data", type=FOLDER, envvar="TESSERA_DATA", help="Folder of the data sets; default: $TESSERA_DATA."),
    option(
        "--work",
        type=FOLDER,
        default=ROOT / "build" / "bench",
        help="Folder for prepared systems and runs; default: build/bench.",
    ),
    option(
        "--results",
        type=FOLDER,
        default=ROOT / "build" / "bench" / "results",
        help="Folder for NAME.json and NAME.md; default: build/bench/results.",
    ),
    option("--docs", is_flag=True, help="Put the tables into docs/records."),
    option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
)


def script(
    *,
    check: str = "",
    steps: int | None = None,
    repeats: int | None = None,
    steps_help: str = "",
    of_runs: bool = False,
) -> Callable[[Callable[..., None]], click.Command]:
    """Makes a command of a function and its own options. It has --steps and --repeats where they have a default,
    --check where `check` says what is a failure, and --layout, --mpi and --cutoff if it is `of_runs`. The options that
    all scripts have arrive as one argument `common`."""
    known = list(OF_RUNS if of_runs else ())
    if check:
        known.append(option("--check", is_flag=True, help=f"End with status 1 where {check}."))
    if steps is not None:
        least = min(steps, 1)  # 0 has a meaning where it is the default
        known.append(option("--steps", type=click.IntRange(least), default=steps, show_default=True, help=steps_help))
    if repeats is not None:
        times = "Number of times that each run is done."
        known.append(option("--repeats", type=click.IntRange(1), default=repeats, show_default=True, help=times))

    def decorate(function: Callable[..., None]) -> click.Command:
        own: list[click.Option] = list(reversed(getattr(function, "__click_params__", [])))

        def command(
            work: Path, results: Path, data: Path | None, as_json: bool, docs: bool, check: bool = False, **given: Any
        ) -> None:
            function(Common(work.resolve(), results.resolve(), data, as_json, docs, check, given), **given)

        name = function.__name__.replace("_", "-")
        text = inspect.cleandoc(function.__doc__ or "")
        return click.Command(name, HELP, command, [*own, *known, *OF_ALL], help=text)

    return decorate


def questions(text: str | None, *commands: click.Command) -> click.Group:
    """Returns a script whose first word is the question that it answers."""
    return click.Group(commands={one.name or "": one for one in commands}, help=text, context_settings=HELP)
