"""BinaryCIF as its specification decodes it, and as biotite reads it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tessera.export.bcif import _integers, _texts, write_bcif
from tessera.export.configuration import Configuration
from tessera.export.files import write_all
from tessera.export.structure import Structure
from tests.support.inputs import alanine_tripeptide, dhfr

TYPES = {1: "<i1", 2: "<i2", 3: "<i4", 4: "<u1", 5: "<u2", 6: "<u4", 32: "<f4", 33: "<f8"}
LIMITS = {(1, False): (-128, 127), (2, False): (-32768, 32767), (1, True): (0, 255), (2, True): (0, 65535)}


def decoded(data: Any, encoding: list[dict[str, Any]]) -> Any:
    """Undoes the encodings, the last first, a number at a time where they are told so."""
    for how in reversed(encoding):
        kind = how["kind"]
        if kind == "ByteArray":
            data = np.frombuffer(data, TYPES[how["type"]])
        elif kind == "IntegerPacking":
            whole, part = [], 0
            for number in data.tolist():
                part += number
                if number not in LIMITS[how["byteCount"], how["isUnsigned"]] or (how["isUnsigned"] and number == 0):
                    whole.append(part)
                    part = 0
            data = np.array(whole)
            assert len(data) == how["srcSize"]
        elif kind == "RunLength":
            data = np.repeat(data[::2], data[1::2])
            assert len(data) == how["srcSize"]
        elif kind == "Delta":
            data = np.cumsum(data) + how["origin"]
        elif kind == "FixedPoint":
            data = data / how["factor"]
        elif kind == "StringArray":
            begin = decoded(how["offsets"], how["offsetEncoding"]).tolist()
            words = [how["stringData"][one:other] for one, other in itertools.pairwise(begin)]
            data = [words[row] for row in decoded(data, how["dataEncoding"]).tolist()]
        else:
            raise AssertionError(kind)
    return data


def read_columns(path: Path) -> dict[str, dict[str, tuple[Any, Any]]]:
    """Returns the values of each column of each category, and its mask."""
    content = msgpack.unpackb(path.read_bytes())
    assert content["version"] == "0.3.0"
    found = {}
    for category in content["dataBlocks"][0]["categories"]:
        found[category["name"]] = {
            column["name"]: (decoded(**column["data"]), None if column["mask"] is None else decoded(**column["mask"]))
            for column in category["columns"]
        }
        assert {len(values) for values, _ in found[category["name"]].values()} == {category["rowCount"]}
    return found


def exported(system: Any, folder: Path) -> Structure:
    outputs = [folder / "x.bcif", folder / "x.cif"]
    configuration = Configuration(system, folder / "x.tsr", 40, 0.08)
    return write_all(configuration, outputs, report=lambda _: None, select=None, whole=True)[0]


int32 = st.integers(-(2**31) + 1, 2**31 - 1)
near_limits = st.sampled_from([0, 1, -1, 126, 127, 128, 254, 255, 256, -127, -128, -129, 510, 32767, -32768, 65535])


@given(arrays.arrays(np.int64, st.integers(0, 40), elements=int32 | near_limits | st.integers(-3, 3)))
def test_integers_come_back(values: np.ndarray) -> None:
    found = decoded(**_integers(values))
    assert np.array_equal(found, values)


@given(st.lists(st.sampled_from(["", "CA", "A long name", "é"])))
def test_texts_come_back(values: list[str]) -> None:
    column = _texts(values, empty=2)
    assert decoded(**column["data"]) == values
    if "mask" in column:
        assert decoded(**column["mask"]).tolist() == [0 if value else 2 for value in values]


@pytest.mark.parametrize("kind", ["box", "vacuum"])
def test_a_file_has_what_mmcif_has(kind: str, tmp_path: Path) -> None:
    written = exported(dhfr() if kind == "box" else alanine_tripeptide(), tmp_path)
    columns = read_columns(tmp_path / "x.bcif")
    assert ("_cell" in columns) == (kind == "box")
    if kind == "box":
        assert [float(values[0]) for values, _ in columns["_cell"].values()] == [62.23] * 3 + [90.0] * 3
        assert (tmp_path / "x.bcif").stat().st_size < (tmp_path / "x.cif").stat().st_size / 6
    atoms = columns["_atom_site"]
    lines = [line.split() for line in (tmp_path / "x.cif").read_text().splitlines() if line[:4] in ("ATOM", "HETA")]
    assert len(lines) == written.n_atoms
    for (name, (values, mask)), expected in zip(atoms.items(), zip(*lines), strict=True):
        if name.startswith("Cartn"):
            np.testing.assert_allclose(values, np.array(expected, float), atol=1.01e-4)
            continue
        absent = {1: ".", 2: "?"}
        texts = [
            absent[code] if code else str(value)
            for value, code in zip(values, mask if mask is not None else np.zeros(len(values)))
        ]
        if name in ("occupancy", "B_iso_or_equiv"):
            assert [float(text) for text in texts] == [float(text) for text in expected], name
        else:
            assert texts == [text.strip("\"'") if len(text) > 1 else text for text in expected], name


@pytest.mark.slow(part="pictures")
def test_biotite_reads_it(tmp_path: Path) -> None:
    from biotite.structure.io import pdbx

    written = exported(dhfr(), tmp_path)
    file = pdbx.BinaryCIFFile.read(tmp_path / "x.bcif")
    found = pdbx.get_structure(file, model=1)
    assert found.atom_name.tolist() == written.name.tolist()
    assert found.chain_id.tolist() == written.segment[written.residue].tolist()
    np.testing.assert_allclose(found.coord, written.position, atol=5.1e-5)
    np.testing.assert_allclose(pdbx.get_structure(file, model=1).box, np.eye(3) * 62.23, atol=1e-4)


def test_names_with_blanks_are_refused(tmp_path: Path) -> None:
    from tessera.errors import InputError

    written = exported(alanine_tripeptide(), tmp_path)
    written.name[0] = "O H"
    with pytest.raises(InputError, match="BinaryCIF"):
        write_bcif(written, tmp_path / "y.bcif")
