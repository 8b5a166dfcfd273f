"""Pair potentials in place of Lennard-Jones: energies against NumPy, forces and virial by differences, sodium chloride
against DL_POLY and an exact Ewald sum."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import erfc

from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.prepare.dlpoly.control import read_control
from tessera.system import System, write
from tests.support.commands import said
from tests.support.gradients import BAR, check_gradient
from tests.support.runs import Runs, Settings
from tests.support.salt import CUTOFF, KCAL, LATTICE, MESH, salt, write_salt
from tests.support.samples import edited

PAIRS: Settings = {"interactions.cutoff": CUTOFF, "interactions.electrostatics": "shift"}
#: FIELD's key and parameters (units of kcal/mol), and the formula
KINDS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "buck": ("29000 0.317 80", lambda r: 29000 * np.exp(-r / 0.317) - 80 / r**6),
    "bhm": (
        "4.8 3.15 2.75 160 200",
        lambda r: 4.8 * np.exp(3.15 * (2.75 - r)) - 160 / r**6 - 200 / r**8,
    ),
    "mors": ("5 2.9 1.5", lambda r: 5 * ((1 - np.exp(-1.5 * (r - 2.9))) ** 2 - 1)),
    "mstw": ("5 2.9 1.5 700", lambda r: 5 * ((1 - np.exp(-1.5 * (r - 2.9))) ** 2 - 1) + 700 / r**12),
    "nm": ("0.3 9 6 3.2", lambda r: 0.3 / 3 * (6 * (3.2 / r) ** 9 - 9 * (3.2 / r) ** 6)),
    "hbnd": ("50000 9000", lambda r: 50000 / r**12 - 9000 / r**10),
    "12-6": ("60000 90", lambda r: 60000 / r**12 - 90 / r**6),
    "lj": ("0.2 2.9", lambda r: 0.8 * ((2.9 / r) ** 12 - (2.9 / r) ** 6)),
    "ljc": ("0.2 2.9 0.5", lambda r: 0.8 * ((2.9 / r) ** 12 - 0.5 * (2.9 / r) ** 6)),
    "wca": (
        "0.3 3.3 0.1",
        lambda r: np.where(
            r < 2 ** (1 / 6) * 3.3 + 0.1, 1.2 * ((3.3 / (r - 0.1)) ** 12 - (3.3 / (r - 0.1)) ** 6) + 0.3, 0
        ),
    ),
    "14-7": (
        "0.2 3.2",
        lambda r: 0.2 * (1.07 / (r / 3.2 + 0.07)) ** 7 * (1.12 / ((r / 3.2) ** 7 + 0.12) - 2),
    ),
    "ryd": ("900 300 0.4", lambda r: (900 + 300 * r) * np.exp(-r / 0.4)),
}


def written(system: System, folder: Path, name: str = "salt.tsr") -> Path:
    write(system, folder / name)
    return folder / name


def distances(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distances of all pairs by nearest image, and the product of their types + 1: 1, 2 or 4."""
    edges = np.diag(system.box)
    position, kind = system.positions(), system.atom_field("type") + 1
    i, j = np.triu_indices(len(position), 1)
    d = position[i] - position[j]
    return np.linalg.norm(d - edges * np.rint(d / edges), axis=1), kind[i] * kind[j]


def test_every_kind_against_numpy(runs: Runs, tmp_path: Path) -> None:
    """Na–Na and Na–Cl have one potential each in turn, Cl–Cl none."""
    for key, (parameters, formula) in KINDS.items():
        for pair, product in (("Na+ Na+", 1), ("Cl- Na+", 2)):
            folder = tmp_path / f"{key}{product}"
            folder.mkdir()
            system = salt(folder, (f"{pair} {key} {parameters}",))
            r, kinds = distances(system)
            energies = formula(r[(kinds == product) & (r < CUTOFF)])
            for precision, tolerance in (("mixed", 2e-6), ("double", 1e-9)):
                settings: Settings = {**PAIRS, "parallel.precision": precision}
                found = runs.energy(written(system, folder), settings)["terms"]["lj"]
                allowed = tolerance * np.abs(energies).sum() + 1e-6
                assert found == pytest.approx(energies.sum(), rel=0, abs=allowed), (key, pair, precision)


@pytest.mark.parametrize("units", ["internal", "kcal", "kJ", "eV", "K"])
def test_units(runs: Runs, tmp_path: Path, units: str) -> None:
    kcal = {"internal": 1 / KCAL, "kcal": 1, "kJ": 100 / KCAL, "eV": 9648.530821 / KCAL, "K": 0.831451115 / KCAL}[units]
    scale = 1 / kcal
    system = salt(tmp_path, (f"Na+ Cl- buck {29000 * scale:.12g} 0.317 {80 * scale:.12g}",), units)
    r, kinds = distances(system)
    expected = KINDS["buck"][1](r[(kinds == 2) & (r < CUTOFF)]).sum()
    found = runs.energy(written(system, tmp_path), {**PAIRS, "parallel.precision": "double"})
    assert found["terms"]["lj"] == pytest.approx(expected, rel=1e-9)


def test_a_table_is_the_formula_it_was_made_of(runs: Runs, tmp_path: Path) -> None:
    """Energies of the table are exact at its points; between them the cubic's error is of the order of the spacing's
    fourth power."""
    spacing, points = 0.01, 1000
    r = spacing * np.arange(1, points + 1)
    formula = KINDS["bhm"][1]
    virial = 4.8 * 3.15 * r * np.exp(3.15 * (2.75 - r)) - 960 / r**6 - 1600 / r**8
    lines = ["a table", f"{spacing} {spacing * points} {points}", "Na+ Cl-"]
    for values in (formula(r), virial):
        lines += [" ".join(f"{value:.12e}" for value in row) for row in values.reshape(-1, 4)]
    write_salt(tmp_path, potentials=("Na+ Cl- tab",), units="kcal")
    (tmp_path / "TABLE").write_text("\n".join(lines) + "\n")
    system = prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG", read_control(tmp_path / "CONTROL"))
    d, kinds = distances(system)
    expected = formula(d[(kinds == 2) & (d < CUTOFF)]).sum()
    for precision, tolerance in (("mixed", 2e-6), ("double", 2e-8)):
        settings: Settings = {**PAIRS, "parallel.precision": precision}
        found = runs.energy(written(system, tmp_path), settings)["terms"]["lj"]
        assert found == pytest.approx(expected, rel=tolerance)
    refused = runs.run(written(system, tmp_path), {**PAIRS, "interactions.cutoff": 10.5}, check=False)
    assert "table of the types Na+ and Cl- ends at 10 Å" in refused.process.stderr


PAIRS_OF_NAMES = ("Na+ Na+", "Na+ Cl-", "Cl- Cl-")
POTENTIALS = (
    "Na+ Na+ mors 0.5 3.9 1.2",
    "Na+ Cl- buck 29000 0.317 80",
    "Cl- Cl- nm 0.2 9 6 3.9",
)


@pytest.mark.parametrize("lj", ["quintic-switch", "potential-switch"])
def test_forces_are_the_gradient(runs: Runs, tmp_path: Path, lj: str) -> None:
    settings: Settings = {**MESH, "parallel.precision": "double", "interactions.lj": lj, "interactions.switch": 6.5}
    check_gradient(runs, tmp_path, salt(tmp_path, POTENTIALS), settings, rough=True)


def test_mixed_precision_has_the_forces_of_double(runs: Runs, tmp_path: Path) -> None:
    for potentials in (None, POTENTIALS):
        path = written(salt(tmp_path, potentials), tmp_path)
        settings: Settings = {**MESH, "pme.alpha": 0.4}
        _, mixed = runs.forces(path, settings)
        _, double = runs.forces(path, {**settings, "parallel.precision": "double"})
        assert np.abs(mixed - double).max() < 3e-5 * np.sqrt((double**2).mean())


@pytest.mark.parametrize("lj", ["quintic-switch", "potential-switch"])
def test_the_pressure_is_the_derivative_by_the_box(runs: Runs, tmp_path: Path, lj: str) -> None:
    """The fractions stay, and the edges change; a tail counts too."""
    system = salt(tmp_path, POTENTIALS)
    settings: Settings = {
        **MESH, "parallel.precision": "double", "interactions.lj": lj, "interactions.lj_tail": True,
        "interactions.switch": 7.0,
    }  # fmt: skip
    h = 1e-4
    system.velocity = None
    energies = []
    for scale in (1 + h, 1 - h):
        other = copy.copy(system)
        other.box = system.box * scale
        energies.append(runs.energy(written(other, tmp_path), settings)["total"])
    found = runs.energy(written(system, tmp_path), settings)
    volume = float(np.prod(np.diag(system.box)))
    expected = -(energies[0] - energies[1]) / (6 * h * volume) * BAR
    assert found["pressure_bar"] == pytest.approx(expected, rel=3e-6)


def ewald(system: System) -> float:
    """Returns the Coulomb energy, kcal/mol, by Ewald's sum to machine precision in a cubic box."""
    edge, position, q = float(system.box[0, 0]), system.positions(), system.atom_field("charge")
    alpha = 6.5 / (edge / 2)
    i, j = np.triu_indices(len(q), 1)
    d = position[i] - position[j]
    r = np.linalg.norm(d - edge * np.rint(d / edge), axis=1)
    inside = r < edge / 2
    real = float((q[i] * q[j] * erfc(alpha * r) / r)[inside].sum())
    reach = int(np.ceil(13 * alpha * edge / (2 * np.pi)))
    n = np.arange(-reach, reach + 1)
    waves = [np.exp(2j * np.pi / edge * np.outer(n, position[:, axis])) for axis in range(3)]
    mesh = 0.0
    for a, x in zip(n, waves[0]):
        structure = np.einsum("i,yi,zi->yz", q * x, waves[1], waves[2], optimize=True)
        k2 = (2 * np.pi / edge) ** 2 * (a**2 + n[:, None] ** 2 + n[None, :] ** 2)
        k2[k2 == 0] = np.inf
        mesh += float((np.abs(structure) ** 2 * np.exp(-k2 / (4 * alpha**2)) / k2).sum())
    self = -alpha / np.sqrt(np.pi) * float((q**2).sum())
    return system.coulomb_constant * (real + 2 * np.pi / edge**3 * mesh + self)


def coulomb(terms: dict[str, float]) -> float:
    return sum(value for name, value in terms.items() if name.startswith("coulomb"))


def test_coulomb_is_the_exact_sum(runs: Runs, tmp_path: Path) -> None:
    """The settings are those that CONTROL gives: a relative precision of 10⁻⁶."""
    from tessera.prepare.dlpoly.run_file import alpha_of_precision

    system = salt(tmp_path)
    settings: Settings = {"interactions.cutoff": CUTOFF, "pme.alpha": alpha_of_precision(1e-6, CUTOFF), "pme.order": 6}
    found = coulomb(runs.energy(written(system, tmp_path), settings)["terms"])
    assert found == pytest.approx(ewald(system), rel=1e-5)


def test_madelung(runs: Runs, tmp_path: Path) -> None:
    """Madelung's constant of rock salt is 1.747564594633182."""
    system = salt(tmp_path)
    cells = 3
    place = np.arange(2 * cells)
    x, y, z = np.meshgrid(place, place, place, indexing="ij")
    sodium = (x + y + z) % 2 == 0
    order = np.concatenate([np.stack([v[sodium], v[~sodium]], 1).reshape(-1) for v in (x, y, z)]).reshape(3, -1)
    charge = system.atom_field("charge")
    fraction = np.empty_like(system.fraction)
    for first, sign in ((0, 1), (1, -1)):
        fraction[charge == sign] = ((order[:, first::2].T / (2 * cells) - 0.5) * 2**32).astype(np.int64)
    system.fraction = fraction
    expected = -1.747564594633182 * system.coulomb_constant / (LATTICE / 2) * system.n_atoms / 2
    assert ewald(system) == pytest.approx(expected, rel=1e-12)
    found = runs.energy(written(system, tmp_path), {**MESH, "parallel.precision": "double"})["terms"]
    assert coulomb(found) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("lj", ["force-switch", "force-switch-gromacs"])
def test_a_switch_of_powers_is_refused(runs: Runs, tmp_path: Path, lj: str) -> None:
    found = runs.run(written(salt(tmp_path), tmp_path), {**PAIRS, "interactions.lj": lj}, check=False)
    assert f'interactions.lj = "{lj}" is defined for Lennard-Jones alone' in found.process.stderr


def test_a_slow_potential_has_no_tail(runs: Runs, tmp_path: Path) -> None:
    path = written(salt(tmp_path, ("Na+ Cl- nm 0.3 9 3 3.2",)), tmp_path)
    found = runs.run(path, {**PAIRS, "interactions.lj_tail": True}, check=False)
    assert "falls so slowly that interactions.lj_tail has no limit" in found.process.stderr


def test_atoms_in_a_core_are_a_clash(runs: Runs, tmp_path: Path) -> None:
    """At 0.6 Å Buckingham's formula attracts with thousands of kcal/mol/Å."""
    system = salt(tmp_path, POTENTIALS)
    charge = system.atom_field("charge")
    one, other = int(np.flatnonzero(charge > 0)[0]), int(np.flatnonzero(charge < 0)[0])
    step = np.array([0.6 / system.box[0, 0] * 2**32, 0, 0]).astype(np.int64)
    system.fraction[other] = (system.fraction[one] + step).astype(np.uint32).astype(np.int32)
    found, forces = runs.forces(written(system, tmp_path), MESH)
    assert {one, other} in [set(pair["atoms"]) for pair in found["clashes"]["nearest"]]
    assert forces[other, 0] > 1000


@pytest.mark.parametrize(
    ("dataset", "values", "message"),
    [
        ("kind", [b"buckinghan"] * 3, 'pair_potential_kind holds "buckinghan", expected one of "buckingham"'),
        ("types", [[0, 0], [0, 1], [1, 0]], "names the types 1 and 0 twice"),
        ("types", [[0, 0], [0, 1], [1, 2]], "names row 2, expected 0 to 1"),
        ("parameter", np.full((3, 5), np.nan), "holds nan at element 0"),
        ("parameter", np.zeros((3, 5)), "the length"),
    ],
)
def test_a_damaged_file_is_refused(runs: Runs, tmp_path: Path, dataset: str, values: Any, message: str) -> None:
    path = written(salt(tmp_path, tuple(f"{pair} buck 1000 0.3 1" for pair in PAIRS_OF_NAMES)), tmp_path)
    with edited(path) as file:
        name = f"forcefield/pair_potential_{dataset}"
        dtype = file[name].dtype if dataset != "kind" else "S10"
        del file[name]
        file[name] = np.array(values, dtype)
        if dataset == "parameter" and not np.isnan(values).any():
            file[name][:, 0] = 1.0
    found = runs.run(path, PAIRS, status=2)
    assert message in found.process.stderr


RUN: Settings = {**MESH, "dynamics.steps": 40, "dynamics.timestep": 2.0, "output.energy_every": 10}


def test_energy_is_conserved(runs: Runs, tmp_path: Path) -> None:
    found = runs.run(written(salt(tmp_path), tmp_path), {**RUN, "dynamics.steps": 400, "dynamics.timestep": 1.0})
    total, kinetic = found.table["total"], found.table["kinetic"]
    assert np.ptp(total) < 2e-3 * np.ptp(kinetic)


def statis(path: Path) -> list[list[float]]:
    """Returns step, time and the values of each record, in units of 10 J/mol and katm."""
    words = [line.split() for line in path.read_text().splitlines()[2:]]
    rows, at = [], 0
    while at < len(words):
        step, time, count = float(words[at][0]), float(words[at][1]), int(words[at][2])
        values: list[float] = []
        while len(values) < count:
            at += 1
            values += [float(word) for word in words[at]]
        rows.append([step, time, *values])
        at += 1
    return rows


def test_the_thermostat_of_dl_poly(runs: Runs, tmp_path: Path, data_folder: Path) -> None:
    """`nvt hoover` of DL_POLY is one variable. With it temperatures are within 10⁻³ of STATIS; with chains of three
    step 20 has 525.6 K in place of 516.6."""
    folder = data_folder / "dlpoly" / "nacl27000"
    words = ["--field", str(folder / "FIELD"), "--config", str(folder / "CONFIG")]
    words += ["--control", str(folder / "CONTROL.TEST001.nvt_hoover"), "-o", str(tmp_path / "nacl.tsr")]
    assert "chain = 1" in said("prepare", "dlpoly", *words)
    found = runs.start(tmp_path / "nacl.toml", threads=2).table
    records = statis(folder / "STATIS.TEST001")
    assert [row[0] for row in records] == found["step"].tolist()
    np.testing.assert_allclose(found["temperature"], [row[3] for row in records], rtol=1e-3)
    np.testing.assert_allclose(found["potential"], [row[4] / KCAL for row in records], rtol=1e-4)


def test_sodium_chloride_of_dl_poly(runs: Runs, tmp_path: Path, data_folder: Path) -> None:
    """Energies are within 10⁻⁴ of STATIS at step 0 and in the 20 steps after it, the pressure within 2·10⁻³: DL_POLY's
    own energy of Coulomb interactions differs from its virial by 1.5·10⁻⁴."""
    folder = data_folder / "dlpoly" / "nacl27000"
    control = read_control(folder / "CONTROL.TEST030.nve")
    system = prepare_dlpoly(folder / "FIELD", folder / "CONFIG", control)
    assert system.n_atoms == 27000 and system.lennard_jones.tail and len(system.runs) == 54
    from tessera.prepare.dlpoly.run_file import run_file_of

    write(system, tmp_path / "nacl.tsr")
    (tmp_path / "run.toml").write_text(run_file_of(control, "nacl.tsr", True, True, ""))
    found = runs.start(tmp_path / "run.toml", threads=2).table
    records = statis(folder / "STATIS.TEST030")
    assert [row[0] for row in records] == found["step"].tolist() == list(range(0, 21, 2))
    coulombs = sum(found[name] for name in found if name.startswith("coulomb"))
    for row, total, potential, pair, tail, charges, kelvin, bar in zip(
        records, found["total"], found["potential"], found["lj"], found["lj_tail"], coulombs, found["temperature"],
        found["pressure"],
    ):  # fmt: skip
        assert total == pytest.approx(row[2] / KCAL, rel=1e-4)
        assert kelvin == pytest.approx(row[3], rel=1e-4)
        assert potential == pytest.approx(row[4] / KCAL, rel=1e-4)
        assert pair + tail == pytest.approx(row[5] / KCAL, rel=1e-4)
        assert charges == pytest.approx(row[6] / KCAL, rel=1e-4)
        assert bar == pytest.approx(row[28] * 1013.25, rel=2e-3)


def test_three_hundred_million_ions_are_planned(runs: Runs, tmp_path: Path) -> None:
    """The file is that of 670³ ions, but for its coordinates, which `explain` reads for its measurement alone."""
    system = salt(tmp_path)
    system.velocity = None
    path = written(system, tmp_path)
    copies = 300_763_000 // 8
    with edited(path) as file:
        del file["instances/runs"]
        file["instances/runs"] = np.array([[0, 4 * copies], [1, 4 * copies]])
        file["box"][...] = np.eye(3) * 335 * LATTICE
        file.attrs["n_atoms"] = np.int64(8 * copies)
        for name in ("id", "fraction"):
            old = file[f"coordinates/{name}"]
            shape, dtype = (8 * copies, *old.shape[1:]), old.dtype
            del file[f"coordinates/{name}"]
            file["coordinates"].create_dataset(name, shape, dtype, chunks=(1 << 20, *shape[1:]))
    run_file = runs.run_file(path, {"interactions.cutoff": 12.0, "pme.order": 6})
    text = runs.run_engine("--explain", run_file, "--ranks", "4096", "--measured-steps", "0").stdout
    assert "300,763,000" in text and "born-huggins-mayer (3 pairs of types)" in text
