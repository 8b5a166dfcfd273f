"""Ids of residues in PSFs: decimal, with insertion codes, hexadecimal."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.errors import InputError
from tessera.export.configuration import read_configuration
from tessera.export.files import write_all
from tessera.export.structure import structure_of
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.coordinates.residue_ids import read_residue_ids
from tessera.select.universe import selected
from tessera.system import read, write

REPORTS = Path(__file__).parents[2] / "reports/hex_resid"


def _read(*segments: str) -> list[str]:
    """Returns the numbers with their codes of the ids of several segments."""
    ids = [words.split() for words in segments]
    text = np.array([word.encode() for words in ids for word in words], "S8")
    segment = np.array([f"S{i}".encode() for i, words in enumerate(ids) for _ in words], "S8")
    found = read_residue_ids(text, segment, "a.psf")
    return [f"{number}{code.decode()}" for number, code in zip(found.number.tolist(), found.insertion)]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ("9998 9999 2710 2711", "9998 9999 10000 10001"),
        ("9999 2710 2719 271a 271f 2720", "9999 10000 10009 10010 10015 10016"),
        ("2719 271a", "10009 10010"),
        ("271a 271b 271c 271d 271e 271f 2720", "10010 10011 10012 10013 10014 10015 10016"),
        ("2718 271B 27AF", "10008 10011 10159"),
        ("270 271 271A 271B 272", "270 271 271A 271B 272"),
        ("270 271 271a 271b", "270 271 271a 271b"),
        ("52 52A 52B 53", "52 52A 52B 53"),
        ("-3 -2 -1 0 1", "-3 -2 -1 0 1"),
        ("9998 9999 0 1 2", "9998 9999 0 1 2"),
        ("9999 10000 10001", "9999 10000 10001"),
        ("2708 2709 2710 2711", "2708 2709 2710 2711"),
        ("ff9 ffff", None),
        ("9999 2710 fffe ffff", "9999 10000 65534 65535"),
        ("1 2 A1", None),
        ("1 2 x", None),
    ],
)
def test_ids_are_read_as_their_neighbours_say(ids: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(InputError, match=r"a\.psf: atom \d is in the residue '\w+', expected a number"):
            _read(ids)
    else:
        assert " ".join(_read(ids)) == expected


def test_each_segment_has_ids_of_its_own() -> None:
    found = _read("270 271 271a 272", "9999 2710 2711", "2710 2711")
    assert " ".join(found) == "270 271 271a 272 9999 10000 10001 2710 2711"


@given(st.integers(9000, 20_000), st.integers(1, 300), st.booleans(), st.lists(st.integers(0, 299), max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_run_across_9999_comes_back(begin: int, count: int, capitals: bool, lost: list[int]) -> None:
    numbers = [begin + i for i in range(count) if i not in lost]
    texts = [str(n) if n < 10_000 else f"{n:X}" if capitals else f"{n:x}" for n in numbers]
    if not numbers or not any(c.isalpha() for text in texts for c in text):
        return
    if capitals and all(text[:-1].isdigit() and text[-1].isalpha() for text in texts):
        return  # nothing but capitals behind numbers: insertion codes
    assert [int(text) for text in _read(" ".join(texts))] == numbers


def test_selections_and_exports_have_the_numbers() -> None:
    system = prepare_charmm(REPORTS / "hex.psf", REPORTS / "order.pdb", [REPORTS / "water.prm"])
    plain = prepare_charmm(REPORTS / "h2o.psf", REPORTS / "order.pdb", [REPORTS / "water.prm"])
    assert np.array_equal(system.fraction, plain.fraction)
    assert any("hexadecimal ids from 2710 on, which is residue 10000" in note for note in system.notes)
    structure = structure_of(system, "water")
    assert selected(structure, "resid 10010", system).tolist() == [57, 58, 59]
    assert len(selected(structure, "resid 10010:10015", system)) == 18


def test_insertion_codes_reach_selections_files_and_exports(tmp_path: Path) -> None:
    text = (REPORTS / "hex.psf").read_text()
    for old, new in (("9992", "9991A"), ("9993", "9991B"), ("9994", "9992 ")):
        text = text.replace(f"WAT      {old:<8}", f"WAT      {new:<8}")
    (tmp_path / "water.psf").write_text(text)
    made = prepare_charmm(tmp_path / "water.psf", REPORTS / "h2o.pdb", [REPORTS / "water.prm"])
    write(made, tmp_path / "water.tsr")
    system = read(tmp_path / "water.tsr")
    structure = structure_of(system, "water")
    for selection, atoms in (("resid 9991", [0, 1, 2]), ("resid 9991A", [3, 4, 5]), ("resid 9991B", [6, 7, 8])):
        assert selected(structure, selection, system).tolist() == atoms
    outputs = [tmp_path / f"out.{ending}" for ending in ("pdb", "crd", "psf", "cif")]
    write_all(read_configuration(tmp_path / "water.tsr"), outputs, None, True, lambda _: None)
    for path in outputs:
        assert re.search(r"9991 ?A\b|9991\b.* A ", path.read_text()), path.name
    again = prepare_charmm(tmp_path / "out.psf", tmp_path / "out.pdb", [REPORTS / "water.prm"])
    assert again.templates[1].insertion_codes.tolist() == ["A"]
