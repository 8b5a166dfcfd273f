"""Compares Poisson solvers with those of GPAW: the same charges, order of the stencil and residual, in turn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import click

from bench.common.options import Common, script
from bench.common.process import ENVIRONMENT, can_import, measure
from bench.common.results import table

# By kind of edges our methods, GPAW's solver of the same equations, and how many times faster ours are to be at 128³ on
# two ranks. At orders above 2 the Laplacian of FastPoissonSolver ("fast") sees odd mirror images beyond isolated faces.
PEERS = {
    "periodic": {"fft": ("fast", 4.0), "multigrid": ("fd", 5.0)},
    "isolated": {"fft-images": ("fast", 4.0), "fft": ("fd", 5.0), "multigrid": ("fd", 5.0)},
}
POINTS = {"periodic": (64, 128), "isolated": (63, 127)}
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}


@dataclass(frozen=True)
class Case:
    """One kind of edges and number of ranks, and points along an edge."""

    edges: str
    ranks: int
    points: int

    def __str__(self) -> str:
        return f"{self.edges} {self.points}³ on {self.ranks} ranks"

    @property
    def is_promised(self) -> bool:
        return self.ranks == 2 and self.points in (127, 128)


@dataclass
class Times:
    """Milliseconds of every repetition, and the residual."""

    turns: list[float]
    residual: float = 0.0


def broken_promises(measured: Mapping[Case, Mapping[tuple[str, str], Times]]) -> list[str]:
    broken = []
    for case, times in measured.items():
        for ours, (theirs, promised) in PEERS[case.edges].items():
            if not case.is_promised or ("gpaw", theirs) not in times:
                continue
            ratio = median(times["gpaw", theirs].turns) / median(times["tessera", ours].turns)
            if ratio < promised:
                broken.append(f"{case}: {ours} has {ratio:.2f} times the speed of GPAW's, promised are {promised}")
    return broken


@script(check="a promise is not kept, or GPAW is missing", repeats=3)
@click.option("--ranks", "rank_counts", multiple=True, type=int, help="Repeatable; default: 1 and 2.")
@click.option("--edges", "kinds", multiple=True, type=click.Choice(list(POINTS)), help="Repeatable; default: both.")
@click.option("--order", type=click.Choice(["2", "4", "6", "8"]), default="6", show_default=True)
@click.option("--tolerance", type=float, default=1e-10, show_default=True)
@click.option("--gpaw", "other_python", default=sys.executable, help="Python with GPAW and mpi4py.")
@click.option("--mpi", type=click.Choice(list(LIBRARIES)), default="openmpi", help="MPI that GPAW was built with.")
def poisson(
    common: Common,
    rank_counts: tuple[int, ...],
    kinds: tuple[str, ...],
    order: str,
    tolerance: float,
    other_python: str,
    mpi: str,
    repeats: int,
) -> None:
    """Measure the potential of four Gaussian charges in ms, as medians over turns of five solutions each.

    Tessera makes the greatest residual `tolerance` times the greatest density; of GPAW's multigrid it is the root of
    the mean square. GPAW's FastPoissonSolver and our fft-images make one solution without looking at a residual: at
    orders above 2 their Laplacian sees odd mirror images beyond isolated faces, where that of the others sees zeros.

    \b
    Examples:
      python -m bench.grid poisson --check --docs
      python -m bench.grid poisson --ranks 2 --edges periodic --order 2 --repeats 1
    """
    launcher = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec"}[mpi]
    environment = {**ENVIRONMENT, "MPI4PY_LIBMPI": LIBRARIES[mpi], "OMP_NUM_THREADS": "1", "GPAW_MPI_BACKEND": "cgpaw"}
    peer = [("gpaw", "fast"), ("gpaw", "fd")]
    figure = common.figure("poisson", "Potentials on grids")
    if can_import(other_python, "gpaw"):
        asked = subprocess.run(
            [other_python, "-c", "import gpaw; print(gpaw.__version__)"], capture_output=True, text=True
        )
        figure.versions["GPAW"] = asked.stdout.strip()
    else:
        peer = []
        figure.notes.append("GPAW is not installed, and left out.")
        figure.failures.append("GPAW was not measured")
    measured: dict[Case, dict[tuple[str, str], Times]] = {}
    for edges in kinds or list(POINTS):
        for ranks in rank_counts or (1, 2):
            cases = {points: Case(edges, ranks, points) for points in POINTS[edges]}
            solvers = [("tessera", method) for method in PEERS[edges]] + peer
            for case in cases.values():
                measured[case] = {solver: Times([]) for solver in solvers}
            for turn in range(repeats):
                for solver in solvers[:: 1 if turn % 2 == 0 else -1]:
                    words = [launcher, "-n", str(ranks), sys.executable if solver[0] == "tessera" else other_python]
                    words += ["-m", "bench.grid.poisson_child", *solver, edges, order, str(tolerance)]
                    words += [f"{points}:5" for points in cases]
                    run = measure(
                        words, folder=common.work / "runs" / "grid", launcher=3, environment=environment, timeout=600
                    )
                    for line in run.stdout.splitlines():
                        points, seconds, residual = line.split()
                        times = measured[cases[int(points)]][solver]
                        times.turns.append(1e3 * float(seconds))
                        times.residual = float(residual)
            for case in cases.values():
                medians = [f"{' '.join(solver)} {median(of.turns):.3g} ms" for solver, of in measured[case].items()]
                common.say(f"{case}: " + ", ".join(medians))
    figure.data = {
        str(case): {" ".join(solver): vars(times) for solver, times in all_times.items()}
        for case, all_times in measured.items()
    }
    figure.tables.append(table(*rows_of(measured, bool(peer))))
    figure.notes.append(
        "The residual is the greatest |∇²φ + 4πρ| over the greatest |4πρ|, with zeros beyond isolated faces; fast and "
        "fft-images see mirror images there."
    )
    figure.failures += broken_promises(measured)
    figure.finish(common)


def rows_of(
    measured: Mapping[Case, Mapping[tuple[str, str], Times]], has_peer: bool
) -> tuple[Sequence[str], list[list[object]]]:
    header = ["edges", "points", "ranks", "method", "ms", "residual"]
    if has_peer:
        header += ["GPAW's", "ms", "residual", "times the speed"]
    rows: list[list[object]] = []
    for case, times in measured.items():
        for ours, (theirs, _) in PEERS[case.edges].items():
            mine = times["tessera", ours]
            row: list[object] = [case.edges, f"{case.points}³", case.ranks, ours, median(mine.turns), mine.residual]
            if has_peer:
                other = times["gpaw", theirs]
                row += [theirs, median(other.turns), other.residual, median(other.turns) / median(mine.turns)]
            rows.append(row)
    return header, rows
