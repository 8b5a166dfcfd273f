"""`tessera grid` plans and times stencils on distributed grids."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera import launch
from tessera.commands.fft import Shape
from tessera.commands.io import Counts
from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.machine.quantities import Finite, bytes_text, table, time_text, whole_of
from tessera.printing import echo

if TYPE_CHECKING:
    from tessera.grid.bench import Request

#: What tessera.grid.Grid.rates returns.
RATES = ("point", "packing", "synchronising")
DTYPES = ("float32", "float64", "complex64", "complex128")


class Edges(click.ParamType):
    """Edges on the command line: xyz, xy, none."""

    name = "edges"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[bool, bool, bool]:
        if isinstance(value, tuple):
            return value
        text = "" if value == "none" else str(value)
        if set(text) - set("xyz") or len(set(text)) != len(text):
            self.fail(f"{value!r} are no edges; write xyz, a part of it such as xy, or none", param, ctx)
        return "x" in text, "y" in text, "z" in text


dtype_option = click.option("--dtype", type=click.Choice(DTYPES), default="float64", show_default=True)
order_option = click.option(
    "--order", type=click.Choice(["2", "4", "6", "8", "10", "12"]), default="4", show_default=True,
    help="Order of the Laplacian.",
)  # fmt: skip
machine_option = click.option(
    "--machine", "map_file", type=AnyPath(), envvar="TESSERA_MACHINE", show_envvar=True,
    help="Map from `tessera machine measure`; ranks fill its hosts in turn. Without a map all are on one host.",
)  # fmt: skip


@click.group()
def grid() -> None:
    """Plan and time stencils on distributed grids (tessera.grid)."""


@grid.command()
@click.argument("shape", type=Shape())
@click.option(
    "-n", "--ranks", required=True, type=click.IntRange(1, 2**31 - 1), help="Number of ranks, one for each core."
)
@click.option(
    "--grids",
    "--bands",
    "grids",
    required=True,
    type=click.IntRange(1, 10**6),
    help="Number of fields to which the stencil is applied.",
)
@click.option(
    "-t", "--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
    help="Number of cores of a rank in hybrid approaches.",
)  # fmt: skip
@machine_option
@order_option
@dtype_option
@click.option(
    "--periodic",
    type=Edges(),
    default="xyz",
    show_default=True,
    help="Edges along which fields repeat; beyond the others they are zero.",
)
@click.option(
    "--kpts", type=click.IntRange(1, 10**6), help="k-points (times spins): also divide the ranks for GPAW, by --bands."
)
@click.option(
    "--point", type=Finite(0, min_open=True),
    help="Time of a point on a core of another machine in ns; other rates are then assumed [all measured here].",
)  # fmt: skip
@click.option(
    "--overlap", type=Finite(0, 1),
    help="Share of computing during which messages progress [as `tessera grid bench -o` put it into the map; else 1].",
)  # fmt: skip
@click.option(
    "--flops", type=Finite(0, min_open=True), default=10.0, show_default=True,
    help="Rate of a core's matrix products in Gflop/s, for --kpts.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    shape: tuple[int, int, int],
    ranks: int,
    grids: int,
    threads: int,
    map_file: Path | None,
    order: str,
    dtype: str,
    periodic: tuple[bool, bool, bool],
    kpts: int | None,
    point: float | None,
    overlap: float | None,
    flops: float,
    as_json: bool,
) -> None:
    """Predict the time of a Laplacian on fields of SHAPE by each approach with its best batch; name the best.

    With --kpts, also print how GPAW should divide the ranks over k-points, bands and domains.

    \b
    Examples:
      tessera grid plan 192 -n 1024 -t 4 --grids 2816 --point 193
      tessera grid plan 96 -n 64 --bands 256 --kpts 4 --dtype complex128 --machine map.json
    """
    try:
        import tessera._core as core
    except ImportError as error:
        raise launch.LaunchError(
            f"the compiled part of tessera is missing ({error}); build it with `make build`"
        ) from None
    import numpy as np

    from tessera.grid.bench import overlap_of_map

    path = None if map_file is None else str(map_file)
    problem: dict[str, Any] = {
        "shape": shape, "periodic": periodic, "order": int(order), "bytes": np.dtype(dtype).itemsize, "ranks": ranks
    }  # fmt: skip
    try:
        if point is None:
            rates = measured_rates(core, shape, periodic, int(order), dtype, ranks, threads)
        else:  # of another machine
            rates = {**dict(zip(RATES, core.assumed_grid_rates())), "point": 1e-9 * point}
        known = None if map_file is None else overlap_of_map(map_file, ranks, threads)
        rates["overlap"] = overlap if overlap is not None else 1.0 if known is None else known
        content = json.loads(core.explain_grid(path, threads=threads, fields=grids, **problem, **rates))
        if kpts is not None:
            content["divisions"] = json.loads(
                core.divide_grid(path, kpoints=kpts, bands=grids, flops=1e9 * flops, **problem, **rates)
            )
            content["kpts"] = kpts
    except InputError as error:
        raise launch.LaunchError(str(error)) from None
    content |= {
        "dtype": dtype,
        "order": int(order),
        "rates": rates,
        "point_is_measured": point is None,
        "overlap_is": "given" if overlap is not None else "assumed" if known is None else "measured",
    }
    echo(json.dumps(content, indent=2) if as_json else plan_text(content, map_file))


def measured_rates(
    core: Any, shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], order: int, dtype: str, ranks: int,
    threads: int,
) -> dict[str, float]:  # fmt: skip
    """Returns the rates of this host's cores for the box of a rank of so many (tessera.grid.Grid.rates)."""
    cores = launch.usable_cores()
    processes = core.grid_processes(shape, periodic, ranks)
    found = core.measure_grid(
        box=[-(-n // p) for n, p in zip(shape, processes)],
        order=order,
        is_float=dtype in ("float32", "complex64"),
        is_complex=dtype.startswith("complex"),
        cores=cores,
        threads=min(threads, cores),
    )
    return dict(zip(RATES, found))


def batch_cells(one: dict[str, Any]) -> list[str]:
    """Returns batch and slope of an approach, which the original one has not."""
    return ["–", "–"] if one["approach"] == "flat-original" else [str(one["batch"]), str(one["slope"])]


def plan_text(content: dict[str, Any], map_file: Path | None) -> str:
    """Returns tables of the approaches, the quickest first, and of the divisions, and the choices."""
    approaches = content["approaches"]
    where = "of one host" if map_file is None else f"of {content['hosts']:,} hosts of {map_file}"
    rates = content["rates"]
    point = "measured here, as other rates of cores" if content["point_is_measured"] else "given, other rates assumed"
    source = {"given": "given", "measured": f"measured, in {map_file}", "assumed": "assumed: no map has a measured one"}
    lines = [
        f"{'×'.join(map(str, content['shape']))} points, {content['dtype']}, order {content['order']}, "
        f"{content['fields']:,} grids, {content['ranks']:,} cores {where}",
        f"times are predicted, from {time_text(rates['point'])} a point ({point}) and an overlap of "
        f"{rates['overlap']:.0%} of messages with computing ({source[content['overlap_is']]})",
        "",
    ]
    rows = [["approach", "ranks × threads", "processes", "batch", "slope", "time", "computing", "packing", "starting",
             "waiting", "synchronising"]]  # fmt: skip
    for one in approaches:
        rows.append(
            [
                one["approach"],
                f"{one['ranks']:,} × {one['threads']}",
                "×".join(map(str, one["processes"])),
                *batch_cells(one),
                *(
                    time_text(one[key])
                    for key in ("seconds", "computing", "packing", "starting", "waiting", "synchronising")
                ),
            ]
        )
    lines += table(rows, right=frozenset(range(3, 11)))
    lines += ["", "messages of a rank in an exchange, and the bytes that it sends for each grid, at most", ""]
    rows = [[one["approach"], f"{one['messages']:,} messages", bytes_text(one["bytes"])] for one in approaches]
    lines += [*table(rows, right=frozenset({1, 2})), ""]
    why = "least predicted time"
    if len(approaches) > 1:
        why += (
            f", {approaches[1]['seconds'] / approaches[0]['seconds']:.3g} times as quick as {approaches[1]['approach']}"
        )
    best = approaches[0]
    if best["approach"] != "flat-original":
        why = f"batches of {best['batch']}, slope {best['slope']}: {why}"
    lines.append(f"chosen: {content['chosen']}, because: {why}")
    lines += [f"left out: {one['approach']}, because: {one['why']}" for one in content["left_out"]]
    if "divisions" in content:
        lines += ["", *divisions_text(content)]
    return "\n".join(lines)


def gpaw_text(division: dict[str, Any]) -> str:
    x, y, z = division["domain"]
    return f"parallel={{'kpt': {division['kpt']}, 'domain': ({x}, {y}, {z}), 'band': {division['band']}}}"


def divisions_text(content: dict[str, Any]) -> list[str]:
    """Returns a table of the quickest divisions and the argument for GPAW."""
    divisions = content["divisions"]
    rows = [["groups of k-points", "of bands", "domain", "iteration", "stencils", "orthogonalisation"]]
    for one in divisions[:6]:
        rows.append(
            [
                f"{one['kpt']:,}",
                f"{one['band']:,}",
                "×".join(map(str, one["domain"])),
                *(time_text(one[key]) for key in ("seconds", "stencils", "orthogonalisation")),
            ]
        )
    return [
        f"GPAW with {content['kpts']:,} k-points and {content['fields']:,} bands; "
        f"the quickest of {len(divisions):,} divisions of {content['ranks']:,} ranks",
        "",
        *table(rows, right=frozenset({0, 1, 3, 4, 5})),
        "",
        gpaw_text(divisions[0]),
    ]


@grid.command()
@click.argument("shape", type=Shape(), default="96")
@click.option("-n", "--ranks", type=Counts(), metavar="N,…", help="Numbers of ranks [1 and this host's cores].")
@click.option("-t", "--threads", type=Counts(), metavar="N,…", help="Threads of a rank [1 and this host's cores].")
@click.option("--grids", type=click.IntRange(1, 10**6), default=32, show_default=True, help="Number of fields.")
@click.option("--approaches", metavar="NAME,…", help="Approaches to measure, of tessera.grid.approaches() [all].")
@click.option(
    "--batches",
    type=Counts(),
    metavar="N,…",
    default="1,2,4,8",
    show_default=True,
    help="Numbers of fields that one message holds.",
)
@click.option(
    "--slopes",
    metavar="N,…",
    default="0",
    show_default=True,
    help="Number of smaller batches with which the exchange begins.",
)
@order_option
@dtype_option
@machine_option
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="Repeats of each measurement; their median is reported.",
)
@launch.parallel_mpi_option
@launch.oversubscribe_option
@click.option(
    "--shared-memory/--messages",
    default=True,
    help="Ranks of a host read each other's faces [default], or send messages as between hosts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o", "--output", type=AnyPath(exists=True, dir_okay=False),
    help="The map to put the overlap into, for `tessera grid plan --machine`.",
)  # fmt: skip
@click.option("--plot", "picture", type=AnyPath(), help="Also draw times by batch (PNG, PDF, SVG).")
@click.option("--dry-run", is_flag=True, help="Print the commands that would be run and stop.")
def bench(
    shape: tuple[int, int, int],
    ranks: tuple[int, ...] | None,
    threads: tuple[int, ...] | None,
    grids: int,
    approaches: str | None,
    batches: tuple[int, ...],
    slopes: str,
    order: str,
    dtype: str,
    map_file: Path | None,
    repeats: int,
    mpi: str,
    oversubscribe: bool,
    shared_memory: bool,
    as_json: bool,
    output: Path | None,
    picture: Path | None,
    dry_run: bool,
) -> None:
    """Time a Laplacian on fields of SHAPE by approach, batch, ranks and threads, and compare with the model's choice.

    Configurations take turns. Waiting is what a time exceeds that of as many points without neighbours on all ranks, as
    a share of it. Messages are timed without computing, too, each batch after the one before: overlap is how much less
    both take together, as a share of what could be hidden, and the model takes it. On several ranks it needs mpi4py.

    \b
    Examples:
      tessera grid bench
      tessera grid bench 144 -n 2 -t 1 --grids 32 --batches 1,8 --plot grid.png
      tessera grid bench 48 -n 2 -t 1 --messages -o map.json
    """
    from tessera.grid import GridError
    from tessera.grid import approaches as all_approaches
    from tessera.grid.bench import Request, command, measure, plot, put_into_map

    try:
        known = all_approaches()
    except GridError as error:
        raise launch.LaunchError(str(error)) from None
    names = tuple(known) if approaches is None else tuple(approaches.split(","))
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is unknown; they are {', '.join(known)}", param_hint="--approaches")
    if not all((number := whole_of(one)) is not None and number < 63 for one in slopes.split(",")):
        raise click.BadParameter(f"{slopes!r} are no numbers of batches; write 0, or 0,1,2", param_hint="--slopes")
    some = tuple(sorted({1, launch.usable_cores()}))
    request = Request(
        shape=shape,
        grids=grids,
        dtype=dtype,
        order=int(order),
        ranks=ranks or some,
        threads=threads or some,
        approaches=names,
        batches=batches,
        slopes=tuple(sorted({int(one) for one in slopes.split(",")})),
        repeats=repeats,
        mpi=mpi,
        machine=map_file,
        oversubscribe=oversubscribe,
        shared_memory=shared_memory,
    )
    if dry_run:
        for n, t in request.jobs():
            echo(shlex.join(command(request, n, t)))
        return
    results = measure(request, lambda line: echo(f"tessera: {line}", err=True))
    if output is not None:
        is_told = put_into_map(results, output)
        echo(f"wrote {output}" if is_told else f"no overlap can be told, so {output} stays as it is", err=True)
    if picture is not None:
        plot(results, picture)
        echo(f"wrote {picture}", err=True)
    echo(json.dumps(results, indent=2) if as_json else bench_text(results, request))


def bench_text(results: dict[str, Any], request: Request) -> str:
    """Returns a table of all trials, and how near the model's choice is to the quickest."""
    lines = [
        f"{'×'.join(map(str, results['shape']))} points, {results['dtype']}, order {results['order']}, "
        f"{results['grids']:,} grids; medians of {request.repeats} turns",
        "",
    ]
    rows = [["approach", "ranks × threads", "processes", "batch", "slope", "time", "waiting", "messages alone",
             "overlap", "predicted"]]  # fmt: skip
    for job in results["jobs"]:
        for one in job["trials"]:
            rows.append(
                [
                    one["approach"],
                    f"{job['ranks']} × {job['threads']}",
                    "×".join(map(str, job["processes"])),
                    *batch_cells(one),
                    time_text(one["median"]),
                    f"{one['waits']:.0%}",
                    "–" if one["messages"] is None else time_text(one["messages"]),
                    overlap_text(one),
                    time_text(one["predicted"]),
                ]
            )
    lines += [*table(rows, right=frozenset(range(3, 10))), ""]
    for job in results["jobs"]:
        chosen, best = (_named(job[key]) for key in ("chosen", "quickest"))
        where = f"{job['ranks']} × {job['threads']}"
        if chosen == best:
            lines.append(f"{where}: the model chooses the quickest, {best}")
        else:
            ratio = f"{job['chosen_over_quickest']:.3g}"
            lines.append(
                f"{where}: the model chooses {chosen}, which takes {ratio} times as long as the quickest, {best}"
            )
        if job["overlap_is_told"]:
            lines.append(
                f"{where}: overlap {job['overlap']:.0%}, with which `tessera grid plan` plans (-o puts it into a map)"
            )
        lines += [f"left out: {one['approach']}, because: {one['why']}" for one in job["left_out"]]
    return "\n".join(lines)


def overlap_text(one: dict[str, Any]) -> str:
    """Returns the overlap of a trial, or why there is none."""
    if not one["sends"]:
        return "none: nothing is sent"
    if one["batches"] == 1:
        return "none: no other batch"
    return "can't be told" if one["overlap"] is None else f"{one['overlap']:.0%}"


def _named(one: dict[str, Any]) -> str:
    batches = "" if one["approach"] == "flat-original" else f" in batches of {one['batch']}, slope {one['slope']}"
    return f"{one['approach']}{batches}"
