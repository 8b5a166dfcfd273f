"""Each format as an independent library reads it: atoms, names, positions to its last digit, box, terms."""

from __future__ import annotations

import dataclasses
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.build.replicate import replicate
from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.export.configuration import Configuration
from tessera.export.files import SUFFIXES, write_all
from tessera.export.mmcif import quoted, write_mmcif
from tessera.export.structure import Structure
from tessera.prepare.coordinates import read_coordinates
from tessera.prepare.coordinates.mmcif import words_of
from tessera.prepare.psf import read_psf
from tessera.system import System
from tests.support.inputs import DHFR, alanine_dipeptide, alanine_tripeptide, dhfr

MDAnalysis = pytest.importorskip("MDAnalysis")

#: half of the last digit (Å), and what single precision adds at 100 Å
DIGITS = {".pdb": 5.1e-4, ".gro": 5.1e-3, ".crd": 1e-5, ".cif": 5.1e-5}


def exported(system: System, folder: Path, *suffixes: str, **options: Any) -> Structure:
    outputs = [folder / f"x{suffix}" for suffix in suffixes]
    options = {"select": None, "whole": True, **options}
    return write_all(Configuration(system, folder / "x.tsr", 40, 0.08), outputs, report=lambda _: None, **options)[0]


def universe(*paths: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MDAnalysis.Universe(*map(str, paths), **options)


def pairs(ids: Any) -> set[tuple[int, ...]]:
    """Terms as a set, each in one of its two directions."""
    return {min(tuple(row), tuple(row[::-1])) for row in np.asarray(ids).tolist()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dhfr")


@pytest.fixture(scope="module")
def written(folder: Path) -> Structure:
    """DHFR in water in all formats."""
    velocity = np.random.default_rng(1).normal(0, 3, (dhfr().n_atoms, 3))
    return exported(dataclasses.replace(dhfr(), velocity=velocity), folder, *SUFFIXES)


@pytest.fixture(scope="module")
def source() -> Any:
    """The files that DHFR was prepared from."""
    return universe(DHFR / "5dhfr_cube.psf", DHFR / "5dhfr_cube.pdb")


@pytest.mark.parametrize("suffix", [".pdb", ".gro", ".crd"])
def test_mdanalysis_reads_atoms_and_box(folder: Path, written: Structure, source: Any, suffix: str) -> None:
    found = universe(folder / f"x{suffix}")
    for name in ("names", "resnames", "resids"):
        assert (getattr(found.atoms, name) == getattr(source.atoms, name)).all()
    assert len(found.residues) == len(source.residues)
    np.testing.assert_allclose(found.atoms.positions, written.position, rtol=0, atol=DIGITS[suffix])
    if suffix != ".gro":
        assert (found.atoms.segids == source.atoms.segids).all()
    if suffix != ".crd":
        np.testing.assert_allclose(found.dimensions, [62.23] * 3 + [90] * 3, rtol=1e-6)
    if suffix == ".gro":
        np.testing.assert_allclose(found.atoms.velocities, written.velocity, rtol=0, atol=5.1e-4)
    if suffix == ".pdb":
        assert list(dict.fromkeys(found.atoms.chainIDs)) == ["A", "B"]
        assert list(found.atoms.elements[:4]) == ["N", "H", "H", "H"]


def test_positions_are_the_inputs_and_molecules_are_whole(written: Structure, source: Any) -> None:
    shift = (written.position - source.atoms.positions) / 62.23
    np.testing.assert_allclose(shift, np.rint(shift), atol=1e-6)
    bonds = written.position[source.bonds.indices]
    assert np.linalg.norm(bonds[:, 0] - bonds[:, 1], axis=1).max() < 2.5
    waters = written.position[2489:].reshape(-1, 3, 3)
    centres = np.vstack([waters.mean(axis=1), written.position[:2489].mean(axis=0)])
    assert np.abs(centres).max() < 62.23 / 2 + 1e-6


def test_each_atom_in_the_box(tmp_path: Path) -> None:
    whole = exported(dhfr(), tmp_path, ".coor")
    cut = exported(dhfr(), tmp_path, ".coor", whole=False)
    assert np.abs(cut.position).max() <= 62.23 / 2 < np.abs(whole.position).max()
    turns = (whole.position - cut.position) / 62.23
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-9)


def test_openmm_reads_mmcif(folder: Path, written: Structure, source: Any) -> None:
    app = pytest.importorskip("openmm.app")
    file = app.PDBxFile(str(folder / "x.cif"))
    atoms = list(file.topology.atoms())
    # OpenMM gives some atoms and residues its own names: waters, and hydrogens of amino acids.
    assert [atom.residue.id for atom in atoms[::50]] == [str(number) for number in source.atoms.resids[::50]]
    assert [chain.id for chain in file.topology.chains()] == ["P1", "W1"]
    assert [atom.name for atom in atoms if atom.name == "CA"] == ["CA"] * 159
    assert file.topology.getNumResidues() == len(source.residues)
    position = np.asarray(file.getPositions(asNumpy=True)._value) * 10
    np.testing.assert_allclose(position, written.position, rtol=0, atol=DIGITS[".cif"])
    box = np.asarray(file.topology.getPeriodicBoxVectors()._value) * 10
    np.testing.assert_allclose(box, np.eye(3) * 62.23, atol=5.1e-5)
    assert atoms[0].element.symbol == "N"


def test_mdtraj_and_parmed_read_mmcif(folder: Path, written: Structure, tmp_path: Path) -> None:
    parmed = pytest.importorskip("parmed")
    some = written.subset(np.arange(3000))
    write_mmcif(some, tmp_path / "x.cif")
    found = parmed.read_CIF(str(tmp_path / "x.cif"))
    assert [atom.name for atom in found.atoms] == some.name.tolist()
    assert [residue.name for residue in found.residues] == some.residue_name.tolist()
    np.testing.assert_allclose(found.coordinates, some.position, rtol=0, atol=DIGITS[".cif"])
    mdtraj = pytest.importorskip("mdtraj")
    whole = mdtraj.load(str(folder / "x.cif"))
    assert whole.n_residues == len(written.residue_name)
    np.testing.assert_allclose(whole.xyz[0] * 10, written.position, rtol=0, atol=DIGITS[".cif"] + 1e-5)


MARKS = st.text(st.sampled_from("'\"_#;$[]?.aH5 loop"), min_size=1, max_size=7).map(lambda text: text.replace(" ", ""))


@given(words=st.lists(MARKS.filter(bool), min_size=2, max_size=5))
def test_readers_of_mmcif_take_quotes_as_written(words: list[str]) -> None:
    """Any words between others on a line, also with quotes of both kinds inside."""
    from openmm.app.internal.pdbx.reader.PdbxReader import PdbxReader

    words = [word for word in words if not word.lower().startswith(("loop", "_"))] or ["'\""]
    marked = quoted(words)
    line = " ".join(["ATOM", *(marked[word] for word in words), "1"])
    blocks: list[Any] = []
    columns = "".join(f"_atom_site.c{i}\n" for i in range(len(words) + 2))
    PdbxReader(io.StringIO(f"data_x\nloop_\n{columns}{line}\n#\n")).read(blocks)
    assert list(blocks[0].getObj("atom_site").getRowList()[0]) == ["ATOM", *words, "1"]
    assert words_of(line) == ["ATOM", *words, "1"]


def test_prepare_reads_primes_in_names_of_mmcif(tmp_path: Path) -> None:
    exported(with_names(atom_name=np.array(["O5'", "H5'", "H5''"]))(), tmp_path, ".cif")
    assert "\"H5''\"" in (tmp_path / "x.cif").read_text()
    found = read_coordinates(tmp_path / "x.cif").name
    assert found is not None and found[:3].tolist() == [b"O5'", b"H5'", b"H5''"]


def test_parmed_reads_restarts(folder: Path, written: Structure) -> None:
    amber = pytest.importorskip("parmed.amber")
    text, binary = (
        amber.AmberAsciiRestart(str(folder / "x.rst7")),
        amber.NetCDFRestart.open_old(str(folder / "x.ncrst")),
    )
    for file, digits in ((text, 5.1e-8), (binary, 0)):
        np.testing.assert_allclose(file.coordinates[0], written.position, rtol=0, atol=digits)
        np.testing.assert_allclose(file.velocities[0], written.velocity, rtol=1e-7, atol=digits * 20.455)
        np.testing.assert_allclose(file.box, [62.23] * 3 + [90] * 3)
        assert float(file.time) == pytest.approx(0.08)
    binary.close()


def test_openmm_and_mdtraj_read_restarts(folder: Path, written: Structure) -> None:
    app = pytest.importorskip("openmm.app")
    file = app.AmberInpcrdFile(str(folder / "x.rst7"))
    np.testing.assert_allclose(np.asarray(file.getPositions(asNumpy=True)._value) * 10, written.position, atol=1e-6)
    mdtraj = pytest.importorskip("mdtraj")
    with mdtraj.formats.AmberNetCDFRestartFile(str(folder / "x.ncrst")) as binary:
        position, time, edges, _ = binary.read()
    np.testing.assert_allclose(position.reshape(-1, 3), written.position, atol=1e-5)
    np.testing.assert_allclose(edges.reshape(-1), 62.23, rtol=1e-6)
    assert float(np.ravel(time)[0]) == pytest.approx(0.08)


@pytest.mark.parametrize("suffix", [*DIGITS, ".rst7", ".ncrst", ".coor"])
def test_prepare_reads_it(folder: Path, written: Structure, suffix: str) -> None:
    found = read_coordinates(folder / f"x{suffix}")
    digits = {**DIGITS, ".crd": 5.1e-11, ".rst7": 5.1e-8}.get(suffix, 0)
    np.testing.assert_allclose(found.position, written.position, rtol=0, atol=digits)
    if suffix not in (".crd", ".coor"):
        assert found.box is not None
        np.testing.assert_allclose(found.box, np.eye(3) * 62.23, rtol=1e-6)


def test_namd_binary(folder: Path, written: Structure) -> None:
    found = universe(folder / "x.psf", folder / "x.coor", format="NAMDBIN")
    np.testing.assert_allclose(found.atoms.positions, written.position, atol=1e-5)
    data = (folder / "x.coor").read_bytes()
    assert np.array_equal(np.frombuffer(data[4:]).reshape(-1, 3), written.position)


def test_psf_says_what_the_source_says(folder: Path, written: Structure, source: Any) -> None:
    found = universe(folder / "x.psf")
    for name in ("names", "types", "resnames", "resids", "segids", "charges", "masses"):
        mine, theirs = getattr(found.atoms, name), getattr(source.atoms, name)
        assert (mine == theirs).all(), name
    for name in ("bonds", "angles", "dihedrals", "impropers"):
        assert pairs(getattr(found, name).indices) == pairs(getattr(source, name).indices), name


def test_cross_terms_and_periodic_impropers(tmp_path: Path) -> None:
    """CHARMM's CMAP and AMBER's impropers as ParmEd and OpenMM see them."""
    parmed = pytest.importorskip("parmed")
    app = pytest.importorskip("openmm.app")
    exported(alanine_tripeptide(), tmp_path, ".psf", ".pdb")
    original = parmed.charmm.CharmmPsfFile(str(DHFR.parents[1] / "tests" / "data" / "ala_ala_ala.psf"))
    found = parmed.charmm.CharmmPsfFile(str(tmp_path / "x.psf"))
    for name in ("bonds", "angles", "dihedrals", "impropers", "cmaps"):
        assert len(getattr(found, name)) == len(getattr(original, name)) > 0, name
    atoms = [[getattr(term, f"atom{i}").idx for i in range(1, 6)] for psf in (found, original) for term in psf.cmaps]
    assert atoms[: len(found.cmaps)] == atoms[len(found.cmaps) :]
    assert [atom.name for atom in found.atoms] == [atom.name for atom in original.atoms]
    assert len(app.CharmmPsfFile(str(tmp_path / "x.psf")).cmap_list) == len(original.cmaps)
    assert universe(tmp_path / "x.pdb").dimensions is None  # vacuum

    exported(alanine_dipeptide(), tmp_path, ".psf")
    found = parmed.charmm.CharmmPsfFile(str(tmp_path / "x.psf"))
    amber = alanine_dipeptide()
    for kind, terms in (("dihedral", found.dihedrals), ("improper_periodic", found.impropers)):
        rows = amber.templates[0].term(kind).atoms
        assert len(terms) == len(pairs(rows)) > 0
    assert {residue.segid for residue in found.residues} == {"SYS"}
    assert [residue.name for residue in found.residues] == ["ACE", "ALA", "NME"]


@pytest.fixture(scope="module")
def many() -> System:
    """100,008 atoms, 33,336 residues."""
    return replicate(make_water(11_112), (3, 3, 1))


def test_more_atoms_than_columns(many: System, tmp_path: Path) -> None:
    written = exported(many, tmp_path, ".pdb", ".psf")
    lines = (tmp_path / "x.pdb").read_text().splitlines()[2 : 2 + many.n_atoms]
    assert [int(line[6:11]) for line in lines] == [(i + 1) % 100_000 for i in range(many.n_atoms)]
    assert [int(line[22:26]) for line in lines[::3]] == [(i + 1) % 10_000 for i in range(many.n_instances)]
    found = universe(tmp_path / "x.pdb")
    assert found.atoms.n_atoms == many.n_atoms and len(found.residues) == many.n_instances
    np.testing.assert_allclose(found.atoms.positions, written.position, rtol=0, atol=DIGITS[".pdb"])
    psf = read_psf(tmp_path / "x.psf")  # compared with OpenMM's reader by its own tests
    assert psf.residue_number.tolist() == [1 + i // 3 for i in range(many.n_atoms)]
    bonds = np.arange(0, many.n_atoms, 3)[:, None, None] + many.templates[0].term("bond").atoms
    assert np.array_equal(psf.bonds, bonds.reshape(-1, 2))


def test_mdtraj_reads_a_selection(tmp_path: Path) -> None:
    mdtraj = pytest.importorskip("mdtraj")
    written = exported(dhfr(), tmp_path, ".pdb", ".psf", ".gro", select="protein and backbone")
    assert set(written.name) == {"N", "CA", "C", "O"}
    for suffix in (".pdb", ".gro"):
        found = mdtraj.load(str(tmp_path / f"x{suffix}"))
        assert found.topology.n_residues == 159
        np.testing.assert_allclose(found.xyz[0] * 10, written.position, rtol=0, atol=DIGITS[suffix])
    psf = mdtraj.load_psf(str(tmp_path / "x.psf"))
    assert psf.n_bonds == 4 * 159 - 2  # the last carbonyl has other names for its oxygens
    near = exported(dhfr(), tmp_path, ".coor", select="byres resname TIP3 and around 3 protein")
    assert 0 < near.n_atoms < 23_558 and set(near.residue_name) == {"TIP3"}


def test_residue_numbers_of_copies() -> None:
    """Molecules without a number are counted on; numbers of the input are kept."""
    from tessera.export.structure import structure_of

    assert structure_of(make_water(300), "").residue_number.tolist() == list(range(1, 101))
    system = dhfr()
    numbers = np.array([[1, 7000, 300, 1], [7001, 23, 9, 2]], np.int64)
    found = structure_of(dataclasses.replace(system, residue_numbers=numbers), "").residue_number
    assert found[:159].tolist() == list(range(1, 160))
    assert found[159:].tolist() == [*range(300, 7300), *range(9, 55, 2)]
    copies = structure_of(replicate(alanine_dipeptide_in_a_box(), (2, 1, 1)), "")
    assert copies.residue_number.tolist() == [1, 2, 3, 1, 2, 3]


def alanine_dipeptide_in_a_box() -> System:
    return dataclasses.replace(alanine_dipeptide(), periodic=True)


def test_a_triclinic_box(tmp_path: Path) -> None:
    """Runs do not have them yet; the formats do."""
    box = np.array([[30, 0, 0], [5, 28, 0], [3, -4, 25.0]])
    system = dataclasses.replace(make_water(3000), box=box)
    written = exported(system, tmp_path, ".pdb", ".gro", ".rst7", ".cif", whole=False)
    angles = universe(tmp_path / "x.pdb").dimensions
    for suffix in (".gro", ".rst7"):
        options = {"topology_format": "GRO"} if suffix == ".gro" else {"format": "INPCRD"}
        paths = (tmp_path / "x.gro",) if suffix == ".gro" else (tmp_path / "x.gro", tmp_path / "x.rst7")
        found = universe(*paths, **options)
        np.testing.assert_allclose(found.atoms.positions, written.position, rtol=0, atol=DIGITS[".gro"])
    np.testing.assert_allclose(universe(tmp_path / "x.gro").trajectory.ts.triclinic_dimensions, box, atol=1e-3)
    np.testing.assert_allclose(MDAnalysis.lib.mdamath.triclinic_vectors(angles), box, atol=0.01)
    app = pytest.importorskip("openmm.app")
    vectors = app.PDBxFile(str(tmp_path / "x.cif")).topology.getPeriodicBoxVectors()
    np.testing.assert_allclose(np.asarray(vectors._value) * 10, box, atol=1e-3)


def far_away(system: System) -> System:
    """Waters in a box of 20,000 Å."""
    return dataclasses.replace(system, box=np.eye(3) * 20_000)


def with_names(**changes: Any) -> Callable[[], System]:
    def made() -> System:
        system = make_water(24)
        template = dataclasses.replace(system.templates[0], **changes)
        return dataclasses.replace(system, templates=[template])

    return made


@pytest.mark.parametrize(
    ("made", "suffix", "expected"),
    [
        (lambda: far_away(make_water(30)), ".pdb", "PDB has no columns for coordinates beyond -999 to 9,999"),
        (lambda: far_away(make_water(30)), ".rst7", "text restart has no columns for coordinates"),
        (with_names(atom_name=np.array(["OH2AB", "H1", "H2"])), ".pdb", "4 columns for atom names, found 'OH2AB'"),
        (with_names(atom_name=np.array(["OH2ABC", "H1", "H2"])), ".gro", "5 columns for atom names, found 'OH2ABC'"),
        (with_names(residue_name=np.array(["A-LONG-NAME"])), ".crd", "8 columns for residue names"),
        (with_names(residue_name=np.array([""])), ".psf", "PSF needs residue names, and one is blank"),
        (with_names(atom_name=np.array(["O H", "H1", "H2"])), ".cif", "ASCII letters without blanks, found 'O H'"),
        (with_names(residue_name=np.array(["Hüh"])), ".pdb", "ASCII letters without blanks, found 'Hüh'"),
        (with_names(residue_number=np.array([-1000])), ".pdb", "residue numbers below -999, found -1000"),
        (with_names(charge=np.array([100.0, 1, 1])), ".psf", "no columns for charges of 100 e"),
    ],
)
def test_what_a_format_cannot_hold(made: Callable[[], System], suffix: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=expected):
        exported(made(), tmp_path, ".coor", suffix)
    assert not list(tmp_path.iterdir())


def test_names_beyond_columns_of_psf_and_segments_of_pdb(tmp_path: Path) -> None:
    system = with_names(residue_name=np.array(["LONG-NAME"]), segment_name=np.array(["SEGMENT-NAME"]))()
    exported(system, tmp_path, ".psf")
    assert (tmp_path / "x.psf").read_text().startswith("PSF NAMD")
    found = universe(tmp_path / "x.psf")
    assert found.residues.resnames[0] == "LONG-NAME" and found.segments.segids[0] == "SEGMENT-NAME"
    parmed = pytest.importorskip("parmed")
    assert parmed.charmm.CharmmPsfFile(str(tmp_path / "x.psf")).residues[0].name == "LONG-NAME"
    exported(with_names(segment_name=np.array(["SEGMENT-NAME"]))(), tmp_path, ".pdb", ".crd")
    assert universe(tmp_path / "x.pdb").segments.segids[0] == "SEGM"
    assert universe(tmp_path / "x.crd").segments.segids[0] == "SEGMENT-"
    both = dhfr()
    templates = [dataclasses.replace(t, segment_name=np.full_like(t.segment_name, name, "U12"))
                 for t, name in zip(both.templates, ("SEGMENT-ONE", "SEGMENT-TWO"))]  # fmt: skip
    with pytest.raises(InputError, match="in which SEGMENT-ONE and SEGMENT-TWO are the same"):
        exported(dataclasses.replace(both, templates=templates), tmp_path, ".crd")
