"""Compares energies with files that other programs wrote: GENESIS' logs and the collected reference energies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.support.runs import Runs, Settings
from tests.support.samples import data, sample

GENESIS: Settings = {
    "interactions.cutoff": 10.0,
    "interactions.switch": 8.0,
    "pme.alpha": 0.34,
    "pme.grid": [64, 64, 64],
    "pme.order": 4,
}

#: GENESIS' names of the bonded terms
BONDED = {
    "bond": "BOND",
    "angle": "ANGLE",
    "urey_bradley": "UREY-BRADLEY",
    "dihedral": "DIHEDRAL",
    "improper": "IMPROPER",
    "cmap": "CMAP",
}


def genesis_log(case: str) -> dict[str, float]:
    """Returns the energies before the first step."""
    lines = data("genesis", "test_spdyn", "jac_param27", case, "ref").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:2] == ["STEP", "BOND"])
    return dict(zip(lines[start].split(), map(float, lines[start + 2].split())))


def coulomb(terms: dict[str, float]) -> float:
    return sum(value for name, value in terms.items() if name.startswith("coulomb"))


def note(request: pytest.FixtureRequest, *row: Any) -> None:
    request.node.user_properties.append(("greatest error", row))


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize(
    ("case", "lj"),
    [
        ("PME_opt_1dalltoall", "potential-switch"),
        ("PME_opt_1dalltoall/PME_noopt_1dalltoall", "potential-switch"),
        ("PME_FSW", "force-switch"),
    ],
)
def test_genesis(request: pytest.FixtureRequest, runs: Runs, case: str, lj: str, precision: str) -> None:
    """Both use the same mesh. The log has four decimals of bonded terms, and GENESIS' table of van der Waals has an
    error of 5·10⁻⁴. The limit for electrostatics is 10⁻⁶ in both precisions: GENESIS' tables are within 4·10⁻⁷ of
    double precision, and mixed precision adds 10⁻⁸."""
    log = genesis_log(case)
    found = runs.energy(sample("genesis"), {**GENESIS, "interactions.lj": lj, "parallel.precision": precision})
    terms = found["terms"]
    name = f"genesis {case.split('/')[-1]}"
    for term, column in BONDED.items():
        note(request, name, term, precision, abs(terms[term] - log[column]) / abs(log[column]))
    electrostatics, van_der_waals = (
        coulomb(terms) / log["ELECT"] - 1,
        (terms["lj"] + terms["lj_14"]) / log["VDWAALS"] - 1,
    )
    note(request, name, "coulomb + coulomb_14", precision, abs(electrostatics))
    note(request, name, "lj + lj_14", precision, abs(van_der_waals))
    for term, column in BONDED.items():
        assert terms[term] == pytest.approx(log[column], abs=1.5e-4), term
    assert abs(electrostatics) <= 1e-6
    assert abs(van_der_waals) <= 5e-4


def genesis_table(case: str) -> dict[str, np.ndarray]:
    """Returns the columns of the energies of the steps."""
    lines = data("genesis", "test_spdyn", "jac_param27", case, "ref").read_text().splitlines()
    names, *rows = (line.split()[1:] for line in lines if line.startswith("INFO:"))
    values = np.array(rows, dtype=float)
    return {name: values[:, i] for i, name in enumerate(names)}


@pytest.mark.parametrize(("case", "lj"), [("PME_opt_1dalltoall", "potential-switch"), ("PME_FSW", "force-switch")])
def test_genesis_moves_the_same(runs: Runs, case: str, lj: str) -> None:
    """20 steps at constant energy from GENESIS' velocities, with SETTLE and SHAKE. The logs end in four decimals, and
    forces from GENESIS' tables differ by about 10⁻⁵ of the greatest."""
    log = genesis_table(case)
    found = runs.run(
        sample("genesis"),
        {
            **GENESIS,
            "interactions.lj": lj,
            "dynamics.steps": 20,
            "dynamics.timestep": 1.0,
            "dynamics.velocities": "file",
            "dynamics.com_removal_every": 0,
            "output.energy_every": 2,
        },
        threads=2,
    ).table
    assert list(log["STEP"]) == list(found["step"][1:]) == list(range(2, 22, 2))
    found = {name: column[1:] for name, column in found.items()}
    for term, name in BONDED.items():
        assert np.allclose(found[term], log[name], rtol=2e-5, atol=1e-3), (term, found[term] - log[name])
    assert np.allclose(found["kinetic"], log["KINETIC_ENE"], rtol=2e-5, atol=0)
    assert np.allclose(found["lj"] + found["lj_14"], log["VDWAALS"], rtol=5e-4, atol=0)
    electrostatics = np.sum([column for name, column in found.items() if name.startswith("coulomb")], axis=0)
    assert np.allclose(electrostatics, log["ELECT"], rtol=2e-6, atol=0)
    # The tables' error of the energy is nearly the same in every step.
    assert np.ptp(found["total"] - log["TOTAL_ENE"]) < 0.05


def listed(name: str) -> dict[str, Any]:
    return dict(json.loads(data("reference_energies.json").read_text())[name])


def check(request: pytest.FixtureRequest, name: str, found: dict[str, float], expected: dict[str, float]) -> None:
    errors = {term: abs(found[term] / value - 1) for term, value in expected.items()}
    for term, error in errors.items():
        note(request, f"{name} (listed)", term, "mixed", error)
    wrong = {term: error for term, error in errors.items() if error > 2e-5}
    assert not wrong, wrong


def grouped(terms: dict[str, float]) -> dict[str, float]:
    vdw = terms["lj"] + terms["lj_14"]
    return {**terms, "vdw": vdw, "elect": coulomb(terms), "torsion": terms["dihedral"] + terms["improper"]}


@pytest.mark.parametrize("lj", ["cut", "potential-switch"])
def test_dhfr_listed(request: pytest.FixtureRequest, runs: Runs, lj: str) -> None:
    expected = listed("dhfr_c22_5dhfr_cube")
    settings: Settings = {"pme.alpha": 0.38, "pme.grid": [96, 96, 96], "pme.order": 8, "interactions.lj": lj}
    found = runs.energy(sample("dhfr"), settings)
    terms = grouped(found["terms"])
    wanted = {name: expected[name] for name in ("bond", "angle", "urey_bradley", "dihedral", "improper")}
    wanted["lj_14"] = expected["vdw14"]
    wanted["vdw"] = expected["vdw_cut9" if lj == "cut" else "vdw_switch_8_9_charmm"]
    # The list has the background of the net charge with four decimals. It depends on alpha; the listed sum does not.
    background = found["terms"]["coulomb_background"]
    wanted["elect"] = expected["elect_cc332.0716"] + background
    assert background == pytest.approx(expected["background_alpha0.38"], abs=1e-4)
    check(request, "dhfr", terms, wanted)


def test_dhfr_tail(request: pytest.FixtureRequest, runs: Runs) -> None:
    found = runs.energy(sample("dhfr"), {"interactions.lj": "cut", "interactions.lj_tail": True})
    expected = {"lj_tail": listed("dhfr_c22_5dhfr_cube")["lrc_plain_cut9"]}
    errors = abs(found["terms"]["lj_tail"] / expected["lj_tail"] - 1)
    note(request, "dhfr (listed)", "lj_tail", "mixed", errors)
    # The listed tail leaves out pairs of an atom with itself and excluded pairs.
    assert errors < 1e-3


def test_dhfr_amber_listed(request: pytest.FixtureRequest, runs: Runs) -> None:
    expected = listed("dhfr_amber99sb")["openmm_Reference"]
    settings: Settings = {"pme.alpha": 0.38, "pme.grid": [96, 96, 96], "pme.order": 8, "interactions.lj": "cut"}
    found = runs.energy(sample("dhfr_amber"), settings)
    terms = grouped(found["terms"])
    # The listed energy is made with OpenMM's Coulomb constant, not with AMBER's.
    elect = expected["elec(PME 0.38,80^3,order5)"] * found["coulomb_constant"] / 332.0637128
    wanted = {name: expected[name] for name in ("bond", "angle", "torsion")}
    wanted |= {"vdw": expected["lj_cut9_noLRC"], "elect": elect}
    check(request, "dhfr_amber", terms, wanted)


def test_apoa1_listed(request: pytest.FixtureRequest, runs: Runs) -> None:
    expected = listed("apoa1_c36m")
    settings: Settings = {
        "interactions.cutoff": 12.0,
        "interactions.switch": 10.0,
        "interactions.lj": "potential-switch",
        "pme.alpha": 0.30,
        "pme.grid": [160, 160, 120],
        "pme.order": 8,
    }
    found = runs.energy(sample("apoa1"), settings)
    terms = grouped(found["terms"])
    names = ("bond", "angle", "urey_bradley", "dihedral", "improper", "cmap")
    wanted = {name: expected[name] for name in names}
    wanted["lj_14"] = expected["vdw14"]
    wanted["vdw"] = expected["vdw_switch_10_12_charmm"]
    wanted["elect"] = expected["elect_cc332.0716"] + expected["neutralising_background_cc332.0716_alpha0.30"]
    check(request, "apoa1", terms, wanted)
    switched = runs.energy(sample("apoa1"), {**settings, "interactions.lj": "force-switch"})
    expected_lj = {"lj": expected["lj_sr_force_switch_10_12_charmm"]}
    check(request, "apoa1 force-switch", switched["terms"], expected_lj)


@pytest.mark.slow(part="physics")
def test_apoa1_gromacs_listed(request: pytest.FixtureRequest, runs: Runs) -> None:
    kilojoule = {k: v / 4.184 for k, v in listed("apoa1_c36m")["gromacs_2022.5_double_kJ"].items()}
    settings: Settings = {
        "interactions.cutoff": 12.0,
        "interactions.switch": 10.0,
        "interactions.lj": "force-switch-gromacs",
        "pme.alpha": 0.30,
        "pme.grid": [160, 160, 120],
        "pme.order": 8,
    }
    terms = runs.energy(sample("apoa1_gromacs"), settings)["terms"]
    terms["u-b"] = terms["angle"] + terms["urey_bradley"]
    columns = {"bond": "Bond(no water)", "u-b": "U-B(no water)", "dihedral": "Proper", "improper": "Improper"}
    columns |= {"cmap": "CMAP", "lj_14": "LJ-14", "coulomb_14": "Coul-14"}
    wanted = {term: kilojoule[column] for term, column in columns.items()}
    wanted["lj"] = kilojoule["LJ_SR_GROMACS_force-switch_1.0_1.2"]
    check(request, "apoa1 gromacs", terms, wanted)
