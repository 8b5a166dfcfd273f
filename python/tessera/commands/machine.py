"""`tessera machine` measures, shows and uses the map of the machine."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from tessera import launch
from tessera.errors import InputError
from tessera.files import AnyPath, write_text
from tessera.launch.supervision import supervise
from tessera.machine.quantities import Bytes, Finite
from tessera.printing import echo

FILE = AnyPath()
PROBE = "tessera-probe"
COLLECTIVES = "tessera-collectives"


class _Group(click.Group):
    """A group that lists its commands in the order of use, and suggests the nearest one for an unknown command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            near = difflib.get_close_matches(args[0], self.commands, n=1)
            hint = f"did you mean {near[0]}?" if near else f"they are {', '.join(self.commands)}"
            raise click.UsageError(f"unknown command machine {args[0]}; {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Group, invoke_without_command=True)
@click.option("--probe", type=click.Choice(["openmpi", "mpich"]), help="Print the path of the native probe and stop.")
@click.pass_context
def machine(context: click.Context, probe: str | None) -> None:
    """Measure the network once; ranks and collectives then follow its structure.

    \b
    Examples:
      tessera machine measure -n 32 --hostfile hosts -o map.json
      mpirun -n 32 $(tessera machine --probe openmpi) -o map.json
      tessera machine show map.json --plot map.png
      tessera machine explain map.json --op allreduce --bytes 1.3M
      tessera machine hostfile map.json --format openmpi -o hosts.ordered
    """
    if probe is not None:
        echo(str(launch.program_path(PROBE, probe)))
    elif context.invoked_subcommand is None:
        echo(context.get_help())


@machine.command()
@click.option(
    "-n",
    "--ranks",
    required=True,
    type=click.IntRange(1, 2**31 - 1),
    help="Number of ranks; two on a host also measure messages inside it.",
)
@click.option("--hostfile", type=FILE, help="Host file in the format of the MPI's launcher.")
@click.option("-o", "--output", required=True, type=FILE, help="The map (JSON).")
@launch.parallel_mpi_option
@click.option("--sizes", metavar="BYTES,…", help="Message sizes [1,1500,16384,131072].")
@click.option(
    "--repeats",
    type=click.IntRange(1, 2**31 - 1),
    help="Round trips of each size and pair, of which the fastest is kept [5].",
)
@click.option(
    "--seconds", type=Finite(min=0, min_open=True), help="Greatest time of all measurements in seconds [120]."
)
@click.option("--merge", type=FILE, help="An older map of this machine to merge: the least times of both are kept.")
@click.option("--check", is_flag=True, help="Only check whether the map OUTPUT is still right; exit status 1 if not.")
@click.option("--traffic", is_flag=True, help="Only measure what others send now, and write it into the map OUTPUT.")
@launch.oversubscribe_option
@launch.dry_run_option
def measure(
    ranks: int,
    hostfile: Path | None,
    output: Path,
    mpi: str,
    sizes: str | None,
    repeats: int | None,
    seconds: float | None,
    merge: Path | None,
    check: bool,
    traffic: bool,
    oversubscribe: bool,
    dry_run: bool,
) -> None:
    """Measure round trips between pairs of hosts and which pairs share a wire; write the map.

    \b
    Examples:
      tessera machine measure -n 32 --hostfile hosts -o map.json
      tessera machine measure -n 32 --hostfile hosts -o map.json --merge map.json
      tessera machine measure -n 32 --hostfile hosts -o map.json --check
      tessera machine measure -n 32 --hostfile hosts -o map.json --traffic --seconds 5
    """
    if check and traffic:
        raise click.UsageError("--check and --traffic exclude each other: give one of them")
    arguments = ["--check" if check else "--traffic" if traffic else "-o", str(output)]
    for name, value in (("--sizes", sizes), ("--repeats", repeats), ("--seconds", seconds), ("--merge", merge)):
        if value is not None:
            arguments += [name, str(value)]
    _start(PROBE, arguments, dry_run, ranks=ranks, mpi=mpi, hostfile=hostfile, oversubscribe=oversubscribe)


@machine.command()
@click.argument("map_file", metavar="MAP", type=FILE)
@click.option(
    "-n", "--ranks", required=True, type=click.IntRange(1, 2**31 - 1), help="Ranks of the jobs for which to tune."
)
@click.option("--hostfile", type=FILE, help="Host file in the format of the MPI's launcher.")
@click.option("-o", "--output", type=FILE, help="The map to write [MAP].")
@launch.parallel_mpi_option
@click.option("--ops", metavar="NAME,…", help="Operations, as in allreduce,bcast [the usual ones].")
@click.option("--sizes", metavar="BYTES,…", help="Message sizes, as in 1KiB,1M [1024,16384,131072,1048576].")
@click.option(
    "--seconds", type=Finite(min=0, min_open=True), help="Greatest time of all measurements in seconds [120]."
)
@launch.oversubscribe_option
@launch.dry_run_option
def tune(
    map_file: Path,
    ranks: int,
    hostfile: Path | None,
    output: Path | None,
    mpi: str,
    ops: str | None,
    sizes: str | None,
    seconds: float | None,
    oversubscribe: bool,
    dry_run: bool,
) -> None:
    """Time the most promising collectives and the MPI library's own, and store the times in MAP.

    The times then correct predictions for this library and this number of ranks.

    \b
    Examples:
      tessera machine tune map.json -n 32 --hostfile hosts
      tessera machine tune map.json -n 32 --hostfile hosts --ops allreduce,bcast --sizes 1M --seconds 30
    """
    arguments = ["tune", launch.word_of(map_file)]
    if output is not None:
        arguments += ["-o", str(output)]
    if ops is not None:
        arguments += ["--operations", ",".join(_operation(word) for word in ops.split(","))]
    if sizes is not None:
        bytes_type = Bytes()
        arguments += ["--sizes", ",".join(str(bytes_type.convert(word, None, None)) for word in sizes.split(","))]
    if seconds is not None:
        arguments += ["--seconds", str(seconds)]
    _start(COLLECTIVES, arguments, dry_run, ranks=ranks, mpi=mpi, hostfile=hostfile, oversubscribe=oversubscribe)


@machine.command()
@click.argument("map_file", metavar="MAP", type=FILE)
@click.option("--plot", type=FILE, help="Also draw times, tree and bandwidth (PNG, PDF, SVG).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the newest version of the format.")
def show(map_file: Path, plot: Path | None, as_json: bool) -> None:
    """Print the tree of subnets in MAP with their rates, media and up-links.

    \b
    Examples:
      tessera machine show map.json
      tessera machine show map.json --plot map.png
    """
    from tessera.machine.text import map_text

    content = _json_of(map_file, "read_map")
    if as_json:
        echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        echo(map_text(content, _core().summary_of_map(str(map_file)), str(map_file)))
    if plot is not None:
        from tessera.machine.plot import plot_content

        plot_content(content, plot, str(map_file))
        echo(f"wrote {plot}", err=as_json)


@machine.command()
@click.argument("matrix", metavar="RTT.csv", type=FILE)
@click.option("--json", "as_json", is_flag=True, help='Print {"subnets": [[host, …], …]}.')
def partition(matrix: Path, as_json: bool) -> None:
    """Divide the hosts of a matrix of round-trip times into subnets.

    RTT.csv is square, with host names in the first row and column, and times in any one unit. An empty cell is a pair
    that was not measured.

    \b
    Examples:
      tessera machine partition rtt.csv
      tessera machine partition rtt.csv --json
    """
    from tessera.machine.text import partition_text

    content = _json_of(matrix, "partition")
    if as_json:
        echo(json.dumps({"subnets": content["subnets"]}, ensure_ascii=False))
    else:
        echo(partition_text(content))


@machine.command()
@click.argument("map_file", metavar="MAP", type=FILE)
@click.option(
    "--format", "file_format", type=click.Choice(["openmpi", "mpich", "slurm", "plain"]), required=True,
    help="MPI library in whose format the host file is written.",
)  # fmt: skip
@click.option(
    "--order", type=click.Choice(["hypercube", "ring", "cartesian"]), default="hypercube", show_default=True,
    help="Pattern of messages whose neighbours get the fastest links.",
)  # fmt: skip
@click.option("--dims", metavar="N,N,…", help="Shape of a Cartesian grid; the last coordinate varies fastest.")
@click.option("-n", "--ranks", type=click.IntRange(1, 2**31 - 1), help="Ranks [all slots].")
@click.option("-o", "--output", type=FILE, help="The file to write [standard output].")
def hostfile(
    map_file: Path, file_format: str, order: str, dims: str | None, ranks: int | None, output: Path | None
) -> None:
    """Write a host file that places ranks on the hosts of MAP so that neighbours are near.

    \b
    Examples:
      tessera machine hostfile map.json --format openmpi -o hosts
      tessera machine hostfile map.json --format slurm --order cartesian --dims 8,4
    """
    if (order == "cartesian") != (dims is not None):
        raise click.UsageError("--order cartesian and --dims (as in --dims 8,4) go together")
    grid = _numbers(dims, "--dims", least=1)
    text = _call("host_file", str(map_file), format=file_format, order=order, dims=grid, n_ranks=ranks)
    if output is None:
        echo(text, nl=False)
        return
    try:
        write_text(output, text)
    except OSError as error:
        raise launch.LaunchError(f"{output}: {error.strerror}; choose another place (-o)") from None


@machine.command()
@click.argument("map_file", metavar="MAP", type=FILE)
@click.option("--op", "operation", required=True, help="The operation: allreduce, MPI_Bcast, all_gather, …")
@click.option(
    "--bytes",
    "n_bytes",
    type=Bytes(),
    default=0,
    help="Size of the vector (all-to-all: of a pair), as in 1.3M or 8KiB.",
)
@click.option(
    "--ranks-per-host", metavar="N[,N…]", help="Number of ranks on every host, or one number for each [its slots]."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(map_file: Path, operation: str, n_bytes: int, ranks_per_host: str | None, as_json: bool) -> None:
    """Show how a collective would be carried out on the machine of MAP: candidates, times, the choice, its reason.

    \b
    Examples:
      tessera machine explain map.json --op allreduce --bytes 1.3M
      tessera machine explain map.json --op MPI_Bcast --bytes 16k --ranks-per-host 4 --json
    """
    from tessera.machine.text import choice_text

    name = _operation(operation)
    if name == "barrier":
        n_bytes = 0  # a barrier moves no bytes
    elif n_bytes < 1:
        raise click.UsageError(f"{operation} of how many bytes? Give --bytes, as in --bytes 1.3M")
    ranks = _numbers(ranks_per_host, "--ranks-per-host", least=0)
    content = json.loads(
        _call("explain_collective", str(map_file), operation=name, bytes=n_bytes, ranks_per_host=ranks)
    )
    traffic = (_json_of(map_file, "read_map").get("network") or {}).get("traffic")
    content["traffic_of"] = traffic["date"] if traffic else None
    if _plain(operation) in KNOWN_TO_PAIRS:
        reason = "each rank knows only its own counts of it, so that no plan can be made; the MPI library does it"
        content |= {"candidates": [], "chosen": "native", "native_seconds": 0, "reason": reason}
    echo(json.dumps(content, indent=2) if as_json else choice_text(content))


def _start(program: str, arguments: list[str], dry_run: bool, **options: Any) -> None:
    """Runs a program on ranks and ends with its status, or prints its command."""
    command = launch.engine_command(arguments, program=program, **options)
    if dry_run:
        echo(shlex.join(command))
    else:
        sys.exit(supervise(command, "nothing was written"))


def _core() -> Any:
    try:
        import tessera._core as core
    except ImportError as error:
        raise launch.LaunchError(
            f"the compiled part of tessera is missing ({error}); build it with `make build`"
        ) from None
    return core


def _call(function: str, *arguments: Any, **named: Any) -> Any:
    core = _core()
    try:
        return getattr(core, function)(*arguments, **named)
    except InputError as error:
        raise launch.LaunchError(str(error)) from None


def _json_of(path: Path, function: str) -> Any:
    return json.loads(_call(function, str(path)))


def _numbers(text: str | None, option: str, *, least: int) -> list[int]:
    if text is None:
        return []
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not least <= min(numbers) <= max(numbers) < 2**31:
        raise click.UsageError(f"{option} is {text[:60]!r}; expected whole numbers from {least} up, as in 8,4")
    return numbers


# Only operations whose counts all ranks know can be planned.
KNOWN_TO_PAIRS = ("scatterv", "gatherv", "alltoallv", "alltoallw")


def _plain(name: str) -> str:
    return name.lower().removeprefix("mpi_").replace("_", "").replace("-", "")


def _operation(name: str) -> str:
    """Returns Tessera's name of an operation from its own or MPI's: all_reduce, allreduce, MPI_Allreduce,
    MPI_Allgatherv."""
    names = {word.replace("_", ""): word for word in _core().operations()}
    known = {**names, "bcast": "broadcast", "reducescatterblock": "reduce_scatter", "alltoallw": "all_to_all"}
    for vector in ("scatter", "gather", "allgather", "alltoall"):
        known[vector + "v"] = names[vector]
    plain = _plain(name)
    if plain not in known:
        near = difflib.get_close_matches(plain, known, n=1, cutoff=0.4)
        hint = f"did you mean {known[near[0]]}?" if near else f"they are {', '.join(names.values())}"
        raise click.UsageError(f"unknown operation {name}; {hint}")
    return known[plain]
