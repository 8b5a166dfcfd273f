"""What an array of nucleosomes in water takes: generated, built with all atoms, put into water, minimised, and run at
constant energy, whose drift says whether what was built is sound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench.build.clashes import nucleosome_of
from bench.build.locus import MAX_FORCE, SALT, toppar_of, write_sequence
from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import above, table
from bench.md.conservation import MOST_DRIFT, Series
from tessera.build.clashes.report import clashes_of
from tessera.system import read

MOST_ATOMS = 5_000_000
DRY_FORCE = 20.0  # kcal/mol/Å: to which what was built is minimised before there is water around it
WARMING = 500  # steps in a heat bath, in which heat goes into what was minimised
PARTS = ("build", "water", "warm", "run")


def missed(found: Mapping[str, Any]) -> list[str]:
    """Names what is more than promised, and a minimisation that ended early."""
    failures = above(
        {
            "atoms": found["atoms"],
            "clashes": found["clashes"],
            "drift, kT/ns/dof": max(0.0, abs(found["drift"]) - 2 * found["error"]),
        },
        {"atoms": MOST_ATOMS, "clashes": 0, "drift, kT/ns/dof": MOST_DRIFT},
    )
    if not found["error"] <= MOST_DRIFT:
        failures.append(f"the run is too short to tell a drift of {MOST_DRIFT}: ± {found['error']:.2g}")
    if not found["converged"]:
        failures.append(f"the greatest force is {found['max_force']:.4g}, promised ≤ {MAX_FORCE:g}")
    return failures


@script(check="a promise is not kept", steps=1000, steps_help="Steps of 2 fs at constant energy.")
@click.option("--nucleosomes", default=12, show_default=True, type=click.IntRange(1))
@click.option("--radius", default=205.0, show_default=True, help="Å: of the sphere in which the fibre is generated.")
@click.option("--padding", default=10.0, show_default=True, help="Å: of water around it.")
@click.option("--seed", default=3, show_default=True, help="Of the fibre, which decides how many atoms the box has.")
@click.option("--layout", default="1x2", show_default=True, help="RANKSxTHREADS.")
@click.option("--step", "chosen", multiple=True, type=click.Choice(PARTS),
              help="A part to measure; repeatable; what others took is kept in --work [all].")  # fmt: skip
def array(
    common: Common, nucleosomes: int, radius: float, padding: float, seed: int, layout: str, steps: int,
    chosen: tuple[str, ...],
) -> None:  # fmt: skip
    """Measure `tessera build fiber`, `build solvate`, `minimize` and a run at constant energy of an array of
    nucleosomes in water and salt.

    \b
    Examples:
      python -m bench.build array --data DATA --check --docs
      python -m bench.build array --data DATA --nucleosomes 2 --steps 500
      python -m bench.build array --data DATA --step run --check --docs
    """
    figure = common.figure("array", "An array of nucleosomes in water", nucleosomes=nucleosomes)
    octamer, toppar = nucleosome_of(common), toppar_of(common)
    folder = common.work.resolve() / "array"
    folder.mkdir(parents=True, exist_ok=True)
    write_sequence(sequence := folder / "array.fa", nucleosomes)
    laid, built, dry, wet, minimized = (
        folder / name for name in ("array.csv", "built.tsr", "dry.tsr", "wet.tsr", "minimized.tsr")
    )
    minimizing = ["-t", "auto", "--json", "--max-force"]
    # What was built is strained, and water around it makes each step of a minimisation fourteen times as long: at a
    # greatest force of 100 on its way down, nearly all of the strain would be left for that.
    commands: dict[str, list[tuple[str, list[Any]]]] = {
        "build": [
            ("build fiber --generate", [nucleosomes, "--tails", "crystal", "--sequence", sequence,
                                        "--radius", f"{radius:g}", "--seed", seed, "-o", laid]),
            ("build fiber", [laid, "--sequence", sequence, "--octamer", octamer, "--seed", seed, "-o", built, "--json",
                             "--toppar", *toppar]),
            ("minimize", [built, "-o", dry, "--set", "interactions.electrostatics=shift", *minimizing,
                          f"{DRY_FORCE:g}"]),
        ],
        "water": [
            ("build solvate", [dry, "--turn", "--padding", padding, "--salt", SALT, "--seed", seed, "-o", wet, "--json",
                               "--toppar", *toppar]),
            ("minimize", [wet, "-o", minimized, *minimizing, f"{MAX_FORCE:g}"]),
        ],
    }  # fmt: skip
    runs = {"warm": f"{WARMING:,} steps in a heat bath", "run": f"{steps:,} steps at constant energy"}
    for part in PARTS:
        if chosen and part not in chosen:
            continue
        rows: list[list[Any]] = []
        facts: dict[str, Any] = {}
        for name, words in commands.get(part, []):
            done = systems.tessera([*name.split(), *map(str, words)], folder)
            what = f"tessera {name}, in water" if words[0] == wet else f"tessera {name}"
            rows.append([what, done.wall_seconds, done.peak_bytes / 1e9])
            said = json.loads(done.stdout) if "--json" in words else {}
            facts |= {key: said[key] for key in ("converged", "max_force") if key in said}
        if part in runs:
            run = engine.run(minimized, settings_of(part, folder, steps), folder / part, engine.Layout.parse(layout))
            rows.append([f"tessera run, {runs[part]}", run.outcome.wall_seconds, run.outcome.peak_bytes / 1e9])
            facts = {"ms_per_step": run.report["ms_per_step"], "versions": run.versions()}
            if part == "run":
                facts["drift"], facts["error"] = Series.of(run).drift()
        (folder / f"{part}.json").write_text(json.dumps({"rows": rows, **facts}), encoding="utf-8")
        for what, seconds, _ in rows:
            common.say(f"{what}: {seconds:.4g} s")
    kept = {part: json.loads(path.read_text("utf-8")) for part in PARTS if (path := folder / f"{part}.json").exists()}
    figure.tables.append(table(["step", "s", "GB of memory"], [row for one in kept.values() for row in one["rows"]]))
    if lacking := [part for part in PARTS if part not in kept]:
        figure.failures.append(f"not measured: --step {' --step '.join(lacking)}")
        figure.finish(common)
        return
    figure.versions.update(kept["run"]["versions"])
    found = {
        "atoms": read(wet).n_atoms,
        "clashes": clashes_of(wet).left,
        **{key: kept["water"][key] for key in ("converged", "max_force")},
        **{key: kept["run"][key] for key in ("drift", "error", "ms_per_step")},
    }
    facts = {
        "atoms": f"{found['atoms']:,}",
        "of DNA and histones": f"{read(dry).n_atoms:,}",
        "clashes in water": found["clashes"],
        "greatest force, kcal/mol/Å": found["max_force"],
        "ms a step": found["ms_per_step"],
        "drift at 2 fs, kT/ns/dof": found["drift"],
        "±": found["error"],
    }
    figure.tables.append(table(list(facts), [list(facts.values())]))
    figure.data = found
    figure.failures += missed(found)
    figure.finish(common)


COMMON: engine.Settings = {
    "dynamics": {
        "timestep": 2.0,
        "temperature": 300.0,
        "seed": 1,
        "com_removal_every": 0,
        "constraints": "h-bonds",
    },
    "output": {"trajectory": "none", "energy_every": 10},
}


def settings_of(part: str, folder: Path, steps: int) -> engine.Settings:
    """Returns the settings of a run: warm brings what was minimised to 300 K, and run goes on at constant energy.

    What was minimised takes up heat for a picosecond or two. Meanwhile the total energy, of which a time step of 2 fs
    changes about a third of a percent of the kinetic energy, follows the temperature, and a drift would not be told
    from that. Friction and noise warm all motions alike, which a bath that scales velocities leaves to the forces.
    """
    bath: engine.Settings = {
        "dynamics": {
            "steps": WARMING,
            "velocities": "generate",
            "ensemble": "nvt",
            "thermostat": "langevin",
            "tau_t": 0.1,
        }
    }
    goes_on: engine.Settings = {"input": {"start": str(folder / "warm" / "output")}, "dynamics": {"steps": steps}}
    return engine.merge(COMMON, bath if part == "warm" else goes_on)
