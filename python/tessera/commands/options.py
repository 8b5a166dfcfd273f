"""Options that the commands `prepare`, `make` and `replicate` share."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from tessera import launch
from tessera.build.streamed import Streamed
from tessera.commands.peaks import Peaks, memory_facts
from tessera.commands.summary import describe, summary
from tessera.errors import InputError
from tessera.files import AnyPath, check_free
from tessera.launch.supervision import supervise
from tessera.machine.quantities import Finite
from tessera.prepare.coordinates import box_from_lengths
from tessera.printing import echo, end
from tessera.ranks import EndedElsewhere, Ranks, fork, of_launcher
from tessera.system import System, write
from tessera.system.model import FloatArray
from tessera.system.scratch import bounded
from tessera.way import Way

Triple = tuple[float, float, float]
#: makes a system, and says with the function that it gets what it does
Make = Callable[[Callable[[str], None]], System | Streamed]
Function = TypeVar("Function", bound=Callable[..., Any])


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
        type=AnyPath(dir_okay=False),
        help="The system file to write (SYS.tsr).",
    )(function)


def memory_option(text: str, default: float = 2.0) -> Callable[[Function], Function]:
    """Returns what adds `--memory GB` with this help."""
    return click.option(
        "--memory",
        default=default,
        show_default=True,
        type=Finite(min=0, min_open=True),
        metavar="GB",
        help=text,
    )


def bounded_output(function: Callable[..., Make]) -> Callable[..., None]:
    """Adds `-o/--output`, `--json` and `--memory`, which bounds what is taken from the topology on. The function
    returns what makes the system, which is then written."""

    @functools.wraps(function)
    def with_bound(*, memory: float, output: Path, as_json: bool, **others: Any) -> None:
        with bounded(int(memory * 1e9), output.parent):
            run(function(output=output, **others), output, as_json)

    return output_option(
        memory_option(
            "How much memory may be used when the inputs have been read; the file is the same with any. Reading takes "
            "what the reader of the format takes."
        )(with_bound)
    )


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


@dataclass(frozen=True)
class Means:
    """What may be used to make a system: bytes of memory of each rank, and processes of a rank."""

    memory: int
    processes: int


def on_ranks(ranks: int | None, mpi: str, oversubscribe: bool) -> int:
    """Starts this command on several ranks and ends with it, where it is asked to and is not started so. Returns the
    number of ranks that the launcher started."""
    started = of_launcher().size
    if started == 1 and ranks is not None and ranks > 1:
        command = launch.tessera_command(sys.argv[1:], ranks=ranks, mpi=mpi, oversubscribe=oversubscribe)
        sys.exit(supervise(command, "nothing was written"))
    if ranks is not None and ranks != started:
        raise click.UsageError(f"-n {ranks}, but the launcher started {started} ranks; leave -n away")
    return started


def _rank_options(text: str) -> tuple[Callable[..., Any], ...]:
    """Returns the options that `on_ranks` takes, with this help of the number of ranks."""
    ranks = click.option("-n", "--ranks", type=click.IntRange(min=1), help=text)
    return launch.oversubscribe_option, launch.parallel_mpi_option, ranks


def ranks_options(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds `-n/--ranks`, `--mpi` and `--oversubscribe`, by which the command starts itself on several ranks."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def with_ranks(*, ranks: int | None, mpi: str, oversubscribe: bool, **others: Any) -> None:
            on_ranks(ranks, mpi, oversubscribe)
            function(**others)

        for option in _rank_options(text):
            with_ranks = option(with_ranks)
        return with_ranks

    return decorate


def way_options(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options of a command that writes such a file by several ranks; the function gets `way`, on each rank."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def with_way(
            *, ranks: int | None, mpi: str, oversubscribe: bool, method: str, order: str, writers: int, batch: int,
            **others: Any,
        ) -> None:  # fmt: skip
            on_ranks(ranks, mpi, oversubscribe)
            function(way=Way.of(method, order, writers, batch), **others)

        for option in (
            click.option(
                "--batch",
                type=click.IntRange(min=0),
                default=0,
                help="Atoms that a rank sends or formats at a time; 0: as the machine file suggests.",
            ),
            click.option(
                "--writers",
                type=click.IntRange(min=0),
                default=0,
                help="Number of ranks that write; 0: as the machine file suggests.",
            ),
            click.option(
                "--order",
                type=click.Choice(["sorted", "owned"]),
                default="sorted",
                show_default=True,
                help="Atoms by number, or rank after rank, which is the same file here.",
            ),
            click.option(
                "--method",
                default="auto",
                show_default=True,
                help=f"How ranks write {what} (docs/guide/io.md); auto: as the machine file TESSERA_MACHINE suggests, "
                "else pdaw.",
            ),
            *_rank_options(f"MPI ranks that write {what} together. The file is the same with any."),
        ):
            with_way = option(with_way)
        return with_way

    return decorate


def means_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--memory` and `--processes`, of which the function gets `means`, and `-n/--ranks`, `--mpi` and
    `--oversubscribe`, by which the command starts itself on several ranks."""

    @functools.wraps(function)
    def with_means(
        *, memory: float, processes: int | None, ranks: int | None, mpi: str, oversubscribe: bool, **others: Any
    ) -> None:
        started = on_ranks(ranks, mpi, oversubscribe)
        if started > 1 and processes is not None and processes > 1:
            raise click.UsageError(f"--processes {processes} on {started} ranks; leave it away and start more ranks")
        own = 1 if started > 1 else processes or launch.usable_cores()
        function(means=Means(int(memory * 1e9), own), **others)

    for option in (
        *_rank_options(
            "Number of MPI ranks that make it, in place of processes; or start the command by mpirun. The file is the "
            "same with any."
        ),
        click.option(
            "--processes",
            type=click.IntRange(min=1),
            help="How many processes make it; default: one a core. The file is the same with any.",
        ),
        memory_option("How much memory may be used, by each rank or by all processes; the file is the same with any."),
    ):
        with_means = option(with_means)
    return with_means


def run(make: Make, output: Path, as_json: bool, means: Means | None = None) -> None:
    """Makes a system, writes it and prints its summary; an input error ends the program with status 2. What is made
    part by part is made by these means while it is written, on all ranks of the launcher."""
    started = time.perf_counter()
    ranks = of_launcher()
    try:
        check_free(output, force=True)
        peaks = Peaks()
        with progress(quiet=as_json) as show:

            def report(text: str) -> None:
                peaks.begin(text.partition(":")[0])
                show(text)

            made = make(report)
            report("writing")
            if isinstance(made, System):
                system = made
                write(system, output)
            else:
                assert means is not None
                _write_parts(made, output, means, ranks, report)
                system = made.system
            peaks.end()
    except (InputError, OSError) as error:
        raise end(error) from None
    of_ranks = [peaks.phases] if isinstance(made, System) else ranks.all(peaks.phases)
    if ranks.is_root:
        facts: dict[str, Any] = summary(system, output, time.perf_counter() - started)
        facts["memory"] = memory_facts(peaks.start, of_ranks, system.n_atoms)
        echo(json.dumps(facts) if as_json else describe(facts))


def _write_parts(made: Streamed, output: Path, means: Means, ranks: Ranks, report: Callable[[str], None]) -> None:
    """Writes them together with all ranks, or with forks of this process. Raises `InputError` where one is killed."""
    system = made.system
    workers = max(ranks.size, means.processes)
    parts = made.parts(means.memory, means.processes, workers)
    say = _reported(system.n_atoms, report)
    if ranks.size > 1:
        write(system, output, parts, ranks, say)
        return
    try:
        fork(min(means.processes, parts.count), lambda forks: write(system, output, parts, forks, say))
    except EndedElsewhere as error:
        raise InputError(str(error)) from None


def _reported(n_atoms: int, report: Callable[[str], None]) -> Callable[[int], None]:
    """Returns a function that says how far the atoms are, and when the rest will be written."""
    started = time.perf_counter()

    def say(done: int) -> None:
        left = (time.perf_counter() - started) * (n_atoms - done) / max(done, 1)
        report(f"writing: {done:,} of {n_atoms:,} atoms, {left:,.0f} s left")

    return say


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Shows a spinner on a terminal, and nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda text: status.update(text)
