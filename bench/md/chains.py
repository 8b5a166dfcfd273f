"""Measures what a long chain takes in units and as a whole: templates on each rank, the file, time to open it."""

from __future__ import annotations

import time
from typing import Any

import click

from bench.common import engine
from bench.common.options import Common, common_options, run_options
from bench.common.polymer import make_polymer
from bench.common.results import Figure, table
from tessera.system import read, write

ATOMS_PER_RESIDUE = 10


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--atoms", type=click.IntRange(min=100_000), default=2_600_000, show_default=True, help="In one molecule."
)
@run_options
@common_options(steps=1, repeats=1, steps_help="Steps of each run.")
def chains(common: Common, atoms: int, layout: str, mpi: str, cutoff: float, steps: int, repeats: int) -> None:
    """Measure a polymer of four kinds of residues in random order, written in units and whole.

    \b
    Examples:
      python -m bench.md.chains --docs
      python -m bench.md.chains --atoms 200000
    """
    chosen = engine.Layout.parse(layout, mpi)
    settings = engine.merge(
        engine.interactions(cutoff),
        {"dynamics": {"steps": steps, "timestep": 0.2}, "output": {"trajectory": "none"}},
    )
    figure = Figure("chains", "A long chain in units", {"steps": steps, "layout": str(chosen), "cutoff": cutoff}, {})
    system = make_polymer([atoms // ATOMS_PER_RESIDUE])
    found: list[dict[str, Any]] = []
    for whole in (False, True):
        path = common.work / ("whole.tsr" if whole else "units.tsr")
        begin = time.perf_counter()
        write(system, path, whole=whole)
        written = time.perf_counter()
        read(path)
        opened = time.perf_counter()
        done = engine.run(path, settings, common.work / "runs" / "chains", chosen)
        figure.versions.update(done.versions())
        found.append(
            {
                "in_units": not whole,
                "template_bytes": done.report["memory"]["by_owner"]["templates"] / done.report["ranks"],
                "file_bytes": path.stat().st_size,
                "write_seconds": written - begin,
                "read_seconds": opened - written,
                "peak_bytes": done.outcome.peak_bytes,
                "state_hash": done.report["state_hash"],
            }
        )
        common.say(f"{'whole' if whole else 'in units'}: {found[-1]['template_bytes'] / 1e6:.1f} MB a rank")
        path.unlink()
    if found[0]["state_hash"] != found[1]["state_hash"]:
        figure.failures.append("the run of units has other bits than that of the whole molecule")
    figure.data = {"n_atoms": system.n_atoms, "runs": found}
    rows = [
        ["templates and what is derived from them, MB on each rank", *(f["template_bytes"] / 1e6 for f in found)],
        ["all of a run at its peak, MB", *(f["peak_bytes"] / 1e6 for f in found)],
        ["file, MB", *(f["file_bytes"] / 1e6 for f in found)],
        ["`tessera.system.write`, s", *(f["write_seconds"] for f in found)],
        ["`tessera.system.read`, s", *(f["read_seconds"] for f in found)],
    ]
    figure.tables.append(table([f"one molecule of {system.n_atoms:,} atoms", "in units", "whole"], rows))
    figure.notes.append(f"{chosen} ranks × threads. Both runs have the same bits at their end.")
    figure.notes += [f"Failed: {text}." for text in figure.failures]
    figure.write(common.results, as_json=common.as_json, docs=common.docs)


if __name__ == "__main__":
    chains()
