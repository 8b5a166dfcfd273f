"""Helices with all atoms in CHARMM36's force field: `tessera build dna`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.build.atoms import read_atoms
from tessera.build.dna import paths
from tessera.build.dna.analyse import analyse
from tessera.build.dna.frames import pairs_of
from tessera.build.dna.helix import BENT, build_helix, read_field
from tessera.build.dna.strand import ForceField
from tessera.build.dna.strands import read_duplex
from tessera.build.relax import check_closed, inverted
from tessera.errors import InputError
from tessera.prepare.charmm import prepare_charmm
from tessera.system import System, read, write
from tests.support.charmm import check_energies
from tests.support.commands import facts_of, said

SEQUENCE = "GATTACAGGCTC"


@pytest.fixture(scope="module", name="toppar")
def _toppar(data_folder: Path) -> list[Path]:
    return [data_folder / "charmm36_toppar" / name for name in ("top_all36_na.rtf", "par_all36_na.prm")]


@pytest.fixture(scope="module", name="field")
def _field(toppar: list[Path]) -> ForceField:
    return read_field(toppar)


@pytest.fixture(scope="module", name="built")
def _built(toppar: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("helix")
    (folder / "dna.fa").write_text(f">straight\n{SEQUENCE}\n")
    facts = facts_of("build", "dna", folder / "dna.fa", "--toppar", *toppar, "-o", folder / "dna.tsr")
    assert (facts["atoms"], facts["net_charge"]) == (64 * 6 + 63 * 6 - 2, -22)
    return folder


def test_bonds_angles_and_chains_are_those_of_the_force_field(built: Path) -> None:
    check_geometry(read(built / "dna.tsr"))


def check_geometry(system: System) -> None:
    position = system.positions()
    bonds, row = system.expand("bond")
    length = np.linalg.norm(position[bonds[:, 0]] - position[bonds[:, 1]], axis=1)
    assert np.abs(length / system.force_field.table("bond")[row, 1] - 1).max() < 0.03
    angles, row = system.expand("angle")
    one, other = (position[angles[:, end]] - position[angles[:, 1]] for end in (0, 2))
    cosine = (one * other).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert np.degrees(np.abs(np.arccos(cosine) - system.force_field.table("angle")[row, 1])).max() < 6
    first = 0
    for template in system.templates:
        own = position[first : first + template.n_atoms]
        first += template.n_atoms
        check_handedness(template.atom_name, template.residue, own)


def check_handedness(names: np.ndarray, residue: np.ndarray, position: np.ndarray) -> None:
    """D-deoxyribose: C1' and C3' have positive volumes of these neighbours, C4' a negative one; H5' and H2' are on the
    sides that CHARMM's internal coordinates give them, O1P and O2P on those of 1KX5."""
    texts = names.astype(str).tolist()
    for index in range(int(residue.max()) + 1):
        at = {texts[row]: position[row] for row in np.flatnonzero(residue == index)}
        glycosidic = "N9" if "N9" in at else "N1"
        centres = {
            "C1'": ("O4'", "C2'", glycosidic, 1), "C3'": ("C4'", "C2'", "O3'", 1), "C4'": ("C3'", "C5'", "O4'", -1),
            "C2'": ("C1'", "C3'", "H2'", -1), "C5'": ("C4'", "O5'", "H5'", -1), "P": ("O5'", "O1P", "O2P", -1),
        }  # fmt: skip
        for centre, (*three, sign) in centres.items():
            if centre in at:
                volume = np.linalg.det([at[str(name)] - at[centre] for name in three])
                assert volume * sign > 1, (index, centre, volume)


def test_strained_and_inverted_residues_are_named(built: Path) -> None:
    system = read(built / "dna.tsr")
    position = system.positions()
    label = "atom {}".format
    assert not len(inverted(system, position, position))
    mirrored = inverted(system, position, -position)
    names = np.concatenate([template.atom_name for template in system.templates]).astype(str)
    assert set(names[mirrored]) == {"C1'", "C2'", "C3'", "C4'", "C5'", "P", "C5M"}
    with pytest.raises(InputError, match=r"atom .* came out inside out: the path is bent or twisted beyond"):
        check_closed(system, position, -position, label, BENT)
    (phosphorus, *_) = np.flatnonzero(names == "P")
    moved = position.copy()
    moved[phosphorus] += 0.4
    with pytest.raises(InputError, match=rf"the bond of .*atom {phosphorus}.* is \d+ % off its length"):
        check_closed(system, position, moved, label, BENT)
    moved[phosphorus] -= 0.34
    assert any("most strained" in note for note in check_closed(system, position, moved, label, BENT))


def test_parameters_come_back_from_the_atoms(built: Path) -> None:
    """The bases stay where they were put. A system file holds positions to 10⁻⁶ Å, a PDB to 10⁻³."""
    said("export", built / "dna.tsr", "-o", built / "dna.pdb", "-o", built / "dna.cif", "--force")
    for name, lengths, angles in (("dna.tsr", 1e-5, 1e-4), ("dna.pdb", 0.01, 0.1), ("dna.cif", 0.01, 0.1)):
        found = analyse(built / name)
        assert found.sequence == SEQUENCE
        assert found.steps[:, :3] == pytest.approx(np.tile([0, 0, 3.4], (11, 1)), abs=lengths)
        assert found.steps[:, 3:] == pytest.approx(np.tile([0, 0, paths.TWIST], (11, 1)), abs=angles)
        assert found.pairs == pytest.approx(np.zeros((12, 6)), abs=angles)


def test_energies_are_those_of_openmm_with_our_psf(built: Path, toppar: list[Path]) -> None:
    check_energies(built / "dna.tsr", toppar)
    said("export", built / "dna.tsr", "-o", built / "again.pdb")
    again = prepare_charmm(built / "dna.psf", built / "again.pdb", toppar, vacuum=True)
    assert again.term_counts() == read(built / "dna.tsr").term_counts()


def test_a_circle_has_no_ends(field: ForceField) -> None:
    course = paths.circle(52, paths.TWIST)
    system = build_helix("GATTACAGGCTCA" * 4, course, field, "circle")
    assert system.net_charge() == pytest.approx(-104)
    assert "H5T" not in system.templates[0].atom_name
    check_geometry(system)
    assert any("5 turns of twist" in note for note in system.notes)


@pytest.mark.slow(part="physics")
def test_1kx5_rebuilt_has_its_phosphates(data_folder: Path, field: ForceField) -> None:
    path = data_folder / "dna_nucleosome" / "1kx5.pdb"
    duplex, atoms = read_duplex(path), read_atoms(path)
    expected = atoms.position[(atoms.name == "P") & np.isin(atoms.chain, ["I", "J"])]
    parameters, frames = pairs_of(duplex.first, duplex.second)
    for of_pairs, limit in ((parameters, 1.2), (np.zeros_like(parameters), 1.5)):
        system = build_helix(duplex.sequence, paths.Course(frames, of_pairs), field, "1KX5")
        assert system.n_atoms == 9346
        check_geometry(system)
        found = system.positions()[np.concatenate([t.atom_name for t in system.templates]) == "P"]
        assert np.sqrt(((found - expected) ** 2).sum(axis=1).mean()) < limit


def test_a_palindrome_has_one_kind_of_strand(field: ForceField, tmp_path: Path) -> None:
    system = build_helix("GAATTC", paths.straight(6, paths.TWIST), field, "palindrome")
    write(system, tmp_path / "dna.tsr")
    assert len(system.templates) == 1
    write(build_helix("GAATTC" * 8, paths.circle(48, paths.TWIST), field, "circle"), tmp_path / "circle.tsr")
    assert analyse(tmp_path / "circle.tsr").sequence == "GAATTC" * 8
    assert analyse(tmp_path / "dna.tsr").sequence == "GAATTC"


def test_a_force_field_without_nucleotides_is_refused(data_folder: Path) -> None:
    folder = data_folder / "charmm36_toppar"
    with pytest.raises(InputError, match=r"residue ADE \(RESI ADE\) is in none of the topologies given"):
        protein = read_field([folder / "top_all36_prot.rtf", folder / "par_all36m_prot.prm"])
        build_helix("GA", paths.straight(2, paths.TWIST), protein, "protein")
    with pytest.raises(InputError, match="add the parameters with --toppar"):
        build_helix("GA", paths.straight(2, paths.TWIST), read_field([folder / "top_all36_na.rtf"]), "no parameters")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--path", "straight", "--pitch", "28"], "--pitch and --diameter are of --path superhelix"),
        (["--path", "superhelix", "--twist", "34"], "the superhelix of 1KX5 has its own twist"),
        (["--path", "none.txt"], "path not found: none.txt"),
        (["--path", "circle"], "a circle of 12 base pairs bends about a radius of 6.5 Å"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "dna.fa").write_text(SEQUENCE)
    output = tmp_path / "dna.tsr"
    assert message in said("build", "dna", tmp_path / "dna.fa", *words, "--toppar", "x.rtf", "-o", output, status=2)
    assert not output.exists()
