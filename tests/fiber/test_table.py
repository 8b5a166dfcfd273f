"""Tables of nucleosomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.build.fiber.table import read_table
from tessera.errors import InputError

HEADER = "x,y,z,axis_x,axis_y,axis_z,dyad_x,dyad_y,dyad_z,linker"
ROW = "0,0,0,0,0,1,1,0,0,47"
LAST = ROW[:-2]


def written(folder: Path, *lines: str) -> Path:
    path = folder / "fibre.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path, "# two nucleosomes", "linker, x,y,z,dyad_x,dyad_y,dyad_z,axis_x,axis_y,axis_z",
        "47,1,2,3,0,2,0,0.001,0,5", "", ",1e2,-5,0,1,0,0,0,0,-1",
    )  # fmt: skip
    found = read_table(path)
    assert found.linkers == [47]
    assert found.lines == [3, 5]
    assert found.frames.origin.tolist() == [[1, 2, 3], [100, -5, 0]]
    assert found.frames.rotation[1] == pytest.approx(np.array([[1, 0, 0], [0, -1, 0], [0, 0, -1.0]]))
    assert found.frames.rotation.swapaxes(1, 2) @ found.frames.rotation == pytest.approx(np.tile(np.eye(3), (2, 1, 1)))
    assert np.linalg.det(found.frames.rotation) == pytest.approx([1, 1])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([""], "fibre.csv is empty, expected a first row with the columns x, y, z"),
        (["# only a comment"], "fibre.csv is empty"),
        ([HEADER], "fibre.csv has no nucleosome"),
        ([HEADER + ",w", ROW], "line 1: expected the columns .*, each once; there is 'w'"),
        ([HEADER + ",x", ROW], "line 1: .* each once; there is 'x'"),
        ([HEADER.replace(",linker", ""), ROW], "line 1: .* linker is not there"),
        ([HEADER, ROW[:-3], ROW], "line 2: 9 values, expected 10"),
        ([HEADER, ROW.replace("1,1", "1,nan"), ROW], "line 2: dyad_x is 'nan', expected a number"),
        ([HEADER, ROW.replace("0,0,0,0", "0,1e9,0,0"), ROW], "line 2: y is '1e9', expected a number"),
        ([HEADER, "# one", ROW.replace("0,0,0,0", "0,1_0,0,0"), ROW], "line 3: y is '1_0', expected a number"),
        ([HEADER, ROW.replace("1,1", "0,1"), LAST], "line 2: axis_x, axis_y and axis_z are all 0"),
        ([HEADER, ROW.replace("1,1,0,0", "1,1,0,0.1"), LAST], "line 2: axis and dyad are 84.3° apart"),
        ([HEADER, ROW.replace("47", "0"), ROW], "line 2: linker is '0', expected base pairs, 1 to 10,000"),
        ([HEADER, ROW.replace("47", "4.5"), ROW], "line 2: linker is '4.5'"),
        ([HEADER, ROW, ROW], "line 3: linker is '47', but no nucleosome follows"),
    ],
)
def test_what_is_no_table_is_refused(lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_table(written(tmp_path, *lines))
