"""Editors put a byte-order mark before the first line of a text: no reader may lose that line or stumble over it."""

import codecs
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.prepare.amber import prepare_amber
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.charmm_stream import lines_of
from tessera.prepare.coordinates import read_coordinates
from tessera.prepare.dlpoly.lines import Lines
from tessera.prepare.gromacs import prepare_gromacs
from tessera.prepare.pdb.records import read_records
from tessera.prepare.text import read_text, without_mark
from tessera.system import System

REPORTS = Path(__file__).parents[2] / "reports"
GROMACS = ("plain.mdp", "argon.top", "atoms.itp", "argon.gro")
CHARMM = ("h2o.psf", "h2o.pdb", "water.prm")
AMBER = ("salt.prmtop", "six.inpcrd")


def _gromacs(folder: Path) -> System:
    return prepare_gromacs(folder / "argon.top", folder / "argon.gro", mdp=folder / "plain.mdp")


def _charmm(folder: Path) -> System:
    return prepare_charmm(folder / "h2o.psf", folder / "h2o.pdb", [folder / "water.prm"])


def _amber(folder: Path) -> System:
    return prepare_amber(folder / "salt.prmtop", folder / "six.inpcrd")


def _inputs(folder: Path, file: str) -> None:
    source = REPORTS / ("mdp" if file in GROMACS else "hex_resid" if file in CHARMM else "octahedron")
    for path in source.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    if file in GROMACS:
        begin, types, rest = (folder / "argon.top").read_text().partition("[ moleculetype ]")
        (folder / "atoms.itp").write_text(begin)
        (folder / "argon.top").write_text(f'#include "atoms.itp"\n{types}{rest}')


@pytest.mark.parametrize(
    ("file", "prepare"),
    [(f, p) for files, p in ((GROMACS, _gromacs), (CHARMM, _charmm), (AMBER, _amber)) for f in files],
)
def test_a_mark_changes_nothing(file: str, prepare: Callable[[Path], System], tmp_path: Path) -> None:
    _inputs(tmp_path, file)
    expected = prepare(tmp_path)
    marked = tmp_path / file
    marked.write_bytes(codecs.BOM_UTF8 + marked.read_bytes())
    found = prepare(tmp_path)
    assert np.array_equal(found.fraction, expected.fraction)
    assert np.array_equal(found.box, expected.box)
    assert found.term_counts() == expected.term_counts()
    assert found.notes == expected.notes
    assert found.lennard_jones == expected.lennard_jones


def test_a_marked_include_and_readers_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "toppar.str"
    path.write_bytes(codecs.BOM_UTF8 + b"* a title\nread rtf card\n")
    assert [line.words[0] for line in lines_of(path)] == ["read"]
    path = tmp_path / "FIELD"
    path.write_bytes(codecs.BOM_UTF8 + b"a title\nunits eV\n")
    found = Lines.read(path, "FIELD")
    assert found.first.text == "a title" and found.found[0].words == ["units", "eV"]
    path = tmp_path / "a.pdb"
    path.write_bytes(codecs.BOM_UTF8 + (REPORTS / "hex_resid/h2o.pdb").read_bytes())
    assert read_records(path, True) == read_records(REPORTS / "hex_resid/h2o.pdb", True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_encodings_are_named(encoding: str, tmp_path: Path) -> None:
    for name in ("a.mdp", "a.pdb"):
        (tmp_path / name).write_text("ATOM      1  OH2 TIP3    1     -12.000 -12.000 -12.000", encoding=encoding)
        with pytest.raises(InputError, match=f"{name} is text in UTF-16 or UTF-32, expected UTF-8 or ASCII"):
            (read_text if name == "a.mdp" else read_coordinates)(tmp_path / name)


def test_binary_data_that_begin_like_a_mark_are_left_alone() -> None:
    for begin in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        data = begin + b"\0\0" + np.linspace(-30, 30, 300).tobytes()
        assert without_mark(data, "a.coor") == data
