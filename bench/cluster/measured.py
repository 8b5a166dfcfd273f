"""Times that were measured on emulated clusters, and the promises with which they are compared."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, median

from scipy.stats import binom

from bench.cluster.bounds import OPERATIONS, Operation
from tests.cluster.launch import MPIS

# The promised ratios of time to bound, at most, by operation in the order of LARGE: medians, under either MPI.
LARGE = ("bcast-1m", "allreduce", "reduce-scatter", "allgatherv", "all-to-all")
TARGETS: dict[str, tuple[float, ...]] = {
    "crow8-100+1000": (1.5, 1.5, 1.5, 1.5, 1.15),
    "crow8-pairs": (1.5, 1.5, 1.4, 1.4, 1.1),
    "crow8-100": (1.3, 1.3, 1.2, 1.2, 1.15),
    "crow8-1000": (2.0, 1.7, 2.0, 2.0, 1.8),
    "fat-and-slow": (1.3, 1.3, 1.3, 1.3, 1.3),
    "eco-three-segments": (1.3, 1.3, 1.15, 1.15, 1.05),
    "eco-switched": (1.2, 1.3, 1.15, 1.05, 1.05),
}
SHUFFLED = 1.1  # factor of these where ranks are scattered over the hosts
NEVER_SLOWER = 0.95  # least ratio of the library's time to Tessera's
UNTUNED = ("slow-host", "three-levels", "three-rates", "uneven-groups")  # not used to choose constants
LEAST_GAIN = 1.8  # geometric mean over these networks of Open MPI's time over Tessera's
CONFIDENCE = 0.95  # probability that a ratio is above its lower bound


def operation(name: str) -> Operation:
    return next(one for one in OPERATIONS if one.name == name)


@dataclass(frozen=True)
class Timing:
    """Times of one operation on one network under one MPI: Tessera's (`ours`) and the library's, s, taken in turn."""

    spec: str
    ranks: int
    shuffle: int | None
    mpi: str
    operation: str
    bound: float | None  # s
    ours: list[float]
    library: list[float]
    plan: str  # the choice; "native": the library's own
    predicted: float | None
    version: str  # of the library
    untried: list[float] = field(default_factory=list)  # s, the model's choice without trials, in the same turns
    untried_plan: str = ""
    processors: float | None = None  # s, least time of the processors that hosts share, by the map
    where: str = ""  # machine, day and commit

    def typical(self, times: Sequence[float]) -> float:
        return min(times) if operation(self.operation).is_short else median(times)

    @property
    def seconds(self) -> float:
        return self.typical(self.ours)

    @property
    def library_seconds(self) -> float:
        return self.typical(self.library)

    @property
    def untried_seconds(self) -> float | None:
        return self.typical(self.untried) if self.untried else None

    @property
    def over_bound(self) -> float | None:
        return self.seconds / self.bound if self.bound else None

    @property
    def reachable(self) -> float | None:
        """The least time that wires and processors allow together, s."""
        return max(self.bound, self.processors or 0) if self.bound else None

    @property
    def over_reachable(self) -> float | None:
        return self.seconds / self.reachable if self.reachable else None

    @property
    def library_over_bound(self) -> float | None:
        return self.library_seconds / self.bound if self.bound else None

    @property
    def gain(self) -> float:
        return self.library_seconds / self.seconds

    @property
    def least_gain(self) -> float:
        """The lower confidence bound of the median of library / ours over pairs of neighbouring turns. It is the k-th
        smallest of n by the binomial distribution, for any distribution of the noise, or the smallest of fewer than
        five pairs."""
        ratios = sorted(theirs / mine for theirs, mine in zip(self.library, self.ours))
        below = binom.cdf(range(len(ratios)), len(ratios), 0.5)  # probability that at most i pairs are below the median
        return ratios[max(0, int(sum(below <= 1 - CONFIDENCE)) - 1)]

    @property
    def target(self) -> float | None:
        """The greatest ratio of time to bound that is promised."""
        if self.spec not in TARGETS or self.operation not in LARGE:
            return None
        return TARGETS[self.spec][LARGE.index(self.operation)] * (1 if self.shuffle is None else SHUFFLED)


def file_of(folder: Path, spec: str, shuffle: int | None, mpi: str) -> Path:
    order = "job" if shuffle is None else f"shuffle{shuffle}"
    return folder / f"{spec}.{order}.{mpi}.json"


def keep(folder: Path, timings: Sequence[Timing]) -> None:
    """Writes timings to the file of their network, order and MPI, beside those of other operations."""
    for timing in timings:
        path = file_of(folder, timing.spec, timing.shuffle, timing.mpi)
        path.parent.mkdir(parents=True, exist_ok=True)
        others = [one for one in _read(path) if one.operation != timing.operation]
        rows = ",\n".join(json.dumps(asdict(one)) for one in [*others, timing])
        path.write_text(f"[\n{rows}\n]\n")


def _read(path: Path) -> list[Timing]:
    return [Timing(**one) for one in json.loads(path.read_text())] if path.exists() else []


def kept(folder: Path) -> list[Timing]:
    """Returns all measurements, networks in the order of the promises and operations in that of the tables."""
    found = [timing for path in folder.glob("*.json") for timing in _read(path)]
    specs, names = [*TARGETS, *UNTUNED], [one.name for one in OPERATIONS]

    def place(timing: Timing) -> tuple[int, str, int, int, str]:
        where = specs.index(timing.spec) if timing.spec in specs else len(specs)
        return where, timing.spec, timing.shuffle or -1, names.index(timing.operation), timing.mpi

    return sorted(found, key=place)


def same_job(timings: Iterable[Timing]) -> dict[tuple[str, int | None, str], list[Timing]]:
    """Groups timings by network, order and operation; each group has one of each MPI."""
    found: dict[tuple[str, int | None, str], list[Timing]] = {}
    for timing in timings:
        found.setdefault((timing.spec, timing.shuffle, timing.operation), []).append(timing)
    return found


def missing(timings: Sequence[Timing], specs: Iterable[str]) -> list[str]:
    """Returns in words what was not measured. Every operation is expected under both MPIs, in order and shuffled."""
    there = {(one.spec, one.shuffle is None, one.operation, one.mpi) for one in timings}
    wanted = itertools.product(dict.fromkeys(specs), (True, False), [one.name for one in OPERATIONS], MPIS)
    return [
        f"{spec}{'' if plain else ', shuffled'}, {name}, {mpi}: not measured"
        for spec, plain, name, mpi in wanted
        if (spec, plain, name, mpi) not in there
    ]


def broken_promises(timings: Sequence[Timing]) -> list[str]:
    """Returns a sentence for each broken promise."""
    broken = []
    for one in timings:
        where = f"{title(one.spec, one.shuffle)}, {one.operation}, {one.mpi}"
        if one.target and one.over_bound and one.over_bound > one.target:
            missed = f"{where}: {one.over_bound:.2f} times the bound, promised are {one.target:.3g}"
            if one.reachable != one.bound:
                missed += f"; {one.over_reachable:.2f} times what the processors allow"
            broken.append(missed)
        if one.plan != "native" and one.least_gain < NEVER_SLOWER:
            broken.append(f"{where}: the library's own may be faster ({one.gain:.2f}, at least {one.least_gain:.2f})")
    for (spec, shuffle, name), both in same_job(timings).items():
        if operation(name).is_short and len(both) > 1:
            ours, library = min(one.seconds for one in both), min(one.library_seconds for one in both)
            if library / ours < NEVER_SLOWER:
                where = f"{title(spec, shuffle)}, {name}"
                broken.append(f"{where}: {ours * 1e3:.2f} ms, the better library takes {library * 1e3:.2f} ms")
    gains = untuned_gains(timings)
    if gains and geometric_mean(gains.values()) < LEAST_GAIN:
        found = geometric_mean(gains.values())
        broken.append(f"networks not tuned for: {found:.2f} times as fast as Open MPI, promised are {LEAST_GAIN}")
    broken += [f"{where}: {gain:.2f} times as fast as Open MPI" for where, gain in gains.items() if gain < NEVER_SLOWER]
    return broken


def untuned_gains(timings: Sequence[Timing]) -> dict[str, float]:
    """Returns the ratios of Open MPI's time to Tessera's on networks that were not tuned for."""
    chosen = [one for one in timings if one.spec in UNTUNED and one.mpi == "openmpi"]
    return {f"{title(one.spec, one.shuffle)}, {one.operation}": one.gain for one in chosen}


def title(spec: str, shuffle: int | None) -> str:
    return spec if shuffle is None else f"{spec}, shuffled"
