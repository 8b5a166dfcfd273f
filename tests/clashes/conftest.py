"""Structures in which clashes are made: a protein in water, and a double helix of DNA."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.build.clashes.files import read_structure
from tessera.build.clashes.molecules import Molecules
from tessera.build.dna.frames import chained
from tessera.build.dna.nucleotides import NUCLEOTIDES, PARTNER

ROOT = Path(__file__).resolve().parents[2]
SEQUENCE = "GATTACAGGCTCATTGCA"
FIBRE = [0.0, 0.0, 3.375, 0.0, 0.0, 36.0]  # a step of B-DNA by fibre diffraction, to which sugars and phosphates belong


@pytest.fixture(scope="session")
def helix_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDB of 18 base pairs and some waters, heavy atoms alone."""
    frames = chained(np.array([FIBRE] * (len(SEQUENCE) - 1)))
    partners = "".join(PARTNER[letter] for letter in SEQUENCE)
    flip = np.diag([1.0, -1.0, -1.0])
    lines: list[str] = []
    for chain, letters, order, turn in (
        ("I", SEQUENCE, range(len(SEQUENCE)), np.eye(3)),
        ("J", partners, range(len(SEQUENCE) - 1, -1, -1), flip),
    ):
        for number, row in enumerate(order, start=1):
            kind = NUCLEOTIDES[letters[row]]
            names = [name for name in kind.names if number > 1 or name not in ("P", "OP1", "OP2")]
            places = frames.origin[row] + kind.places(tuple(names)) @ (frames.rotation[row] @ turn).T
            for name, (x, y, z) in zip(names, places):
                residue = f"D{letters[row]} {chain}{number:4d}"
                place = f"{x:8.3f}{y:8.3f}{z:8.3f}"
                lines.append(f"ATOM  {len(lines) + 1:5d}  {name:<3} {residue:>9}    {place}  1.00 20.00")
        lines.append("TER")
    for number in range(12):
        water = f"HOH W{number + 1:4d}"
        lines.append(f"HETATM{len(lines) + 1:5d}  O   {water}    {20 + 4 * number:8.3f}{40:8.3f}{0:8.3f}  1.00 20.00")
    path = tmp_path_factory.mktemp("helix") / "helix.pdb"
    path.write_text("\n".join([*lines, "END", ""]))
    return path


@pytest.fixture(scope="session")
def helix(helix_file: Path) -> Molecules:
    return read_structure(helix_file).molecules


@pytest.fixture(scope="session")
def protein() -> Molecules:
    """DHFR in water, with hydrogens."""
    return read_structure(ROOT / "examples" / "dhfr" / "5dhfr_cube.pdb").molecules
