"""What becomes of real inputs of other programs, and how near the energies are to those that these programs printed."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click

from bench.common.options import Common, script
from bench.common.results import table
from bench.convert.cases import CASES, Case, option_counts
from bench.convert.dlpoly_cases import CASES as DLPOLY_CASES
from bench.convert.dlpoly_cases import DlpolyCase
from bench.convert.openmm_cases import CASES as OPENMM_CASES
from bench.convert.openmm_cases import OpenmmCase
from tessera import launch
from tessera.convert import PROGRAMS, convert
from tessera.settings import toml_value
from tessera.system import read, write

MOST = 2e-5  # relative difference of a sum of energies
_HEADER = [
    "program",
    "input",
    "translated",
    "without meaning",
    "refused",
    "energies of",
    "greatest relative difference",
]


def missed(differences: dict[str, float]) -> list[str]:
    """Says which inputs have other energies than those that their program printed."""
    return [
        f"{name}: energies differ by {one:.2g}, promised ≤ {MOST:g}" for name, one in differences.items() if one > MOST
    ]


@script(check="energies of a converted input differ from those of its program")
def converters(common: Common) -> None:
    """Convert real inputs of GROMACS, GENESIS, NAMD, AMBER, DL_POLY and OpenMM, and compare energies with what these
    programs printed.

    OpenMM calculates its own here, where it is installed; the others are in the data sets. Inputs without such a
    reference say so, and inputs that are refused have no energies.

    \b
    Examples:
      python -m bench.convert --data DATA
      python -m bench.convert --data DATA --check --docs
    """
    if common.data is None:
        raise click.ClickException("the data sets are missing: give --data or set TESSERA_DATA")
    folder = common.work / "convert"
    folder.mkdir(parents=True, exist_ok=True)
    figure = common.figure("converters", "Settings of other programs")
    differences: dict[str, float] = {}
    rows = []
    for case in CASES:
        common.say(" ".join(case.files))
        rows.append(_row(case, common.data, folder, differences))
    for dlpoly in DLPOLY_CASES:
        common.say(dlpoly.control)
        rows.append(_dlpoly_row(dlpoly, common.data, folder, differences))
    for own in OPENMM_CASES:
        common.say(own.title)
        rows.append(_openmm_row(own, common.data, folder, differences))
    figure.tables.append(table(_HEADER, rows))
    figure.notes.append(
        "GENESIS shifts 1–4 pairs too where Lennard-Jones ends by a force switch, by a constant that no force knows "
        "and that Tessera leaves out; it was added here."
    )
    figure.data = {"differences": differences, "rows": rows}
    figure.failures += missed(differences)
    figure.finish(common)


def _row(case: Case, data: Path, folder: Path, differences: dict[str, float]) -> list[Any]:
    data = case.folder or data
    found = convert([data / file for file in case.files], "system.tsr")
    counts = option_counts(found.rows)
    name = case.files[0]
    start = [PROGRAMS[case.program].title, f"`{name}`", *counts.values()]
    if found.refused or case.reference is None or case.system is None:
        return [*start, "refused" if found.refused else "no reference", None]
    system = folder / f"{case.program}.tsr"
    if not system.is_file():
        write(case.system(data), system)
    terms = _energies(found.text, system)
    wanted = case.reference(data)
    constant = case.constant(read(system), tomllib.loads(found.text)["interactions"])
    sums = {term: constant + sum(terms[part] for part in parts or terms) for term, parts in case.parts.items()}
    differences[name] = max(abs(sums[term] - value) / abs(value) for term, value in wanted.items())
    return [*start, f"{', '.join(wanted)}: {case.by}", differences[name]]


def _dlpoly_row(case: DlpolyCase, data: Path, folder: Path, differences: dict[str, float]) -> list[Any]:
    system, wanted = folder / "dlpoly.tsr", case.energy(data)
    total = sum(_energies(case.write(data, system), system).values())
    differences[case.control] = abs(total - wanted) / abs(wanted)
    by = "total: DL_POLY"
    return ["DL_POLY", f"`{case.control}`", *case.counts(data).values(), by, differences[case.control]]


def _openmm_row(case: OpenmmCase, data: Path, folder: Path, differences: dict[str, float]) -> list[Any]:
    from tessera.prepare.openmm import prepare_openmm_files

    try:
        import openmm
    except ImportError:
        return ["OpenMM", case.title, None, None, None, "not installed", None]
    energy = case.write(data, folder)
    files = [folder / f"{name}.xml" for name in ("system", "integrator", "state")]
    found = convert(files, "system.tsr")
    system = folder / "openmm.tsr"
    write(prepare_openmm_files(files[0], files[2]), system)
    total = sum(_energies(found.text, system).values())
    differences[case.title] = abs(total - energy) / abs(energy)
    version = openmm.__version__
    counts = option_counts(found.rows).values()
    return ["OpenMM", case.title, *counts, f"total: OpenMM {version}, Reference", differences[case.title]]


def _energies(run_file: str, system: Path) -> dict[str, float]:
    """Returns the terms of the energy in kcal/mol, with the interactions and the mesh of a run file."""
    settings = tomllib.loads(run_file)
    chosen = {
        f"{section}.{key}": value
        for section in ("interactions", "pme")
        for key, value in settings.get(section, {}).items()
    }
    words = [f"--set={name}={toml_value(name, value)}" for name, value in chosen.items()]
    done = subprocess.run(
        [*launch.single_engine(), "--energy", str(system), "--json", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise click.ClickException(done.stderr.strip())
    return {term: float(value) for term, value in json.loads(done.stdout)["terms"].items()}
