"""Boxes of AMBER's inputs that do not say all of their angles."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import netcdf_file

from tessera.errors import InputError
from tessera.prepare.amber import prepare_amber
from tessera.system.box import lengths_and_angles

REPORTS = Path(__file__).parents[2] / "reports/octahedron"
BETA = 109.471219
OCTAHEDRON = [BETA] * 3


def _topology(folder: Path, ifbox: int, beta: float) -> Path:
    """Writes the prmtop with another shape of its box."""
    text = (REPORTS / "salt.prmtop").read_text()
    head, flag, rest = text.partition("%FLAG POINTERS")
    lines = rest.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("%FORMAT")) + 1 + 2
    words = lines[at].split()
    words[7] = str(ifbox)
    lines[at] = "".join(f"{word:>8}" for word in words)
    text = head + flag + "\n".join(lines) + "\n"
    old = "  1.09471219E+02  2.40000000E+01"
    assert old in text
    path = folder / "salt.prmtop"
    path.write_text(text.replace(old, f"{beta:16.8E}  2.40000000E+01"))
    return path


def _inpcrd(folder: Path, angles: list[float], edges: tuple[float, ...] = (24.0, 24.0, 24.0)) -> Path:
    lines = (REPORTS / "three.inpcrd").read_text().splitlines()[:-1]
    path = folder / "salt.inpcrd"
    path.write_text("\n".join([*lines, "".join(f"{x:12.7f}" for x in (*edges, *angles))]) + "\n")
    return path


def _positions() -> np.ndarray:
    lines = (REPORTS / "three.inpcrd").read_text().splitlines()[2:-1]
    return np.array(" ".join(lines).split(), np.float64).reshape(-1, 3)


def _netcdf(folder: Path, angles: list[float]) -> Path:
    path = folder / "salt.ncrst"
    with netcdf_file(path, "w") as file:
        file.Conventions = b"AMBERRESTART"
        file.createDimension("atom", 80)
        for name in ("spatial", "cell_spatial", "cell_angular"):
            file.createDimension(name, 3)
        file.createVariable("coordinates", "d", ("atom", "spatial"))[:] = _positions()
        file.createVariable("cell_lengths", "d", ("cell_spatial",))[:] = [24.0] * 3
        if angles:
            file.createVariable("cell_angles", "d", ("cell_angular",))[:] = angles
    return path


def _pdb(folder: Path, angles: list[float]) -> Path:
    path = folder / "salt.pdb"
    box = "".join(["CRYST1", *(f"{24.0:9.3f}" for _ in "abc"), *(f"{x:7.2f}" for x in angles)])
    text = (REPORTS / "salt.prmtop").read_text().partition("%FLAG ATOM_NAME")[2].partition("%FLAG")[0]
    names = "".join(text.splitlines()[2:])
    rows = [
        f"ATOM  {i + 1:5d} {names[4 * i : 4 * i + 4]:<4} {'ION':<4} {i + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}"
        for i, (x, y, z) in enumerate(_positions())
    ]
    path.write_text("\n".join([box, *rows, "END"]) + "\n")
    return path


def _angles(prmtop: Path, coordinates: Path) -> list[float]:
    system = prepare_amber(prmtop, coordinates)
    return [float(x) for x in lengths_and_angles(system.box)[3:]]


@pytest.mark.parametrize("write", [_inpcrd, _netcdf, _pdb])
@pytest.mark.parametrize(("ifbox", "beta"), [(2, BETA), (3, BETA), (2, 90.0)])
@pytest.mark.parametrize("angles", [[], [90.0] * 3, OCTAHEDRON])
def test_an_octahedron_is_one(
    write: Callable[[Path, list[float]], Path], ifbox: int, beta: float, angles: list[float], tmp_path: Path
) -> None:
    found = _angles(_topology(tmp_path, ifbox, beta), write(tmp_path, angles))
    assert found == pytest.approx(OCTAHEDRON, abs=0.002 if write is _pdb else 1e-5)


def test_one_angle_after_the_edges_is_that_of_the_octahedron(tmp_path: Path) -> None:
    assert _angles(_topology(tmp_path, 2, BETA), _inpcrd(tmp_path, [BETA])) == pytest.approx(OCTAHEDRON, abs=1e-5)
    assert _angles(_topology(tmp_path, 1, 90.0), _inpcrd(tmp_path, [90.0])) == [90.0] * 3


@pytest.mark.parametrize("angles", [[], [90.0] * 3])
def test_a_rectangular_box_is_one(angles: list[float], tmp_path: Path) -> None:
    assert _angles(_topology(tmp_path, 1, 90.0), _inpcrd(tmp_path, angles, (24.0, 25.0, 26.0))) == [90.0] * 3


@pytest.mark.parametrize("angles", [[], [90.0] * 3, OCTAHEDRON])
def test_edges_that_fill_their_columns(angles: list[float], tmp_path: Path) -> None:
    """Edges from 1000 Å leave no blank between the columns of 12 characters."""
    ifbox, beta = (2, BETA) if angles == OCTAHEDRON else (1, 90.0)
    found = prepare_amber(_topology(tmp_path, ifbox, beta), _inpcrd(tmp_path, angles, (1000.0, 1000.0, 1000.0)))
    expected = [1000.0] * 3 + (angles or [90.0] * 3)
    assert lengths_and_angles(found.box) == pytest.approx(expected, abs=1e-5)


def test_a_box_of_any_shape_has_the_angles_of_its_file(tmp_path: Path) -> None:
    angles = [60.0, 60.0, 90.0]
    assert _angles(_topology(tmp_path, 3, 60.0), _inpcrd(tmp_path, angles)) == pytest.approx(angles)


@pytest.mark.parametrize(
    ("ifbox", "beta", "angles", "edges", "message"),
    [
        (2, BETA, [100.0] * 3, (24.0,) * 3, "has a box with the angles 100, 100, 100°, but salt.prmtop says IFBOX = 2"),
        (2, BETA, [60.0, 60.0, 90.0], (24.0,) * 3, "angles 60, 60, 90°, but salt.prmtop says IFBOX = 2"),
        (2, BETA, [80.0], (24.0,) * 3, "angles 90, 80, 90°, but salt.prmtop says IFBOX = 2"),
        (2, BETA, [], (24.0, 30.0, 36.0), "24 × 30 × 36 Å, but .* a truncated octahedron has equal edges"),
        (1, 90.0, OCTAHEDRON, (24.0,) * 3, "angles 109.471, 109.471, 109.471°, but salt.prmtop says IFBOX = 1"),
        (1, 90.0, [60.0, 60.0, 90.0], (24.0,) * 3, "angles 60, 60, 90°, but salt.prmtop says IFBOX = 1"),
        (3, 60.0, [], (24.0,) * 3, "has no angles of the box, and salt.prmtop says IFBOX = 3 and the angle 60°"),
        (3, 90.0, [], (24.0,) * 3, "has no angles of the box"),
        (3, 60.0, [90.0] * 3, (24.0,) * 3, "angles 90, 90, 90°, but salt.prmtop says IFBOX = 3 and the angle 60°"),
    ],
)
def test_what_contradicts_the_prmtop_is_refused(
    ifbox: int, beta: float, angles: list[float], edges: tuple[float, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        prepare_amber(_topology(tmp_path, ifbox, beta), _inpcrd(tmp_path, angles, edges))
