"""The inputs of other programs whose run files are tried, and what those programs printed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tessera.constants import KJ
from tessera.system import System

Terms = Mapping[str, float]  # kcal/mol


@dataclass(frozen=True)
class Case:
    """Files of settings in the data sets, and how their energies are compared.

    `system` makes the system of these files, `reference` returns sums of terms that the program printed, and the terms
    of Tessera that make each up, all where none is named. `by` says which version printed them. `constant` returns what
    that program adds to the energy of a system with these interactions, though no force knows it.
    Without a reference, only lines are counted. `folder` has the files that are not in the data sets.
    """

    program: str
    files: tuple[str, ...]
    by: str = ""
    system: Callable[[Path], System] | None = None
    reference: Callable[[Path], Terms] | None = None
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constant: Callable[[System, Mapping[str, Any]], float] = lambda *_: 0.0
    folder: Path | None = None


_JAC = "genesis/test_spdyn/jac_param27"


def _genesis_system(data: Path) -> System:
    from tessera.prepare.charmm import prepare_charmm

    build, parameters = data / "genesis/build/jac_param27", data / "genesis/param"
    names = ("top_all27_prot_lipid.rtf", "par_all27_prot_lipid.prm")
    return prepare_charmm(build / "jac_param27.psf", build / "rst", [parameters / name for name in names])


def _genesis_log(case: str) -> Callable[[Path], Terms]:
    """Returns what reads the energy of step 0 of a log of GENESIS."""

    def read(data: Path) -> Terms:
        lines = (data / _JAC / case / "ref").read_text().splitlines()
        at = next(n for n, line in enumerate(lines) if line.split()[:2] == ["STEP", "BOND"])
        values = lines[at + 2].split()[1:9]
        return {"total": sum(map(float, values))}

    return read


def shift_of_14(system: System, interactions: Mapping[str, Any]) -> float:
    """Returns what a force switch adds to the energies of 1-4 pairs in CHARMM and GENESIS, in kcal/mol: it makes the
    energy of a pair 0 at the cut-off, and below the switch it is a constant. GROMACS and OpenMM leave 1-4 pairs
    alone, as Tessera does. (Steinbach and Brooks 1994)"""
    if interactions.get("lj") != "force-switch":
        return 0.0
    reach = (interactions["cutoff"] * interactions["switch"]) ** 3
    sigma, epsilon, _ = system.force_field.table("pair_14").T
    sixth = sigma**6
    shift = 4 * epsilon * (sixth / reach - (sixth / reach) ** 2)
    of_template = [float(shift[template.term("pair_14").parameter].sum()) for template in system.templates]
    return sum(count * of_template[template] for template, count in system.runs.tolist())


def _gromacs_system(data: Path) -> System:
    from tessera.prepare.gromacs import prepare_gromacs

    box = np.diag([108.8612, 108.8612, 77.758])
    return prepare_gromacs(data / "apoa1/gromacs/apoa1_merge.top", data / "apoa1/charmm/apoa1.pdb", box=box)


def _gromacs_energies(data: Path) -> Terms:
    found = json.loads((data / "reference_energies.json").read_text())["apoa1_c36m"]["gromacs_2022.5_double_kJ"]
    names = {"lj": "LJ_SR_GROMACS_force-switch_1.0_1.2", "lj_14": "LJ-14", "dihedral": "Proper", "cmap": "CMAP"}
    return {term: found[name] * KJ for term, name in names.items()}


def _amber_system(folder: Path) -> System:
    from tessera.prepare.amber import prepare_amber

    return prepare_amber(folder / "popc.prmtop", folder / "popc.inpcrd", vacuum=True)


def _amber_energies(folder: Path) -> Terms:
    printed = re.findall(r"([A-Z14][A-Z14 -]*?) += +(-?[\d.]+)", (folder / "popc.mdout").read_text())
    last = {name: float(text) for name, text in printed}
    names = {"lj": "VDWAALS", "coulomb": "EEL", "lj_14": "1-4 VDW", "coulomb_14": "1-4 EEL", "bond": "BOND"}
    return {term: last[name] for term, name in (names | {"angle": "ANGLE", "dihedral": "DIHED"}).items()}


def genesis(case: str) -> Case:
    """Returns one of GENESIS' own tests of DHFR."""
    files, log = (f"{_JAC}/{case}/inp",), _genesis_log(case)
    return Case("genesis", files, "GENESIS 2.0", _genesis_system, log, {"total": ()}, shift_of_14)


def gromacs(file: str) -> Case:
    """Returns ApoA1 with other terms than those of bonds, which GROMACS has of the protein alone."""
    parts = {"lj": ("lj",), "lj_14": ("lj_14",), "dihedral": ("dihedral",), "cmap": ("cmap",)}
    by = "GROMACS 2022.5, double precision"
    return Case("gromacs", (f"apoa1/gromacs/{file}",), by, _gromacs_system, _gromacs_energies, parts)


_POPC = {
    "lj": ("lj",), "coulomb": ("coulomb_real",), "lj_14": ("lj_14",), "coulomb_14": ("coulomb_14",), "bond": ("bond",),
    "angle": ("angle",), "dihedral": ("dihedral", "improper"),
}  # fmt: skip
_TESTS = Path(__file__).parents[2] / "tests/data"

CASES = (
    gromacs("apoa1_nve.mdp"),
    gromacs("apoa1_nvt.mdp"),
    Case("gromacs", ("reports/mdp/mdout.mdp",)),
    genesis("PME_opt_1dalltoall"),
    genesis("PME_opt_1dalltoall/PME_noopt_1dalltoall"),
    genesis("PME_FSW"),
    genesis("CUTOFF"),
    Case("namd", ("apoa1/charmm/apoa1_nve.namd",)),
    Case("namd", ("apoa1/charmm/apoa1_nvt.namd",)),
    Case("namd", ("apoa1/charmm/apoa1_nve_mts.namd",)),
    Case("namd", ("apoa1/charmm22_xplor_par/apoa1.namd",)),
    Case("amber", ("popc.mdin",), "Amber 12", _amber_system, _amber_energies, _POPC, folder=_TESTS),
)


def option_counts(rows: list[Any]) -> dict[str, int]:
    """Returns how many of the options given are translated, without meaning and refused."""
    given = [row.status for row in rows if row.line is not None]
    kinds = {"translated": ("translated", "replaced", "agrees"), "ignored": ("ignored",), "refused": ("refused",)}
    return {name: sum(status in group for status in given) for name, group in kinds.items()}
