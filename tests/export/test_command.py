"""`tessera export` on the command line, and names that nobody expects."""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.export.configuration import Configuration
from tessera.export.files import write_all
from tessera.prepare.psf import read_psf
from tessera.system import System, write
from tests.support.commands import called
from tests.support.programs import run_program

MDAnalysis = pytest.importorskip("MDAnalysis")
export = partial(called, "export")


@pytest.fixture(scope="module")
def water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("water") / "water.tsr"
    write(make_water(300), path)
    return path


def test_several_files_and_json(water: Path, tmp_path: Path) -> None:
    done = export(water, "-o", tmp_path / "a.pdb", "-o", tmp_path / "a.psf", "--select", "name OH2", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["atoms"] == 100 and facts["atoms_of_system"] == 300 and facts["step"] is None
    assert [Path(file["path"]).name for file in facts["files"]] == ["a.pdb", "a.psf"]
    assert np.allclose(facts["box"], make_water(300).box)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pdb", "a.psf"]

    done = export(water, "-o", tmp_path / "b.gro")
    assert done.exit_code == 0 and done.stdout == f"{water}: 300 atoms\n  {tmp_path / 'b.gro'}: GROMACS GRO\n"


def test_files_that_exist_are_kept(water: Path, tmp_path: Path) -> None:
    (tmp_path / "a.pdb").write_text("mine")
    refused = export(water, "-o", tmp_path / "b.gro", "-o", tmp_path / "a.pdb")
    assert refused.exit_code == 2
    assert refused.stderr == f"tessera: error: {tmp_path / 'a.pdb'} exists; --force replaces it\n"
    assert (tmp_path / "a.pdb").read_text() == "mine" and not (tmp_path / "b.gro").exists()
    assert export(water, "-o", tmp_path / "a.pdb", "--force").exit_code == 0
    assert (tmp_path / "a.pdb").read_text().startswith("TITLE")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-o", "a.xyz"], "a.xyz: the ending says no format; expected one of .pdb, .cif, .bcif, .gro"),
        (["-o", "a"], "a: the ending says no format"),
        (["-o", "nowhere/a.pdb"], "the folder of nowhere/a.pdb does not exist"),
        (["-o", "a.pdb", "-o", "./a.pdb"], "-o names the same file twice"),
        (["-o", "a.pdb", "--select", "naem CA"], "'naem CA' is no selection of MDAnalysis: Unknown selection token"),
        (["-o", "a.pdb", "--select", "name (("], "is no selection of MDAnalysis"),
        (["-o", "a.pdb", "--select", "protein"], "'protein' names no atom; the residues are TIP3"),
        (["-o", "a.pdb", "--frame", "2"], "--frame needs the output folder of a run, found the file"),
        (["-o", "a.pdb", "--system", "b.tsr"], "--system needs the output folder of a run"),
        (["-o", "a.pdb", "--frame", "two"], "'two' is no frame: expected a number from 0, or last"),
        ([], "Missing option '-o'"),
    ],
)
def test_what_is_refused(
    water: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = export(water, *words)
    assert refused.exit_code == 2 and expected in refused.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_no_system(tmp_path: Path) -> None:
    (tmp_path / "x.tsr").write_text("nothing")
    for name, expected in (("x.tsr", "is not a readable system file"), ("y.tsr", "is not there: expected a system")):
        refused = export(tmp_path / name, "-o", tmp_path / "a.pdb")
        assert refused.exit_code == 2 and expected in refused.stderr and refused.stderr.count("\n") == 1


def test_one_that_fails_leaves_none(tmp_path: Path) -> None:
    system = make_water(24)
    system.templates[0].residue_name = np.array(["A-NAME-OF-MANY-LETTERS"])
    write(system, tmp_path / "x.tsr")
    refused = export(tmp_path / "x.tsr", "-o", tmp_path / "a.cif", "-o", tmp_path / "a.pdb")
    assert refused.exit_code == 2 and "4 columns for residue names" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.tsr"]


@pytest.mark.parametrize("suffix", [".pdb", ".ncrst", ".psf"])
def test_a_file_that_cannot_grow(water: Path, tmp_path: Path, suffix: str) -> None:
    command = f"ulimit -f 4; exec {sys.executable} -m tessera export {water} -o {tmp_path}/x{suffix}"
    refused = run_program(["bash", "-c", command], status=2)
    assert refused.stderr == f"tessera: error: {tmp_path}/x{suffix} can't be written: File too large\n"
    assert not list(tmp_path.iterdir())


def test_selections_that_follow_bonds(water: Path, tmp_path: Path) -> None:
    assert export(water, "-o", tmp_path / "a.gro", "--select", "same fragment as index 5").exit_code == 0
    assert (tmp_path / "a.gro").read_text().splitlines()[1].strip() == "3"


WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=6)


def named(names: list[str], residue: str, segment: str, number: int) -> System:
    system = make_water(24)
    template = dataclasses.replace(
        system.templates[0],
        atom_name=np.array(names),
        residue_name=np.array([residue]),
        segment_name=np.array([segment]),
        residue_number=np.array([number], np.int32),
    )
    return dataclasses.replace(system, templates=[template])


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=3, max_size=3), WORDS, WORDS, st.integers(-2000, 200_000), st.integers(0, 3))
def test_any_names_come_back_or_are_refused(
    names: list[str], residue: str, segment: str, number: int, which: int
) -> None:
    system = named(names, residue, segment, number)
    suffix = (".pdb", ".crd", ".psf", ".cif")[which]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"x{suffix}"
        try:
            write_all(Configuration(system, path), [path], None, True, lambda _: None)
        except InputError:
            assert suffix != ".crd" and not list(Path(folder).iterdir())
            return
        found = READERS[suffix](path)
    numbers = [number + i for i in range(8)]
    if suffix == ".pdb":
        numbers = [i % 10_000 if i > 9_999 else i for i in numbers]
        segment = segment[:4]
    assert found == [(name, residue, n, segment) for n in numbers for name in names]


def _pdb(path: Path) -> list[tuple[Any, ...]]:
    lines = [line for line in path.read_text().splitlines() if line.startswith("ATOM  ")]
    return [(x[12:16].strip(), x[17:21].strip(), int(x[22:26]), x[72:76].strip()) for x in lines]


def _crd(path: Path) -> list[tuple[Any, ...]]:
    atoms = MDAnalysis.topology.CRDParser.CRDParser(str(path)).parse()
    of = atoms.tt.atoms2residues(np.arange(24))
    return [
        (atoms.names.values[i], atoms.resnames.values[r], int(atoms.resids.values[r]), atoms.segids.values[0])
        for i, r in enumerate(of)
    ]


def _psf(path: Path) -> list[tuple[Any, ...]]:
    psf = read_psf(path)
    columns = (psf.name, psf.residue_name, psf.residue_number, psf.segment)
    return [(a.decode(), r.decode(), int(n), s.decode()) for a, r, n, s in zip(*columns)]


def _cif(path: Path) -> list[tuple[Any, ...]]:
    from openmm.app.internal.pdbx.reader.PdbxReader import PdbxReader

    blocks: list[Any] = []
    with path.open() as file:
        PdbxReader(file).read(blocks)
    rows = blocks[0].getObj("atom_site")
    columns = [rows.getIndex(name) for name in ("auth_atom_id", "auth_comp_id", "auth_seq_id", "auth_asym_id")]
    return [(x[columns[0]], x[columns[1]], int(x[columns[2]]), x[columns[3]]) for x in rows.getRowList()]


READERS = {".pdb": _pdb, ".crd": _crd, ".psf": _psf, ".cif": _cif}
