"""Options that the commands `prepare`, `make` and `replicate` share."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from tessera.build.copies import Copies
from tessera.launch import usable_cores
from tessera.prepare.coordinates import box_from_lengths
from tessera.prepare.errors import InputError
from tessera.prepare.summary import describe, summary
from tessera.system import System, SystemFileError, write
from tessera.system.blocks import Rows
from tessera.system.model import FloatArray

Triple = tuple[float, float, float]


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
    """Adds `--box` and `--box-angles`, of which the function gets the vectors (3,3) Å as `box`, and `--vacuum`."""

    @functools.wraps(function)
    def with_vectors(*, box: Triple | None, box_angles: Triple | None, **others: Any) -> None:
        try:
            vectors = _vectors(box, box_angles)
        except InputError as error:
            raise end(error) from None
        function(box=vectors, **others)

    with_box = click.option("--vacuum", is_flag=True, help="Use no periodic box, even if a file has one.")(with_vectors)
    with_box = click.option(
        "--box-angles",
        nargs=3,
        type=float,
        default=None,
        metavar="ALPHA BETA GAMMA",
        help="Angles of the box of --box in degrees, of B and C, A and C, A and B; default: 90. A is along x.",
    )(with_box)
    return click.option(
        "--box",
        nargs=3,
        type=float,
        default=None,
        metavar="A B C",
        help="Edges of the box in Å; default: those of the input. Required, or --vacuum, if the input has no box.",
    )(with_box)


def _vectors(edges: Triple | None, angles: Triple | None) -> FloatArray | None:
    if edges is None:
        if angles is not None:
            raise InputError("--box-angles are those of a box whose edges --box gives: add --box A B C")
        return None
    if not all(np.isfinite(e) and e > 0 for e in edges):
        raise InputError(f"--box needs three positive lengths in Å, found {list(edges)}")
    return box_from_lengths(edges, angles or (90.0, 90.0, 90.0))


def end(error: Exception) -> SystemExit:
    """Prints what is wrong with the input. Returns what ends the program."""
    click.echo(f"tessera: error: {error}", err=True)
    return SystemExit(2)


@dataclass(frozen=True)
class Means:
    """What may be used to make a system: bytes of memory and processes."""

    memory: int
    processes: int


def means_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--memory` and `--processes`, of which the function gets `means`."""

    @functools.wraps(function)
    def with_means(*, memory: float, processes: int | None, **others: Any) -> None:
        function(means=Means(int(memory * 1e9), processes or usable_cores()), **others)

    with_processes = click.option(
        "--processes",
        type=click.IntRange(min=1),
        help="How many processes make it; default: one a core. The file is the same with any.",
    )(with_means)
    return click.option(
        "--memory",
        default=2.0,
        show_default=True,
        type=click.FloatRange(min=0, min_open=True),
        metavar="GB",
        help="How much memory may be used; the file is the same with any.",
    )(with_processes)


def run(
    make: Callable[[Callable[[str], None]], System | Copies],
    output: Path,
    as_json: bool,
    means: Means | None = None,
) -> None:
    """Makes a system, writes it and prints its summary; an input error ends the program with status 2. Copies are made
    by these means while they are written."""
    started = time.perf_counter()
    try:
        if not output.parent.is_dir():
            raise InputError(f"the folder of {output} does not exist")
        with progress(quiet=as_json) as report:
            made = make(report)
            report("writing")
            if isinstance(made, Copies):
                system = made.system
                assert means is not None
                rows = made.rows(means.memory, means.processes)
                write(system, output, _reported(rows, system.n_atoms, report))
            else:
                system = made
                write(system, output)
    except (InputError, SystemFileError, OSError) as error:
        raise end(error) from None
    except BrokenProcessPool:
        problem = "a process that made a part of the system was killed, perhaps for want of memory; lower --processes"
        raise end(InputError(problem)) from None
    facts: dict[str, Any] = summary(system, output, time.perf_counter() - started)
    click.echo(json.dumps(facts) if as_json else describe(facts))


def _reported(rows: Iterator[Rows], n_atoms: int, report: Callable[[str], None]) -> Iterator[Rows]:
    """Yields the rows, and says how far they are and when the rest will be written."""
    started, done = time.perf_counter(), 0
    for part in rows:
        yield part
        done += len(part.id)
        left = (time.perf_counter() - started) * (n_atoms - done) / max(done, 1)
        report(f"writing: {done:,} of {n_atoms:,} atoms, {left:,.0f} s left")


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows a spinner on a terminal, and nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda text: status.update(text)
