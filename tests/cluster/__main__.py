"""The command line `python -m tests.cluster`, which runs real MPI programs on an emulated cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click

from . import launch, namespaces
from .spec import ClusterError, names, read
from .traffic import flows_of, traffic_on


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Emulates a cluster on one Linux machine and runs real MPI programs on it.

    SPEC is a TOML file or the name of one in tests/cluster/specs; tests/cluster/spec.py describes the format. Needs
    root and iproute2. One cluster can be up for each TESSERA_CLUSTER_STATE (a folder; default /run/tessera-cluster).

    \b
    Examples:
      python -m tests.cluster show crow8-pairs
      python -m tests.cluster run fat-and-slow -- ./program
      python -m tests.cluster run fat-and-slow --mpi mpich --shuffle 1 -- ./program
      python -m tests.cluster run eco-three-segments --traffic a=0.45 --traffic b=0.3 -- ./program
      python -m tests.cluster up eco-switched && python -m tests.cluster exec w2 tc -s qdisc
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a stopped run cleans up


@main.command()
@click.argument("spec")
def up(spec: str) -> None:
    """Build the cluster and leave it up."""
    namespaces.up(read(spec))


@main.command()
def down() -> None:
    """Kill all processes on the hosts and remove the cluster."""
    namespaces.down()


@main.command()
@click.argument("spec", required=False)
def show(spec: str | None) -> None:
    """Show networks, cables, and the rate between any two hosts, of SPEC or of the cluster that is up."""
    now = namespaces.current()
    if spec is None and now is None:
        raise ClusterError(f"no cluster is up; name a SPEC ({', '.join(names())})")
    click.echo(read(spec or (now.spec if now else "")).show())


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def exec(host: str, words: tuple[str, ...]) -> None:
    """Run a command (default: a shell) on one host."""
    now = namespaces.current()
    if now is None:
        raise ClusterError("no cluster is up; build one with `up`")
    sys.exit(subprocess.run(now.enter(host, "env", "-C", os.getcwd(), *(words or ("sh",)))).returncode)


@main.command()
@click.argument("name", metavar="SPEC")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--mpi", type=click.Choice(launch.MPIS), default="openmpi", show_default=True)
@click.option("--mpirun", type=click.Path(path_type=Path, exists=True), help="The launcher, if not the one found.")
@click.option("-n", "ranks", type=click.IntRange(1), help="Ranks; default: all slots.")
@click.option("--shuffle", type=int, metavar="SEED", help="Scatter ranks over hosts, as a batch system does.")
@click.option(
    "--order", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Hosts in rank order, a line each."
)
@click.option("--nap", default=launch.NAP, show_default=True, help="µs that an idle rank sleeps; 0: it polls.")
@click.option("--nice", default=0, show_default=True, help="Priority; -15 keeps other work of the machine out.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds; the status is then 124.")
@click.option(
    "--traffic", multiple=True, metavar="PLACE=SHARE", help="Traffic of others: a segment, or a host's port, as n3=0.6."
)
@click.option("--traffic-seed", default=1, show_default=True, help="Decides when that traffic is on.")
@click.option("--keep", is_flag=True, help="Leave the cluster up.")
def run(
    name: str,
    program: tuple[str, ...],
    mpi: str,
    mpirun: Path | None,
    ranks: int | None,
    shuffle: int | None,
    order: Path | None,
    nap: int,
    nice: int,
    timeout: float,
    traffic: tuple[str, ...],
    traffic_seed: int,
    keep: bool,
) -> None:
    """Run a program with mpirun on the cluster: `run SPEC [options] -- [options of mpirun] PROGRAM…`. The cluster is
    built, and removed at the end, unless it is up already. The exit status is that of mpirun."""
    spec = read(name)
    if shuffle is not None and order is not None:
        raise click.UsageError("--shuffle and --order exclude each other")
    if order is not None:
        places = launch.read_order(spec, order)
    else:
        places = launch.host_by_host(spec) if shuffle is None else launch.shuffled(spec, shuffle)
    if ranks is not None and ranks > len(places):
        raise ClusterError(f"-n {ranks}: {spec.name} has places for {len(places)} ranks")
    if nice:
        os.nice(nice)
    flows = flows_of(spec, traffic)
    with launch.cluster_of(spec, keep=keep) as cluster, traffic_on(spec, cluster, flows, traffic_seed):
        words, environment = launch.command(program, places[:ranks], mpi=mpi, nap=nap, launcher=mpirun)
        status = launch.start(cluster, words, environment, timeout=timeout).returncode
    sys.exit(status)


if __name__ == "__main__":
    main(prog_name="python -m tests.cluster")
