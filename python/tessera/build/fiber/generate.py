"""Generates a fibre: nucleosomes in a compact globule, by Monte Carlo of the mesoscale model.

The fibre is laid along a course without a knot, sampled while all of it comes into a sphere, and cooled, by which
linkers come to the places that they have when they are built. What is left must be buildable: no linker bent,
stretched or twisted more than DNA can be, none through a nucleosome or another linker, no knot. If it is not, it is
sampled again about the linkers in question.

Tails of histones that are chains of beads grow when all nucleosomes are in the sphere, and move with all else from then
on.

By a map of contacts nucleosomes are folded first (`folding`), and the fibre is put on their places (`placing`), where
springs hold it while it is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tessera._core import FiberChain
from tessera.build.clashes.knots import determinant_of_open
from tessera.build.fiber.core import Core
from tessera.build.fiber.folding import Agreement, Folder
from tessera.build.fiber.guide import lanes
from tessera.build.fiber.linkers import Linkers
from tessera.build.fiber.maps import ContactMap
from tessera.build.fiber.mesoscale import Layout, chain, frames_of
from tessera.build.fiber.placing import Placing, axis, spans
from tessera.build.fiber.table import COLUMNS, Nucleosomes
from tessera.errors import InputError
from tessera.files import write_text
from tessera.system.model import FloatArray, IdArray

FILE = "the generated fibre"
CONCENTRATION = 0.25e-3  # mol/L of nucleosomes in the sphere, twice that of nuclei of cells (Hihara et al. 2012)
_KNOT = "the DNA that was generated has a knot: give another --seed"
_SMALLEST = 90.0  # Å: the radius of a sphere that a nucleosome with its tails has room in
_PER_MOLE = 6.02214076e-4  # in Å³ at 1 mol/L
_LOOSE = (1.2, 1.35, 1.6, 2.0, 2.6)  # times the radius, in which the fibre is laid: the first that has room
_INSET = 100.0  # Å from the sphere to lanes
_FOR_TAILS = 50  # times that tails are tried
_INTO_SPHERE = 100  # times that a fibre is sampled for `_ROUND` sweeps until it is inside
_ROUND = 20
_HEATS = (0.5, 0.25, 0.1, 0.05)  # parts of the temperature by which it cools
_ATTEMPTS = 40
_HANDS = (1.0, -1.0)  # a map is the same in a mirror
_TIMES_BY_MAP = 5  # that a fibre is put on the places of a map, until it has no knot and can be built
_ATTEMPTS_BY_MAP = 15  # until the fibre is put there anew
_FIRM = 10  # of them, after which springs about linkers give way
_PATIENCE = 2  # attempts at linkers that were put on the places of a map, until their parts go through each other again
_AGAIN = 100  # moves for each node about a linker that can't be built


@dataclass(frozen=True)
class Request:
    """What is asked for: linkers (n - 1) in base pairs, the salt in mol/L, the radius in Å of the sphere that holds
    all, sweeps of the sampling, and the seed; a map of contacts that the fibre should have."""

    linkers: tuple[int, ...]
    salt: float
    radius: float
    sweeps: int
    seed: int
    contacts: ContactMap | None = None


@dataclass(frozen=True)
class Generated:
    """A fibre, how well it has the contacts of a map if there was one, and the places (n,beads,3) Å of beads of tails
    of its nucleosomes."""

    fiber: Nucleosomes
    agreement: Agreement | None
    beads: FloatArray


def even_linkers(count: int, wrapped: int, length: int) -> tuple[int, ...]:
    """Returns the linkers (count - 1) of a fibre whose DNA has this length, of two lengths that differ by one base pair
    and alternate. Raises `InputError` where the DNA does not suffice."""
    free = length - count * wrapped
    if count == 1 and free == 0:
        return ()
    if count == 1 or free < count - 1:
        raise InputError(
            f"the sequence has {length:,} base pairs, and {count:,} nucleosome(s) of {wrapped} with linkers need "
            + (f"{wrapped}" if count == 1 else f"{count * (wrapped + 1) - 1:,} or more")
        )
    ends = np.arange(count) * free // (count - 1)
    return tuple(np.diff(ends).tolist())


def own_radius(count: int) -> float:
    """Returns the radius in Å of the sphere in which nucleosomes have the concentration that is the default."""
    return max(_SMALLEST * float(np.cbrt(count)), float(np.cbrt(3 * count / (4 * np.pi * CONCENTRATION * _PER_MOLE))))


def generate(request: Request, core: Core, report: Callable[[str], None] = lambda _: None) -> Generated:
    """Makes a fibre. Raises `InputError` where there is no room for it, or what is sampled can't be built."""
    layout = Layout(request.linkers)
    if request.contacts is None:
        report("laying the fibre")
        return _sampled(request, layout, core, _laid(request, layout, core), None, report)
    folder = Folder(
        request.contacts, request.linkers, len(core.pairs), spans(layout, core, request.salt, request.seed),
        request.radius,
    )  # fmt: skip
    centres, law = folder.fold(request.seed, report)
    report("laying the fibre")
    problem: InputError | None = None
    for laid in _laid_by_map(request, layout, core, centres, lambda found: folder.agreement(found, law).correlation):
        try:
            made = _sampled(request, layout, core, *laid, report)
        except InputError as error:
            problem = error
            report("laying the fibre anew")
        else:
            return replace(made, agreement=folder.agreement(made.fiber.frames.origin, law))
    assert problem is not None
    raise problem


def _sampled(
    request: Request,
    layout: Layout,
    core: Core,
    sampled: FiberChain,
    placing: Placing | None,
    report: Callable[[str], None],
) -> Generated:
    """Samples a fibre, which was put on the places of a map or not, until it can be built."""
    _grow_tails(request, layout, sampled, report)
    report("sampling the fibre")
    moves = layout.nodes * request.sweeps
    sampled.run(moves // 5, tune=True)
    sampled.run(moves - moves // 5)
    nodes = np.arange(layout.nodes)
    linkers = Linkers(core)
    attempts = _ATTEMPTS if placing is None else _ATTEMPTS_BY_MAP
    for attempt in range(attempts):
        _cool(sampled, len(nodes))
        report("looking whether it can be built")
        frames = frames_of(sampled.frames()[layout.cores])
        fiber = Nucleosomes(frames, list(request.linkers), list(range(1, len(frames) + 1)), FILE)
        faults = linkers.faults(fiber)
        if not faults:
            break
        report(f"sampling {len(faults)} linker(s) again")
        nodes = _about(layout, list(faults))
        if placing is not None and attempt >= _PATIENCE:
            unfolded = placing.again(sampled.frames(), nodes, gives_way=attempt >= _FIRM)
            if unfolded is not None:
                sampled = unfolded
                _grow_tails(request, layout, sampled, report)
        sampled.set_focus(nodes)
        sampled.run(_AGAIN * len(nodes), tune=True)
    else:
        fault = next(iter(faults.values()))
        raise InputError(f"after {attempts} attempts {fault}: give other linkers, another --seed or a larger --radius")
    if determinant_of_open(linkers.axis(fiber)) != 1:
        raise InputError(_KNOT)
    return Generated(fiber, None, sampled.beads().reshape(len(layout.cores), -1, 3))


def _grow_tails(request: Request, layout: Layout, sampled: FiberChain, report: Callable[[str], None]) -> None:
    """Puts tails on nucleosomes. Where they find no room, all else moves before more are tried."""
    report("growing tails")
    for _ in range(_FOR_TAILS):
        if not sampled.grow_tails():
            return
        sampled.run(layout.nodes * _ROUND)
    raise _no_room(request, len(layout.cores))


def _cool(sampled: FiberChain, nodes: int) -> None:
    for heat in _HEATS:
        sampled.run(nodes * _ROUND, heat=heat, tune=True)


def _about(layout: Layout, linkers: list[int]) -> IdArray:
    """Returns the nodes of linkers, of the nucleosomes at both ends and of the linkers beyond."""
    last = len(layout.cores) - 1
    parts = [np.arange(layout.cores[max(linker - 1, 0)], layout.cores[min(linker + 2, last)] + 1) for linker in linkers]
    return np.unique(np.concatenate(parts))


def _laid(request: Request, layout: Layout, core: Core) -> FiberChain:
    """Returns the fibre within its sphere."""
    count = len(layout.cores)
    for loose in _LOOSE:
        radius = loose * request.radius
        sampled = chain(layout, core, request.salt, radius, request.seed)
        if sampled.grow(layout.cores, lanes(count, max(radius - _INSET, 1.0))):
            break
    else:
        raise _no_room(request, count)
    sampled.set_radius(request.radius)
    if not _comes_inside(sampled, layout):
        raise _no_room(request, count)
    return sampled


def _comes_inside(sampled: FiberChain, layout: Layout) -> bool:
    """Samples a fibre until all of it is in its sphere. Returns whether it is."""
    for _ in range(_INTO_SPHERE):
        if sampled.outside() == 0:
            return True
        sampled.run(layout.nodes * _ROUND, tune=True)
    return False


def _laid_by_map(
    request: Request, layout: Layout, core: Core, centres: FloatArray, agreement: Callable[[FloatArray], float]
) -> Iterator[tuple[FiberChain, Placing]]:
    """Yields the fibre within its sphere, with nucleosomes at these centres (n,3) or their images in a mirror: the one
    without a knot that agrees better, each time with other turns. Raises `InputError` where there is none at all."""
    problem = _no_room(request, len(layout.cores))
    is_laid = False
    for time in range(_TIMES_BY_MAP):
        best: tuple[float, FiberChain, Placing] | None = None
        for hand in _HANDS:
            seed = request.seed * _TIMES_BY_MAP + time
            placing = Placing(hand * centres, layout, core, request.salt, request.radius, seed)
            found = placing.first()
            if found is None or not _comes_inside(found, layout):
                continue
            problem = InputError(_KNOT)
            reached = agreement(found.frames()[layout.cores, 0])
            if determinant_of_open(axis(found, layout, core)) == 1 and (best is None or reached > best[0]):
                best = (reached, found, placing)
        if best is not None:
            is_laid = True
            yield best[1:]
    if not is_laid:
        raise problem


def _no_room(request: Request, count: int) -> InputError:
    return InputError(
        f"{count:,} nucleosome(s) and their linkers found no room in a sphere with a radius of {request.radius:.0f} Å: "
        "give a larger --radius"
    )


def table_text(fiber: Nucleosomes, comments: list[str]) -> str:
    """Returns a fibre as a table that `read_table` reads, with comments above it."""
    lines = [*(f"# {line}" for line in comments), ",".join(COLUMNS)]
    linkers = [*map(str, fiber.linkers), ""]
    for origin, rotation, linker in zip(fiber.frames.origin, fiber.frames.rotation, linkers, strict=True):
        directions = [*rotation[:, 2], *rotation[:, 0]]
        lines.append(",".join([*(f"{x:.4f}" for x in origin), *(f"{x:.7f}" for x in directions), linker]))
    return "\n".join(lines) + "\n"


def write_table(path: Path, fiber: Nucleosomes, comments: list[str]) -> None:
    """Writes a fibre as a table."""
    write_text(path, table_text(fiber, comments))
