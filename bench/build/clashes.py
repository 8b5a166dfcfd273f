"""How long it takes to find atoms in one place, and to mend what clashes, by the number of atoms."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from bench.common.options import Common, script
from bench.common.results import ROOT, above, columns
from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import overlaps_of
from tessera.build.clashes.mend import mend
from tests.clashes.injected import Injector, repeated

ATOMS = (100_000, 1_000_000, 10_000_000)
CLASHES = 10_000
SECONDS_TO_FIND, SECONDS_TO_MEND = 30.0, 60.0  # promises, for the last of these sizes and for so many clashes
GROWTH = 1.5  # that of the time an atom from the first size to the last
LEAST_MENDED = 0.9  # of clashes that φ and χ have made
EDGE = 62.23  # Å: of the box of examples/dhfr
APART = 170.0  # Å between nucleosomes


def missed(found: Mapping[int, float], seconds: float, mended: float) -> list[str]:
    """Names what takes longer than promised: to find clashes, s by the number of atoms, and to mend them; and a share
    of those mended that is too small."""
    least, most = min(found), max(found)
    growth = found[most] / most / (found[least] / least)
    is_whole = most >= ATOMS[-1]
    return [
        *above(
            {"finding clashes, s": found[most], "growth of the time an atom": growth, "mending clashes, s": seconds},
            {"finding clashes, s": SECONDS_TO_FIND if is_whole else None,
             "growth of the time an atom": GROWTH if is_whole else None, "mending clashes, s": SECONDS_TO_MEND},
        ),
        *([] if mended >= LEAST_MENDED else [f"{mended:.1%} of the clashes are mended, promised ≥ {LEAST_MENDED:.0%}"]),
    ]  # fmt: skip


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Returns what is made, and the time that it took by the clock and of processors."""
    wall, processor = time.perf_counter(), time.process_time()
    made = work()
    return made, {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}


def finding(atoms: int) -> dict[str, Any]:
    """Finds clashes in a protein in water that fills a box of so many atoms or a few more, some in each copy."""
    molecules = read_structure(ROOT / "examples" / "dhfr" / "5dhfr_cube.pdb").molecules
    made, _ = Injector(molecules, 0, 15.0).put(4)
    each = len(overlaps_of(made))
    copies = -(-atoms // made.n_atoms)
    many = repeated(made, copies, EDGE)
    found, took = timed(lambda: overlaps_of(many))
    if len(found) != each * copies:
        raise click.ClickException(f"{len(found):,} clashes were found, expected {each * copies:,}")
    return {"n_atoms": many.n_atoms, "clashes": len(found), **took}


def mending(file: Path, clashes: int) -> dict[str, Any]:
    """Mends clashes of copies of a nucleosome that lie apart, as many as there must be for so many clashes."""
    molecules = read_structure(file).molecules
    made, _ = Injector(molecules, 0).put(50)
    many = repeated(made, clashes // len(overlaps_of(made)) + 1, APART)
    overlaps = overlaps_of(many)
    many = replace(many)  # without the graph of bonds that was made to find them
    outcomes, took = timed(lambda: mend(many, overlaps))
    still = len(overlaps_of(many))
    mended = sum(outcome.mended for outcome in outcomes)
    if still != len(outcomes) - mended:
        raise click.ClickException(f"{still:,} clashes are left, {len(outcomes) - mended:,} are said to be")
    return {"n_atoms": many.n_atoms, "clashes": len(outcomes), "mended": mended, **took}


def nucleosome_of(common: Common) -> Path:
    if common.data is None:
        raise click.UsageError("1KX5 does not come with Tessera: name the folder of the data sets with --data")
    path = common.data.resolve() / "dna_nucleosome" / "1kx5.pdb"
    if not path.is_file():
        raise click.UsageError(f"there is no {path.parent.name}/{path.name} in {common.data}")
    return path


@script(check="a promise is not kept")
@click.option(
    "--atoms",
    default=ATOMS[-1],
    show_default=True,
    type=click.IntRange(ATOMS[0]),
    help="The most atoms among which clashes are found; also in a tenth of these, and a tenth of that.",
)
@click.option("--clashes", "count", default=CLASHES, show_default=True, type=click.IntRange(1),
              help="Clashes that are mended.")  # fmt: skip
def clashes(common: Common, atoms: int, count: int) -> None:
    """Measure how long it takes to find clashes of a protein in water, and to mend those of nucleosomes.

    Both are done by one core. The graph of bonds is made anew and its time counted; that of reading files is not.

    \b
    Examples:
      python -m bench.build clashes --check --docs
      python -m bench.build clashes --atoms 100000 --clashes 200 --json
    """
    figure = common.figure("clashes", "Clashes")
    file = nucleosome_of(common)
    found = []
    for size in (atoms // 100, atoms // 10, atoms):
        found.append(finding(size))
        common.say(f"found {found[-1]['clashes']:,} clashes in {found[-1]['n_atoms']:,} atoms")
    mended = mending(file, count)
    figure.data = {"finding": found, "mending": mended}
    cells: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "atoms": lambda one: one["n_atoms"],
        "clashes": lambda one: one["clashes"],
        "s to find": lambda one: one["seconds"],
        "of a processor, s": lambda one: one["processor_seconds"],
        "ns an atom": lambda one: 1e9 * one["seconds"] / one["n_atoms"],
    }
    figure.tables.append(columns(found, cells))
    cells = {
        "atoms": lambda one: one["n_atoms"],
        "clashes": lambda one: one["clashes"],
        "mended": lambda one: one["mended"],
        "s to mend": lambda one: one["seconds"],
        "of a processor, s": lambda one: one["processor_seconds"],
        "ms a clash": lambda one: 1e3 * one["seconds"] / one["clashes"],
    }
    figure.tables.append(columns([mended], cells))
    figure.failures += missed(
        {one["n_atoms"]: one["seconds"] for one in found}, mended["seconds"], mended["mended"] / mended["clashes"]
    )
    figure.finish(common)
