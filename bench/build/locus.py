"""What the locus of GATA4 takes: 427 nucleosomes and 83,000 base pairs, built with all atoms, checked and minimised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from bench.build.clashes import nucleosome_of
from bench.common import systems
from bench.common.options import Common, script
from bench.common.results import above, columns
from tessera.build.clashes.report import clashes_of

NUCLEOSOMES, PAIRS_EACH, LINKERS = 427, 147, 20231
SECONDS = {"build": 600.0, "minimize": 3600.0}  # promises, of the whole locus on two cores
GIGABYTES = {"build": 6.0, "minimize": 18.0}
MAX_FORCE = 100.0  # kcal/mol/Å
TOPPAR = ("top_all36_prot.rtf", "par_all36m_prot.prm", "top_all36_na.rtf", "par_all36_na.prm")


def missed(measured: Mapping[str, Mapping[str, Any]], nucleosomes: int = NUCLEOSOMES) -> list[str]:
    """Names what takes more time or memory than promised, clashes that are left, and minimisations that end early."""
    found = []
    for kind, one in measured.items():
        is_promised = nucleosomes == NUCLEOSOMES and kind in SECONDS
        values = {f"{kind}, s": one["seconds"], f"{kind}, GB of memory": one["peak_bytes"] / 1e9}
        most = (SECONDS[kind], GIGABYTES[kind]) if is_promised else (None, None)
        found += above(values, dict(zip(values, most)))
    if measured["build"]["left"]:
        found.append(f"{measured['build']['left']:,} clashes are left, promised none")
    if not measured.get("minimize", {}).get("converged", True):
        found.append(f"the greatest force is {measured['minimize']['max_force']:.4g}, promised ≤ {MAX_FORCE:g}")
    return found


def toppar_of(common: Common) -> list[str]:
    assert common.data is not None
    files = [common.data.resolve() / "charmm36_toppar" / name for name in TOPPAR]
    lacking = next((file for file in files if not file.is_file()), None)
    if lacking is not None:
        raise click.UsageError(f"there is no {lacking.parent.name}/{lacking.name} in {common.data}")
    return list(map(str, files))


def write_sequence(path: Path, nucleosomes: int) -> None:
    """Writes a random sequence, the same each time, with as many pairs a nucleosome as the locus has."""
    pairs = PAIRS_EACH * nucleosomes + LINKERS * max(nucleosomes - 1, 0) // (NUCLEOSOMES - 1)
    letters = "".join(np.random.default_rng(1).choice(list("ACGT"), pairs))
    path.write_text(f">a sequence of {pairs} base pairs\n{letters}\n", encoding="utf-8")


@script(check="a promise is not kept")
@click.option("--table", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Where nucleosomes are; without it a table is generated, which takes long.")  # fmt: skip
@click.option("--sequence", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The FASTA file of the table's DNA; without it the letters are random.")  # fmt: skip
@click.option("--nucleosomes", default=NUCLEOSOMES, show_default=True, type=click.IntRange(1),
              help="How many, where no table is given.")  # fmt: skip
@click.option("--minimize/--no-minimize", default=True, show_default=True, help="Whether the atoms are minimised.")
def locus(common: Common, table: Path | None, sequence: Path | None, nucleosomes: int, minimize: bool) -> None:
    """Measure `tessera build fiber` of the GATA4 locus without water, and check and minimise what it makes.

    The folder of --work needs 5 GB.

    \b
    Examples:
      python -m bench.build locus --check --docs
      python -m bench.build locus --table gata4.csv --sequence gata4.fa --no-minimize
      python -m bench.build locus --nucleosomes 12 --json
    """
    figure = common.figure("locus", "The locus of GATA4", nucleosomes=nucleosomes)
    octamer, toppar = nucleosome_of(common), toppar_of(common)
    if table is not None and sequence is None:
        raise click.UsageError("--table needs the --sequence of its DNA")
    folder = common.work.resolve() / "locus"
    folder.mkdir(parents=True, exist_ok=True)
    if sequence is None:
        write_sequence(sequence := folder / "locus.fa", nucleosomes)
    if table is None:
        table = folder / "locus.csv"
        words = ["--generate", nucleosomes, "--sequence", sequence, "--seed", 1, "-o", table]
        systems.tessera(["build", "fiber", *map(str, words)], folder)
        common.say(f"generated {nucleosomes:,} nucleosomes")
    built, minimized = folder / "locus.tsr", folder / "minimized.tsr"
    words = [table, "--sequence", sequence.resolve(), "--octamer", octamer, "--seed", 1, "-o", built]
    steps = {
        "build": ["build", "fiber", *map(str, words), "--toppar", *toppar, "--json"],
        "minimize": ["minimize", str(built), "-o", str(minimized), "--set", "interactions.electrostatics=shift",
                     "--max-force", f"{MAX_FORCE:g}", "--json"],
    }  # fmt: skip
    for kind, command in steps.items():
        if kind == "minimize" and not minimize:
            continue
        done = systems.tessera(command, folder)
        said = json.loads(done.stdout)
        facts = {name: said[name] for name in ("atoms", "net_charge", "converged", "max_force", "steps")
                 if name in said}  # fmt: skip
        figure.data[kind] = {"seconds": done.wall_seconds, "peak_bytes": done.peak_bytes, **facts}
        common.say(f"{kind}: {done.wall_seconds:.4g} s")
    figure.data["build"]["left"] = clashes_of(built).left
    rows = [{"step": f"tessera {kind}", **one} for kind, one in figure.data.items()]
    figure.tables.append(
        columns(
            rows,
            {
                "step": lambda one: one["step"],
                "atoms": lambda one: figure.data["build"]["atoms"],
                "s": lambda one: one["seconds"],
                "GB of memory": lambda one: one["peak_bytes"] / 1e9,
                "clashes left": lambda one: one.get("left"),
                "greatest force, kcal/mol/Å": lambda one: one.get("max_force"),
            },
        )
    )
    figure.failures += missed(figure.data, nucleosomes)
    figure.finish(common)
