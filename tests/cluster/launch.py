"""Starts MPI programs on a cluster that is up: makes the command line and the environment for each MPI library."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import namespaces
from .namespaces import Cluster
from .spec import FABRIC, ClusterError, Spec

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))  # a checkout needs no installation

from tessera import launch

MPIS = ("openmpi", "mpich")
NAP = 200  # µs that an idle rank sleeps between polls
SUBNET = f"{namespaces.PREFIX}.0/24"


def mpirun(mpi: str) -> Path:
    """Returns the launcher of this MPI on this machine."""
    for found in launch.launchers():
        if found.flavour == mpi and len(found.words) == 1:
            return Path(found.words[0])
    how = {"openmpi": "Debian: apt-get install openmpi-bin", "mpich": "PyPI: pip install mpich"}[mpi]
    raise ClusterError(f"no mpirun of {mpi} was found ({how}); name one with --mpirun")


def program(name: str, mpi: str) -> Path:
    """Returns the path of a program of Tessera that is built for this MPI."""
    folders = launch.engine_folders()
    for folder in folders:
        path = folder / f"{name}-{mpi}"
        if os.access(path, os.X_OK):
            return path
    looked = ", ".join(str(folder) for folder in folders)
    raise ClusterError(f"there is no {name}-{mpi} in {looked}; build it with `make build`")


def host_by_host(spec: Spec) -> list[str]:
    """Returns the host of each rank: ranks fill all slots of the first host, then those of the next."""
    return [host for host, slots in spec.slots.items() for _ in range(slots)]


def shuffled(spec: Spec, seed: int) -> list[str]:
    """Returns the host of each rank, where ranks are scattered as a batch system may do."""
    order = host_by_host(spec)
    random.Random(seed).shuffle(order)
    return order


def read_order(spec: Spec, path: Path) -> list[str]:
    """Reads the host of each rank from a file with lines `HOST`, `HOST:N` or `HOST slots=N` (N ranks in a row)."""
    order: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        match = re.fullmatch(r"([\w-]+)(?:\s*:\s*(\d+)|\s+slots=(\d+))?", words)
        if not match or match[1] not in spec.slots:
            raise ClusterError(f"{path}:{number}: {words!r}; expected a host of {spec.name}, as {spec.hosts[0]}:2")
        order += [match[1]] * int(match[2] or match[3] or 1)
    if not order:
        raise ClusterError(f"{path}: names no host")
    return order


def command(
    program: Sequence[str],
    order: Sequence[str],
    *,
    mpi: str,
    nap: int = NAP,
    launcher: Path | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Returns the words that start one rank on each host of `order`, in that order, and their environment. Variables
    that are already set keep their values, and libraries to preload are joined."""
    agent = str(namespaces.STATE / "agent")
    environment = {"TMPDIR": str(namespaces.STATE / "tmp")}
    passed = [name for name in os.environ if name.startswith("TESSERA_")]
    preloaded = [os.environ["LD_PRELOAD"]] if os.environ.get("LD_PRELOAD") else []
    if nap:
        preloaded.append(str(_nap_library()))
        environment |= {"CLUSTER_NAP": str(nap)}
        passed += ["CLUSTER_NAP"]
    if preloaded:
        passed += ["LD_PRELOAD"]
    words = [str(launcher or mpirun(mpi))]
    if mpi == "openmpi":
        parameters = {
            "btl": "tcp,vader,self",
            "pml": "ob1",
            "btl_tcp_if_include": SUBNET,
            "oob_tcp_if_include": SUBNET,
            "plm_rsh_agent": agent,
            "plm_rsh_no_tree_spawn": "1",
            "hwloc_base_binding_policy": "none",
            "mpi_yield_when_idle": "1",
        }
        newer = {  # Open MPI 5
            "plm_ssh_agent": agent,
            "plm_ssh_no_tree_spawn": "1",
            "prte_if_include": SUBNET,
            "hwloc_default_binding_policy": "none",
        }
        environment |= {f"OMPI_MCA_{key}": value for key, value in parameters.items()}
        environment |= {f"PRTE_MCA_{key}": value for key, value in newer.items()}
        for name in ("OMPI", "PRTE"):
            environment |= {f"{name}_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
        hosts = namespaces.STATE / "order"
        hosts.write_text("".join(f"{host}\n" for host in order))
        words += ["--hostfile", str(hosts), "--map-by", "seq", "-n", str(len(order))]
        words += [word for name in passed for word in ("-x", name)]
    else:
        environment |= {
            "HYDRA_LAUNCHER": "rsh",
            "HYDRA_LAUNCHER_EXEC": agent,
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": "eth0",
            "UCX_TLS": "tcp,self,sm",
            "UCX_NET_DEVICES": "eth0",
        }
        hosts_list = ",".join(f"{host}:1" for host in order)
        words += ["-hosts", hosts_list, "-bind-to", "none", "-n", str(len(order))]
    return [*words, *program], environment | dict(os.environ) | (
        {"LD_PRELOAD": ":".join(preloaded)} if preloaded else {}
    )


def start(
    cluster: Cluster, words: Sequence[str], environment: dict[str, str], *, timeout: float = 900, capture: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs the launcher on the first host of the cluster until it ends, or for `timeout` seconds (the status is then
    124)."""
    first = next(host for host in cluster.pids if host != FABRIC)
    limited = ["env", "-C", os.getcwd(), "timeout", "-k", "5", f"{timeout:g}", *words]
    return subprocess.run(
        cluster.enter(first, *limited),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=capture,
        text=True,
        errors="replace",
    )


@contextmanager
def cluster_of(spec: Spec, *, keep: bool = False) -> Iterator[Cluster]:
    """Yields the cluster. It is built, and removed at the end, unless it is up already."""
    now = namespaces.current()
    if now is not None and now.spec != str(spec.path):
        raise ClusterError(f"another cluster is up ({now.spec}); remove it with `python -m tests.cluster down`")
    cluster = now or namespaces.up(spec)
    try:
        yield cluster
    finally:
        if now is None and not keep:
            namespaces.down()


def _nap_library() -> Path:
    library = namespaces.STATE / "nap.so"
    if not library.exists():
        source = Path(__file__).with_name("nap.c")
        done = subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], capture_output=True)
        if done.returncode:
            raise ClusterError(f"can't compile {source.name}; use --nap 0 to do without: {done.stderr.decode()}")
    return library
