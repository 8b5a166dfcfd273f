"""Options that the commands `prepare`, `make` and `replicate` share."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from tessera.prepare.errors import InputError
from tessera.prepare.summary import describe, summary
from tessera.system import System, SystemFileError, write
from tessera.system.model import FloatArray


class SeveralValues(click.Command):
    """A command in which a repeatable option also takes several values: `--params A B`.

    click reads one value an option, so `--params A B` is spelled out as `--params A --params B`
    before it parses. Positional arguments must stand before such an option.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeatable = {
            name
            for option in self.params
            if isinstance(option, click.Option) and option.multiple
            for name in option.opts
        }
        return super().parse_args(ctx, _spell_out(args, repeatable))


def _spell_out(args: list[str], repeatable: set[str]) -> list[str]:
    out: list[str] = []
    current: str | None = None
    has_value = False
    for word in args:
        if word.startswith("-") and not word[1:2].isdigit():
            current = word if word in repeatable else None
            has_value = False
            out.append(word)
            continue
        if current is not None and has_value:
            out.append(current)
        has_value = True
        out.append(word)
    return out


def output_option(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `-o/--output` and `--json`."""
    function = click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")(function)
    return click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="The system file to write (SYS.tsr).",
    )(function)


def pairing_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--trust-order`."""
    return click.option(
        "--trust-order",
        is_flag=True,
        help="Take the rows of the coordinate file in their order, regardless of atom names.",
    )(function)


def box_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--box A B C` and `--vacuum`."""
    function = click.option("--vacuum", is_flag=True, help="Use no periodic box, even if a file has one.")(function)
    return click.option(
        "--box",
        nargs=3,
        type=float,
        default=None,
        metavar="A B C",
        help="Edges of the box in Å; default: those of the input. Required, or --vacuum, if the input has no box.",
    )(function)


def box_of(edges: tuple[float, float, float] | None) -> FloatArray | None:
    """Returns (3,3) Å from three edges. Raises `InputError` where one is no positive length."""
    if edges is None:
        return None
    if not all(np.isfinite(e) and e > 0 for e in edges):
        raise InputError(f"--box needs three positive lengths in Å, found {list(edges)}")
    return np.diag(np.array(edges, np.float64))


def run(make: Callable[[Callable[[str], None]], System], output: Path, as_json: bool) -> None:
    """Makes a system, writes it and prints its summary; an input error ends the program with status 2."""
    started = time.perf_counter()
    try:
        if not output.parent.is_dir():
            raise InputError(f"the folder of {output} does not exist")
        with progress(quiet=as_json) as report:
            system = make(report)
            report("writing")
            write(system, output)
    except (InputError, SystemFileError, OSError) as error:
        click.echo(f"tessera: error: {error}", err=True)
        raise SystemExit(2) from None
    facts: dict[str, Any] = summary(system, output, time.perf_counter() - started)
    click.echo(json.dumps(facts) if as_json else describe(facts))


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows a spinner on a terminal, and nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda text: status.update(text)
