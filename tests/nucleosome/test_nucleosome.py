"""Nucleosomes with all atoms: `tessera build nucleosome`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from tessera.build.atoms import read_atoms
from tessera.build.dna.analyse import analyse
from tessera.build.dna.frames import Frames
from tessera.build.dna.strand import ForceField
from tessera.build.dna.strands import read_duplex
from tessera.build.nucleosome.assemble import build_nucleosome
from tessera.build.nucleosome.kept import kept_of
from tessera.build.nucleosome.template import OWN, Template, read_template
from tessera.errors import InputError
from tessera.system import read
from tests.nucleosome.peptides import field_of, toppar_of
from tests.support.charmm import check_energies
from tests.support.commands import facts_of

CLASH = 0.9  # Å between atoms that are not bonded


@pytest.fixture(scope="module", name="field")
def _field(data_folder: Path) -> ForceField:
    return field_of(data_folder)


@pytest.fixture(scope="module", name="structure")
def _structure(data_folder: Path) -> Path:
    return data_folder / "dna_nucleosome" / "1kx5.pdb"


@pytest.fixture(scope="module", name="template")
def _template(structure: Path, field: ForceField) -> Template:
    return read_template(structure, field)


@pytest.mark.slow(part="physics")
def test_1kx5_is_completed(structure: Path, field: ForceField, data_folder: Path, tmp_path: Path) -> None:
    """The atoms, the charge and the energies of the whole; phosphates and heavy atoms are where the file has them. What
    was built is a template again, of which both chains of each histone come back."""
    output = tmp_path / "nucleosome.tsr"
    facts = facts_of("build", "nucleosome", structure, "--toppar", *toppar_of(data_folder), "-o", output)
    assert (facts["atoms"], facts["net_charge"]) == (25172, -146)
    system, atoms = read(output), read_atoms(structure)
    position = system.positions()
    check_energies(output, toppar_of(data_folder), without_pairs=True)
    within = [
        re.fullmatch(r"bonds are within ([\d.]+) % and angles within ([\d.]+)° .*", note) for note in facts["notes"]
    ]
    stretch, bend = next(map(float, found.groups()) for found in within if found)
    assert stretch <= 3.0
    assert bend <= 6.0
    is_protein = np.isin(atoms.chain, list("ABCDEFGH")) & ~np.isin(atoms.residue_name, ["HOH", "CL", "MN"])
    moved, _ = cKDTree(position[:15826]).query(atoms.position[is_protein])
    assert np.sqrt((moved**2).mean()) < 0.2  # where models of tails overlap, they move; all else stays
    assert (moved > 0.01).mean() < 0.1
    phosphates = atoms.position[(atoms.name == "P") & np.isin(atoms.chain, ["I", "J"])]
    moved, _ = cKDTree(position[15826:]).query(phosphates)
    assert np.sqrt((moved**2).mean()) < 0.6
    assert not len(clashes(system.expand("bond")[0], position))
    assert read_duplex(output).sequence == read_duplex(structure).sequence
    found, expected = analyse(output), analyse(structure)
    assert found.steps == pytest.approx(expected.steps, abs=1e-3)
    assert found.pairs == pytest.approx(expected.pairs, abs=1e-3)
    again = read_template(output, field).proteins
    assert [len(chain.residues) for chain in again.chains] == [135, 102, 128, 125] * 2
    assert again.position[~again.is_built] == pytest.approx(position[:15826][~again.is_built], abs=1e-9)


def clashes(bonds: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Returns pairs of atoms that clash and are not joined."""
    pairs = cKDTree(position).query_pairs(CLASH, output_type="ndarray")
    joined = set(map(tuple, np.sort(bonds, axis=1).tolist()))
    return np.array([pair for pair in np.sort(pairs, axis=1).tolist() if tuple(pair) not in joined])


def test_the_template_is_in_the_frame_of_the_nucleosome(template: Template) -> None:
    """The dyad is on x, the path winds about z, and a fibre gets the same atoms wherever it puts a nucleosome."""
    own = template.moved(OWN)
    pairs = own.wrapped.course.pairs
    assert len(own.proteins.position) == 15826
    assert len(pairs) == 147
    assert pairs.origin[73] == pytest.approx([np.linalg.norm(pairs.origin[73]), 0, 0], abs=1e-6)
    radius = np.linalg.norm(pairs.origin[:, :2], axis=1)
    assert 2 * radius.mean() == pytest.approx(83.5, abs=1)
    assert pairs.origin[-1, 2] > 20 > -20 > pairs.origin[0, 2]
    turn = np.unwrap(np.arctan2(pairs.origin[:, 1], pairs.origin[:, 0]))
    assert (turn[-1] - turn[0]) / (2 * np.pi) == pytest.approx(-1.85, abs=0.02)  # left-handed
    back = own.moved(template.frame)
    assert back.proteins.position == pytest.approx(template.proteins.position, abs=1e-9)
    assert back.wrapped.course.pairs.origin == pytest.approx(template.wrapped.course.pairs.origin, abs=1e-9)
    assert isinstance(back.frame, Frames)


def test_sequences_of_another_length_are_refused(template: Template, field: ForceField) -> None:
    with pytest.raises(InputError, match=r"the sequence has 4 base pairs and the DNA of 1kx5.pdb 147: give as many"):
        build_nucleosome(template, field, "x", "GATC")


def test_ions_and_water_are_kept_on_request(template: Template, field: ForceField, data_folder: Path) -> None:
    from tessera.build.dna.helix import read_field

    random, around = np.random.default_rng(1), template.proteins.position
    others, notes = kept_of(template.atoms, template.rest, [], field, around, random)
    assert (others, notes) == ([], ["left out: 4 CL, 3130 HOH, 14 MN"])
    with pytest.raises(
        InputError, match=r"1kx5.pdb has no ZN to keep: beside proteins and DNA it has 4 CL, 3130 HOH, "
    ):
        kept_of(template.atoms, template.rest, ["ZN"], field, around, random)
    with pytest.raises(InputError, match=r"1kx5.pdb, line \d+: MN \d+ of chain . can't be kept: the residue MN"):
        kept_of(template.atoms, template.rest, ["MN"], field, around, random)
    files = [data_folder / "charmm36_toppar" / "toppar_water_ions.str"]
    wet = read_field([*toppar_of(data_folder), *files])
    others, _ = kept_of(template.atoms, template.rest, ["cl", "HOH"], wet, around, random)
    assert [(chain.segment, len(position)) for chain, position in others] == [("IONS", 4), ("WATR", 3 * 3130)]
    oxygen, *hydrogens = np.swapaxes(others[1][1].reshape(-1, 3, 3), 0, 1)
    for hydrogen in hydrogens:
        assert np.linalg.norm(hydrogen - oxygen, axis=1) == pytest.approx(np.full(3130, 0.9572), abs=1e-6)
    assert not others[1][0].residues[0].automatic


REFUSED: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "altered": (
        lambda lines: [line.replace(" DA I -70", "6MA I -70") for line in lines],
        r"1kx5.pdb, line \d+: the residue 6MA -70 of chain I is not known",
    ),
    "alone": (lambda lines: [line for line in lines if line[21] in "IJ"], "holds no amino acids: expected an octamer"),
    "straight": (
        lambda lines: [line for line in lines if line[21] == "B" or abs(int(line[22:26])) < 15],
        r"the DNA of 1kx5.pdb makes 0.\d\d turns of a superhelix, expected 1 or more",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_nucleosome_is_refused(case: str, structure: Path, field: ForceField, tmp_path: Path) -> None:
    change, message = REFUSED[case]
    lines = [line for line in structure.read_text().split("\n") if line[:4] == "ATOM" and line[21] in "BIJ"]
    (tmp_path / "1kx5.pdb").write_text("\n".join(change(lines)))
    with pytest.raises(InputError, match=message):
        read_template(tmp_path / "1kx5.pdb", field)
