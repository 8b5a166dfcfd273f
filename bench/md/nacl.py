"""The time of a step of sodium chloride from DL_POLY, and of the same ions with Lennard-Jones instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import tessera
from bench.common.options import Common, common_options
from bench.common.results import Figure, table
from bench.common.turns import in_milliseconds, take_turns
from tessera.build.replicate import replicate
from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.prepare.dlpoly.control import read_control
from tessera.prepare.dlpoly.run_file import alpha_of_precision
from tessera.system import System, write

#: σ Å and ε kcal/mol of Na+ and Cl− that keep the crystal's density roughly; only the time counts
LENNARD_JONES = np.array([[2.35, 0.13], [4.40, 0.10]])


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--threads", default=2, show_default=True)
@click.option("--copies", default=1, show_default=True, help="Copies along each edge: 2 makes 216,000 ions.")
@common_options(steps=40, repeats=7, steps_help="Steps of each turn.")
def nacl(common: Common, threads: int, copies: int, steps: int, repeats: int) -> None:
    """Time of a step of sodium chloride with the settings of its CONTROL; simulations of one process take turns.

    \b
    Examples:
      python -m bench.md.nacl --data DATA
      python -m bench.md.nacl --copies 2 --steps 10
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    settings = {"steps": steps, "repeats": repeats, "threads": threads, "copies": copies}
    figure = Figure("nacl", "Sodium chloride", settings, {})
    found = measure(common, threads, copies, steps, repeats)
    figure.data.update(found)
    plain = found["Lennard-Jones"]["ms"]
    rows = [[name, f"{row['ms']:.2f}", f"{row['ms'] / plain:.3f}"] for name, row in found.items()]
    figure.tables.append(table(["potentials", "ms/step", "ratio"], rows))
    figure.notes.append("Medians of turns; steps of 1 fs at constant energy, 12 Å, Ewald precision 10⁻⁶.")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)


def salt(common: Common) -> System:
    """Returns DL_POLY's 27,000 ions."""
    folder = (common.data or Path()).resolve() / "dlpoly" / "nacl27000"
    if common.data is None or not folder.is_dir():
        raise click.UsageError(
            "sodium chloride does not come with Tessera: --data names a folder with dlpoly/nacl27000"
        )
    return prepare_dlpoly(folder / "FIELD", folder / "CONFIG", read_control(folder / "CONTROL.TEST030.nve"))


def with_lennard_jones(system: System) -> System:
    """Changes the potentials in place."""
    field = system.force_field
    field.type_lj = LENNARD_JONES
    field.pair_types, field.pair_kind, field.pair_parameter = field.pair_types[:0], [], field.pair_parameter[:0]
    return system


def measure(common: Common, threads: int, copies: int, steps: int, repeats: int) -> dict[str, Any]:
    settings: dict[str, dict[str, Any]] = {
        "interactions": {"cutoff": 12.0},
        "pme": {"alpha": alpha_of_precision(1e-6, 12.0), "order": 6},
        "dynamics": {"steps": 1, "timestep": 1.0},
        "output": {"energy_every": 0},
    }
    common.work.mkdir(parents=True, exist_ok=True)
    simulations: dict[str, tessera.Simulation] = {}
    for name, change in (("Born–Huggins–Mayer", lambda s: s), ("Lennard-Jones", with_lennard_jones)):
        path = common.work / f"nacl_{len(simulations)}.tsr"
        write(change(replicate(salt(common), (copies, copies, copies))), path)
        simulations[name] = tessera.Simulation(path, settings, threads=threads)
    return in_milliseconds(take_turns(simulations, steps, repeats, common.say))


if __name__ == "__main__":
    nacl()
