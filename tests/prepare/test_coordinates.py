"""Every format of coordinates gives what was written, damaged files are refused, and other kinds of file are named."""

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

from tessera.errors import InputError
from tessera.prepare.coordinates import Coordinates, read_coordinates
from tests.prepare.mutations import damaged, outcome, same, without_lines
from tests.support.inputs import SMALL

PDB = SMALL / "ala_ala_ala.pdb"
ATOMS = 7
AMBER_PS = 20.455


def some_atoms(n: int = ATOMS) -> Coordinates:
    """Returns positions with ten decimals, velocities and a rectangular box."""
    random = np.random.default_rng(5)
    names = np.array([f"C{i + 1}" for i in range(n)], "S8")
    position = random.uniform(-30, 30, (n, 3)).round(10)
    found = Coordinates(position, np.diag([40.0, 41.0, 42.0]), random.normal(size=(n, 3)).round(4))
    return found.label(names, np.array(["1"] * n, "S8"))


def gro(atoms: Coordinates, decimals: int = 3, velocities: bool = True) -> str:
    assert atoms.name is not None and atoms.velocity is not None and atoms.box is not None
    width = decimals + 5
    lines = ["a title, t= 0.00000", f"{len(atoms.position):5d}"]
    for i, (name, x, v) in enumerate(zip(atoms.name, atoms.position / 10, atoms.velocity / 10)):
        line = f"{1:5d}{'RES':<5s}{name.decode():>5s}{i + 1:5d}" + "".join(f"{u:{width}.{decimals}f}" for u in x)
        lines.append(line + "".join(f"{u:{width}.{decimals + 1}f}" for u in v) * velocities)
    return "\n".join([*lines, "".join(f"{edge / 10:10.5f}" for edge in np.diag(atoms.box)), ""])


def g96(atoms: Coordinates) -> str:
    assert atoms.name is not None and atoms.velocity is not None and atoms.box is not None
    labels = [f"{1:5d} {'RES':<5s} {n.decode():<5s}{i + 1:7d}" for i, n in enumerate(atoms.name)]
    lines = ["TITLE", "POSITION of things", "END"]
    for block, values in (("POSITION", atoms.position), ("VELOCITY", atoms.velocity)):
        rows = [label + "".join(f"{u / 10:15.9f}" for u in row) for label, row in zip(labels, values)]
        lines += [block, *rows, "END"]
    return "\n".join([*lines, "BOX", "".join(f"{e / 10:15.9f}" for e in np.diag(atoms.box)), "END", ""])


def inpcrd(atoms: Coordinates, velocities: bool = True, box: bool = True) -> str:
    assert atoms.velocity is not None and atoms.box is not None
    lines = ["a title", f"{len(atoms.position):6d}  1.0000000E+00"]
    for values in [atoms.position, atoms.velocity / AMBER_PS][: 1 + velocities]:
        flat = values.reshape(-1)
        lines += ["".join(f"{u:12.7f}" for u in flat[i : i + 6]) for i in range(0, len(flat), 6)]
    lines += ["".join(f"{u:12.7f}" for u in [*np.diag(atoms.box), 90, 90, 90])] * box
    return "\n".join([*lines, ""])


def crd(atoms: Coordinates, extended: bool = False) -> str:
    assert atoms.name is not None
    lines = ["* A TITLE", "*", f"{len(atoms.position):10d}  EXT" if extended else f"{len(atoms.position):5d}"]
    for i, (name, x) in enumerate(zip(atoms.name, atoms.position)):
        if extended:
            xyz = "".join(f"{u:20.10f}" for u in x)
            lines.append(f"{i + 1:10d}{1:10d}  {'RES':<8s}  {name.decode():<8s}{xyz}  {'SEG':<8s}  {'1':<8s}{0:20.10f}")
        else:
            xyz = "".join(f"{u:10.5f}" for u in x)
            lines.append(f"{i + 1:5d}{1:5d} {'RES':<4s} {name.decode():<4s}{xyz} {'SEG':<4s} {'1':<4s}{0:10.5f}")
    return "\n".join([*lines, ""])


def mmcif(atoms: Coordinates) -> str:
    assert atoms.name is not None and atoms.box is not None
    cell = [f"_cell.length_{axis} {edge}" for axis, edge in zip("abc", np.diag(atoms.box))]
    columns = [
        "group_PDB",
        "id",
        "label_atom_id",
        "label_seq_id",
        "Cartn_x",
        "Cartn_y",
        "Cartn_z",
        "pdbx_PDB_model_num",
    ]
    rows = [
        f'ATOM {i} "{name.decode()}\'" 1 {x:.10f} {y:.10f} {z:.10f} {model}'
        for model in (1, 2)
        for i, (name, (x, y, z)) in enumerate(zip(atoms.name, atoms.position + model - 1), start=1)
    ]
    head = ["data_X", *cell, "_cell.angle_alpha 90", "#", "loop_", *(f"_atom_site.{c}" for c in columns)]
    return "\n".join([*head, *rows, "#", ""])


@pytest.mark.parametrize(
    ("name", "write", "error"),
    [
        ("a.gro", gro, 5e-3),
        ("a.gro", lambda atoms: gro(atoms, 3, False), 5e-3),
        ("a.gro", lambda atoms: gro(atoms, 9), 5e-9),
        ("a.g96", g96, 5e-9),
        ("a.crd", crd, 5e-6),
        ("a.cor", lambda atoms: crd(atoms, True), 1e-12),
        ("a.crd", inpcrd, 5e-8),  # AMBER users give it this name
        ("a.inpcrd", inpcrd, 5e-8),
        ("a.rst7", lambda atoms: inpcrd(atoms, False), 5e-8),
        ("a.rst7", lambda atoms: inpcrd(atoms, True, False), 5e-8),
        ("inpcrd", inpcrd, 5e-8),
        ("run.restart2", crd, 5e-6),
        ("a.cif", mmcif, 1e-12),
    ],
)
@pytest.mark.parametrize("atoms", [ATOMS, 8])
def test_what_was_written_is_read(
    tmp_path: Path, name: str, write: Callable[[Coordinates], str], error: float, atoms: int
) -> None:
    written = some_atoms(atoms)
    path = tmp_path / name
    text = write(written)
    path.write_text(text)
    found = read_coordinates(path)
    assert np.abs(found.position - written.position).max() < 1.01 * error
    if found.velocity is not None:
        assert np.abs(found.velocity - written.velocity).max() < 6e-4
    if found.box is not None:
        assert np.array_equal(found.box, written.box)
    if found.name is not None:
        assert [n.strip(b" '") for n in found.name] == written.name.tolist()  # type: ignore[union-attr]
    path.write_text(text.replace("\n", "\r\n"))
    assert same(read_coordinates(path), found)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert same(read_coordinates(packed), found)


@pytest.mark.parametrize("title", ["*****", "* a star", "REST of it", "CDF of energies", "TESTCORD", "12"])
def test_an_amber_restart_has_any_title(tmp_path: Path, title: str) -> None:
    path = tmp_path / "a.inpcrd"
    lines = inpcrd(some_atoms()).splitlines()
    path.write_text("\n".join([title, *lines[1:], ""]))
    plain = tmp_path / "b.inpcrd"
    plain.write_text("\n".join(["a title", *lines[1:], ""]))
    assert same(read_coordinates(path), read_coordinates(plain))


def test_an_atom_in_other_columns_is_named_with_those_expected(tmp_path: Path) -> None:
    path = tmp_path / "a.gro"
    lines = gro(some_atoms()).splitlines()
    for line, found in ((lines[3] + "0", "69 characters"), (lines[3].replace(".", " ", 1), "no point there")):
        path.write_text("\n".join([*lines[:3], line, *lines[4:], ""]))
        with pytest.raises(InputError, match=f"line 4: .*68 characters with .* columns 25, 33, 41; found {found}"):
            read_coordinates(path)


def test_a_first_atom_of_another_width_is_told_what_is_expected(tmp_path: Path) -> None:
    lines = gro(some_atoms()).splitlines()
    lines[2] += "0"
    (tmp_path / "a.gro").write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match=r"line 3: .* 44 characters in all or 68 with velocities; found 69"):
        read_coordinates(tmp_path / "a.gro")


def test_first_frame_of_several(tmp_path: Path) -> None:
    first, second = some_atoms(), some_atoms(8)
    for name, text in (("a.gro", gro(first)), ("a.g96", g96(first))):
        path = tmp_path / name
        path.write_text(text * 2)
        assert np.abs(read_coordinates(path).position - first.position).max() < 6e-3
    (tmp_path / "a.gro").write_text(gro(first) + gro(second))
    with pytest.raises(InputError, match=r"a.gro, line 11: expected nothing after the box of 7 atoms"):
        read_coordinates(tmp_path / "a.gro")


def test_amber_netcdf(tmp_path: Path) -> None:
    atoms = some_atoms()
    assert atoms.velocity is not None and atoms.box is not None
    values = {
        "coordinates": atoms.position,
        "velocities": atoms.velocity / AMBER_PS,
        "cell_lengths": np.diag(atoms.box),
        "cell_angles": np.full(3, 90.0),
    }
    for convention, message in ((b"AMBERRESTART", None), (b"AMBER", "AMBER NetCDF trajectory"), (b"CF", "'CF'")):
        classic, hdf5 = io.BytesIO(), io.BytesIO()
        with netcdf_file(classic, "w") as file:
            file.Conventions = convention
            file.createDimension("atom", ATOMS), file.createDimension("spatial", 3)
            for name, array in values.items():
                dimensions = ("atom", "spatial")[2 - array.ndim :]
                file.createVariable(name, "d", dimensions)[:] = array
            file.flush()
            content = classic.getvalue()
        with h5py.File(hdf5, "w") as file:
            file.attrs["Conventions"] = convention
            for name, array in values.items():
                file[name] = array
        for data in (content, hdf5.getvalue()):
            path = tmp_path / "a.nc"
            path.write_bytes(data)
            if message:
                with pytest.raises(InputError, match=message):
                    read_coordinates(path)
                continue
            found = read_coordinates(path)
            assert np.array_equal(found.position, atoms.position) and np.array_equal(found.box, atoms.box)
            assert found.velocity == pytest.approx(atoms.velocity)
            for cut in (10, len(data) // 2, len(data) - 30):
                path.write_bytes(data[:cut])
                with pytest.raises(InputError, match=r"a\.nc"):
                    read_coordinates(path)


GZIPPED = gzip.compress(b"ATOM\n" * 100, mtime=0)  # names of tests hold it, and may not hold the time


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.vel", b"\x07\0\0\0" + bytes(168), "holds NAMD's velocities and no coordinates"),
        ("a.dcd", b"T\0\0\0CORD" + bytes(80), "is a DCD trajectory"),
        ("a.xtc", b"\x00\x00\x07\xcb" + bytes(80), "is a GROMACS XTC trajectory"),
        ("a.crd", b"title\n" + b"  12.345" * 10 + b"\n", "is an AMBER text trajectory"),
        ("a.mdcrd", b"title\n" + b"  12.345-100.123" * 5 + b"\n", "is an AMBER text trajectory"),
        ("a.rst", b"REST     0     1\n\n", "is a CHARMM restart"),
        ("a.crd", b"hello\nworld\n", "line 2: expected a CHARMM coordinate file .* or an AMBER restart"),
        ("a.crd", b"* title\n*\n", "line 3: expected the number of atoms, found ''"),
        ("a.crd", b"* title\n*\n    5\n", "line 3: announces 5 atoms, and 0 lines follow"),
        ("a.pdb", b"HEADER\n", "holds no atoms"),
        ("a.pdb", b"ATOM      1  N   ALA X   1       x.xxx   0.000\n", "line 1: expected a number in columns 31 to 38"),
        ("a.pdb", bz2.compress(b"ATOM"), "is compressed by bzip2: expand it first"),
        ("a.pdb", GZIPPED[:-20], "compressed by gzip and is truncated"),
        ("a.pdb", GZIPPED.replace(b"\xff", b"\0")[:20] + bytes(20), "compressed by gzip and is"),
        ("a.pdb", gzip.compress(bytes(1 << 28), mtime=0), "expands to more than .* MiB"),
        ("a.gro", b"title\n3\nline\n", "is truncated: 3 atoms need 6 lines, and it has 3"),
        ("a.gro", b"title\nline\n", "line 2: expected the number of atoms, found 'line'"),
        ("a.cif", b"data_x\n", "it has no _atom_site loop"),
        ("a.g96", b"TITLE\nx\nEND\nPOSITION\n", "block POSITION has no END"),
        ("a.coor", b"\x07\0\0\0" + bytes(100), "announces 7 atoms, which need 172 bytes, and has 104"),
        ("a.coor", b"\x07", "announces 0 atoms"),
        ("a.inpcrd", b"title\n     2\n" + b" 123.1234567" * 5 + b"\n", "line 3: expected 6 numbers in columns of 12"),
        ("a.inpcrd", b"t\n     2\n" + b" 123.1234567" * 5 + b"************\n", r"columns 61 to 72, found '\*{12}'"),
        ("a.rst7", b"title\n" + b"9" * 5000 + b"\n", "line 2: expected a CHARMM coordinate file"),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_coordinates(path)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def files() -> dict[str, str]:
    odd, even = some_atoms(), some_atoms(8)
    return {
        "odd.inpcrd": inpcrd(odd),
        "even.inpcrd": inpcrd(even),
        "without_velocities.rst7": inpcrd(even, False),
        "without_box.rst7": inpcrd(odd, True, False),
        "a.gro": gro(odd),
        "a.g96": g96(even),
        "a.crd": crd(even),
        "extended.crd": crd(odd, True),
        "a.pdb": PDB.read_text(),
        "a.cif": mmcif(odd),
    }


@pytest.mark.parametrize("name", files())
def test_lines_missing_or_twice(tmp_path: Path, name: str) -> None:
    """Such a file is refused, or gives the same, or the same without the box. Where a format has no number of atoms, it
    may give fewer; the topology's number then shows it."""
    text = files()[name]
    whole = outcome(tmp_path / name, text, read_coordinates)
    counted = not name.endswith((".pdb", ".cif", ".g96"))
    for what, mutant in without_lines(text):
        found = outcome(tmp_path / name, mutant, read_coordinates)
        if found is None or same(found, whole):
            continue
        if not counted and len(found.position) != len(whole.position):
            continue
        if found.box is None and np.array_equal(found.position, whole.position):
            continue
        pytest.fail(f"{name} {what}: read as another")


@pytest.mark.parametrize("name", files())
@pytest.mark.parametrize("count", [60, pytest.param(5_000, marks=pytest.mark.slow(part="fuzz"))])
def test_damage_is_one_message_at_most(tmp_path: Path, name: str, count: int) -> None:
    text = files()[name]
    refused = sum(outcome(tmp_path / name, mutant, read_coordinates) is None for _, mutant in damaged(text, count))
    assert refused > count // 20


def test_real_files_are_read_as_mdanalysis_reads_them(data_folder: Path) -> None:
    mda = pytest.importorskip("MDAnalysis")
    for path, decimals in (
        (data_folder / "apoa1" / "charmm" / "apoa1.pdb", 3),
        (data_folder / "apoa1" / "gromacs" / "apoa1_merge.gro", 2),
        (data_folder / "dhfr" / "openmm_amber" / "5dfr_solv-cube_equil.pdb", 3),
    ):
        found = read_coordinates(path)
        universe = mda.Universe(str(path), topology_format=path.suffix[1:], to_guess=())
        assert np.array_equal(found.position.round(decimals), universe.atoms.positions.astype(float).round(decimals))
        assert found.name is not None and [n.decode().strip() for n in found.name] == universe.atoms.names.tolist()
