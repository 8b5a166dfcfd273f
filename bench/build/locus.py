"""What the locus of GATA4 takes: 427 nucleosomes and 83,000 base pairs, built with all atoms, checked, minimised, and
put into a billion atoms of water."""

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
SECONDS = {
    "generate": 3600.0,
    "build": 600.0,
    "minimize": 3600.0,
    "solvate": 1800.0,
}  # promises, of the whole locus on two cores
GIGABYTES = {"generate": 6.0, "build": 6.0, "minimize": 18.0, "solvate": 4.0}
COMMANDS = {
    "generate": "build fiber --generate",
    "build": "build fiber",
    "minimize": "minimize",
    "solvate": "build solvate",
}
BOX = (1907.0, 2252.0, 2485.0)  # Å: that of Jung et al. (2019)
SALT = 0.15  # mol/L
RANKS, THREADS, MESH = 65_536, 2, 2048  # of the run that is planned
MEGABYTES_OF_TEMPLATES = 25.0  # of a rank
MAX_FORCE = 100.0  # kcal/mol/Å
TOPPAR = ("top_all36_prot.rtf", "par_all36m_prot.prm", "top_all36_na.rtf", "par_all36_na.prm")
FACTS = ("atoms", "net_charge", "converged", "max_force", "steps")  # of what commands say
OF_WATER = "toppar_water_ions.str"


def missed(measured: Mapping[str, Mapping[str, Any]], nucleosomes: int = NUCLEOSOMES) -> list[str]:
    """Names what takes more time or memory than promised, clashes that are left, and minimisations that end early."""
    found = []
    for kind, one in measured.items():
        if kind == "plan":
            found += above({"templates of a rank, MB": one["templates"]},
                           {"templates of a rank, MB": MEGABYTES_OF_TEMPLATES})  # fmt: skip
            continue
        is_promised = nucleosomes == NUCLEOSOMES and kind in SECONDS
        values = {f"{kind}, s": one["seconds"], f"{kind}, GB of memory": one["peak_bytes"] / 1e9}
        most = (SECONDS[kind], GIGABYTES[kind]) if is_promised else (None, None)
        found += above(values, dict(zip(values, most)))
    if measured.get("build", {}).get("left"):
        found.append(f"{measured['build']['left']:,} clashes are left, promised none")
    if not measured.get("minimize", {}).get("converged", True):
        found.append(f"the greatest force is {measured['minimize']['max_force']:.4g}, promised ≤ {MAX_FORCE:g}")
    return found


def planned(system: Path, nucleosomes: int) -> dict[str, Any]:
    """Returns what `tessera explain` says of a run of the locus in water as Jung et al. (2019) ran it; a smaller one
    has fewer ranks."""
    ranks = max(1, RANKS * nucleosomes // NUCLEOSOMES)
    run_file = system.with_suffix(".toml")
    mesh = f"[pme]\ngrid = [{MESH}, {MESH}, {MESH}]\n" if nucleosomes == NUCLEOSOMES else ""
    run_file.write_text(f'[input]\nsystem = "{system.name}"\n[dynamics]\ntimestep = 1.0\n{mesh}', encoding="utf-8")
    words = ["explain", str(run_file), "-n", str(ranks), "-t", str(THREADS), "--measured-steps", "0", "--json"]
    done = systems.tessera(words, system.parent)
    said = json.loads(done.stdout)
    memory = said["predicted"]["memory"]
    return {
        "ranks": ranks,
        "mesh": " × ".join(map(str, said["settings"]["pme"]["grid"])),
        "cells": " × ".join(map(str, said["cells"])),
        "megabytes": said["predicted"]["megabytes_a_rank"],
        "templates": memory["templates"] / 1e6,
        "seconds": done.wall_seconds,
        "peak_bytes": done.peak_bytes,
    }


def toppar_of(common: Common) -> list[str]:
    """Returns the files of the force field, that of water and ions last."""
    assert common.data is not None
    files = [common.data.resolve() / "charmm36_toppar" / name for name in (*TOPPAR, OF_WATER)]
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
              help="Where nucleosomes are; without it, where the step generate puts them.")  # fmt: skip
@click.option("--sequence", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The FASTA file of the table's DNA; without it the letters are random.")  # fmt: skip
@click.option("--nucleosomes", default=NUCLEOSOMES, show_default=True, type=click.IntRange(1),
              help="How many, where no table is given.")  # fmt: skip
@click.option(
    "--tails",
    type=click.Choice(["crystal", "beads"]),
    default="crystal",
    show_default=True,
    help="Where tails of histones are: as in the octamer, or along beads of the fibre that is generated.",
)
@click.option("--step", "chosen", multiple=True, type=click.Choice([*COMMANDS, "none"]),
              help="A step to measure; repeatable; what others took is kept in --work [all].")  # fmt: skip
def locus(
    common: Common, table: Path | None, sequence: Path | None, nucleosomes: int, tails: str, chosen: tuple[str, ...]
) -> None:
    """Measure `tessera build fiber --generate` and `tessera build fiber` of the GATA4 locus without water, check and
    minimise what is made, and put that into water and salt with `tessera build solvate`: in the box of Jung et al.
    (2019), a billion atoms.

    The folder of --work needs 30 GB.

    \b
    Examples:
      python -m bench.build locus --check --docs
      python -m bench.build locus --table gata4.csv --sequence gata4.fa --step build
      python -m bench.build locus --nucleosomes 12 --json
      python -m bench.build locus --tails beads --step generate --step build
    """
    figure = common.figure("locus", "The locus of GATA4", nucleosomes=nucleosomes)
    octamer, toppar = nucleosome_of(common), toppar_of(common)
    if table is not None and sequence is None:
        raise click.UsageError("--table needs the --sequence of its DNA")
    folder = common.work.resolve() / "locus"
    folder.mkdir(parents=True, exist_ok=True)
    if sequence is None:
        write_sequence(sequence := folder / "locus.fa", nucleosomes)
    is_given = table is not None
    table = table or folder / "locus.csv"
    built, minimized, wet = (folder / name for name in ("locus.tsr", "minimized.tsr", "wet.tsr"))
    dry = minimized if not chosen or "minimize" in chosen or minimized.exists() else built
    along = ["--tails", table.resolve().with_suffix(".tails.csv")] if tails == "beads" else []
    box = ["--box", *BOX] if nucleosomes == NUCLEOSOMES else []
    steps = {
        "generate": [nucleosomes, "--tails", tails, "--sequence", sequence.resolve(), "--seed", 1, "-o", table],
        "build": [table.resolve(), *along, "--sequence", sequence.resolve(), "--octamer", octamer, "--seed", 1,
                  "-o", built, "--toppar", *toppar],
        "minimize": [built, "-o", minimized, "--set", "interactions.electrostatics=shift", "-t", "auto",
                     "--max-force", f"{MAX_FORCE:g}"],
        "solvate": [dry, *box, "--salt", SALT, "--memory", GIGABYTES["solvate"], "--seed", 1, "-o", wet,
                    "--toppar", *toppar],
    }  # fmt: skip
    plan = folder / "plan.json"
    for kind, words in list(steps.items())[is_given:]:
        kept = folder / f"{kind}.json"
        if kind in (chosen or steps):
            done = systems.tessera([*COMMANDS[kind].split(), *map(str, words), "--json"], folder)
            said = json.loads(done.stdout)
            facts = {name: said[name] for name in FACTS if name in said}
            found = {"seconds": done.wall_seconds, "peak_bytes": done.peak_bytes, **facts}
            if kind == "build":
                found["left"] = clashes_of(built).left
            if kind == "solvate":
                plan.write_text(json.dumps(planned(wet, nucleosomes)), encoding="utf-8")
            kept.write_text(json.dumps(found), encoding="utf-8")
            common.say(f"{kind}: {done.wall_seconds:.4g} s")
        if kept.exists():
            figure.data[kind] = json.loads(kept.read_text(encoding="utf-8"))
    rows = [{"step": f"tessera {COMMANDS[kind]}", **one} for kind, one in figure.data.items()]
    figure.tables.append(
        columns(
            rows,
            {
                "step": lambda one: one["step"],
                "atoms": lambda one: one.get("atoms"),
                "s": lambda one: one["seconds"],
                "GB of memory": lambda one: one["peak_bytes"] / 1e9,
                "clashes left": lambda one: one.get("left"),
                "greatest force, kcal/mol/Å": lambda one: one.get("max_force"),
            },
        )
    )
    if plan.exists():
        figure.data["plan"] = json.loads(plan.read_text(encoding="utf-8"))
        figure.tables.append(
            columns(
                [figure.data["plan"]],
                {
                    "ranks planned for": lambda one: one["ranks"],
                    "mesh": lambda one: one["mesh"],
                    "cells": lambda one: one["cells"],
                    "MB a rank": lambda one: one["megabytes"],
                    "of templates, MB": lambda one: one["templates"],
                    "s to plan": lambda one: one["seconds"],
                    "GB of memory to plan": lambda one: one["peak_bytes"] / 1e9,
                },
            )
        )
    figure.failures += missed(figure.data, nucleosomes)
    figure.finish(common)
