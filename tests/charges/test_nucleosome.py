"""Charges in place of 1KX5's core, whose field APBS gives."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tessera.build.charges.core import Core, read_core
from tessera.build.nucleosome.assemble import build_nucleosome
from tessera.build.nucleosome.template import read_template
from tessera.system import read, write
from tessera.system.vacuum import with_positions
from tests.nucleosome.peptides import field_of
from tests.support.commands import facts_of

#: the residual of the field by salt in mol/L. In little salt it is that of the linear equation itself, which screens
#: less: a sphere with as much charge, of 42 Å, has 14.8, 7.6, 4.8 and 2.5 %.
RESIDUALS = {0.01: 0.145, 0.05: 0.083, 0.1: 0.06, 0.2: 0.048}


@pytest.fixture(scope="module", name="nucleosome")
def _nucleosome(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("charges") / "1kx5.tsr"
    field = field_of(data_folder)
    write(build_nucleosome(read_template(data_folder / "dna_nucleosome" / "1kx5.pdb", field), field, "1kx5.pdb"), path)
    return path


@pytest.mark.slow(part="physics")
def test_the_core_is_the_same_however_the_file_is_turned(nucleosome: Path, tmp_path: Path) -> None:
    core = read_core(nucleosome, with_tails=False)
    assert (len(core.charge), round(core.charge.sum(), 6)) == (21246, -230)
    assert round(read_core(nucleosome, with_tails=True).charge.sum(), 6) == -146
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    system = read(nucleosome)
    write(with_positions(system, system.positions() @ turn.T + [30, -20, 10]), tmp_path / "turned.tsr")
    turned: Core = read_core(tmp_path / "turned.tsr", with_tails=False)
    assert turned.position == pytest.approx(core.position, abs=1e-4)
    assert turned.charge.tolist() == core.charge.tolist()


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("salt", RESIDUALS)
def test_charges_have_the_field_of_the_core(nucleosome: Path, salt: float, tmp_path: Path) -> None:
    output = tmp_path / "charges.csv"
    facts = facts_of("build", "charges", nucleosome, "--salt", salt, "-o", output)
    print(facts)
    assert facts["residual"] <= RESIDUALS[salt]
    assert facts["energy_residual"] <= 0.06
    assert facts["core_charge"] == -230
    assert -320 < facts["effective_charge"] < -80
    rows = list(csv.DictReader(line for line in output.read_text().splitlines() if not line.startswith("#")))
    assert len(rows) == facts["points"] == 300
    assert sum(float(row["charge"]) for row in rows) == pytest.approx(facts["effective_charge"], abs=0.01)
    place = np.array([[float(row[axis]) for axis in "xyz"] for row in rows])
    assert np.abs(place).max(axis=0) == pytest.approx([52, 52, 34], abs=6)
