"""`tessera clashes` finds and mends in files of each format, and changes nothing but coordinates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import overlaps_of
from tessera.system import read, write
from tests.clashes.injected import Injector
from tests.support.commands import called
from tests.support.inputs import dhfr


def run(*words: str | Path, status: int = 0) -> Result:
    done = called("clashes", *words)
    assert done.exit_code == status, done.output
    return done


def facts(*words: str | Path, status: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json", status=status).stdout)
    return found


@pytest.fixture(scope="module")
def clashing(helix_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The helix with two waters on its phosphates, as a PDB with a header and line ends of Windows."""
    structure = read_structure(helix_file)
    made, groups = Injector(structure.molecules, 3).put(2)
    assert len(groups) == 2
    structure.molecules.position[:] = made.position
    path = tmp_path_factory.mktemp("clashing") / "clashing.pdb"
    structure.write(path)
    path.write_bytes(b"REMARK   as it was\r\n" + path.read_bytes().replace(b"\n", b"\r\n"))
    return path


@pytest.fixture(scope="module")
def as_mmcif(clashing: Path) -> Path:
    """The same as mmCIF, with quoted names and columns behind the coordinates."""
    columns = ("group_PDB", "label_atom_id", "label_comp_id", "label_asym_id", "label_seq_id", "Cartn_x", "Cartn_y",
               "Cartn_z", "occupancy")  # fmt: skip
    rows = [line.split() for line in clashing.read_text().splitlines() if line.startswith(("ATOM", "HETATM"))]
    rows = [["HETATM", *row[1:]] if row[0] != "ATOM" else row for row in rows]
    text = [
        f"{r[0]:<6} {chr(34) + r[2] + chr(34):<6} {r[3]} {r[4]} {r[5]:<3} {' '.join(f'{x:<8}' for x in r[6:9])} {r[9]}"
        for r in rows
    ]
    path = clashing.with_suffix(".cif")
    path.write_text("\n".join(["data_x", "loop_", *(f"_atom_site.{name}" for name in columns), *text, "#", ""]))
    return path


def test_clashes_are_listed(clashing: Path) -> None:
    found = facts(clashing, status=75)
    assert (found["left"], found["piercings"], found["knots"]) == (len(found["clashes"]), [], [])
    first = found["clashes"][0]
    assert set(first) == {"atoms", "distance", "turned", "by", "mended"}
    assert (first["turned"], first["by"], first["mended"]) == (None, None, False)
    assert 0 < first["distance"] < 0.9
    printed = run(clashing, status=75).stdout
    assert f"{first['atoms'][0]} and {first['atoms'][1]} are {first['distance']:.2f} Å apart" in printed


@pytest.mark.parametrize("kind", ["pdb", "cif"])
def test_a_file_is_mended_and_stays_as_it_is(clashing: Path, as_mmcif: Path, tmp_path: Path, kind: str) -> None:
    """Only coordinates of the turned groups are other bytes; the mended file has no clash."""
    path, output = clashing if kind == "pdb" else as_mmcif, tmp_path / f"mended.{kind}"
    found = facts(path, "--fix", "-o", output)
    assert found["left"] == 0
    assert all(clash["mended"] and "φ of D" in clash["turned"] and abs(clash["by"]) >= 5 for clash in found["clashes"])
    assert facts(output)["clashes"] == []
    before, after = (file.read_bytes().split(b"\n") for file in (path, output))
    assert len(before) == len(after)
    changed = [(old, new) for old, new in zip(before, after) if old != new]
    assert 2 * 6 >= len(changed) >= 4
    for old, new in changed:
        assert len(old) == len(new)
        if kind == "pdb":
            assert (old[:30], old[54:]) == (new[:30], new[54:])
        else:
            assert [w for k, w in enumerate(old.split()) if k not in (5, 6, 7)] == [
                w for k, w in enumerate(new.split()) if k not in (5, 6, 7)
            ]


def test_mmcif_and_pdb_give_the_same(clashing: Path, as_mmcif: Path) -> None:
    assert facts(clashing, status=75) == facts(as_mmcif, status=75)


def test_a_system_file_in_a_box(tmp_path: Path) -> None:
    """Groups over a face of the box turn as all others; velocities and all else stay."""
    system = dhfr()
    system.velocity = np.random.default_rng(1).normal(size=(system.n_atoms, 3))
    write(system, tmp_path / "plain.tsr")
    structure = read_structure(tmp_path / "plain.tsr")
    made, _ = Injector(structure.molecules, 7, apart=12.0).put(8, 800)
    structure.molecules.position[:] = made.position
    structure.write(tmp_path / "inside.tsr")
    over = read(tmp_path / "inside.tsr")
    face = made.position[overlaps_of(made).pairs[0]].mean(axis=0) @ np.linalg.inv(system.box)  # between two that clash
    over.fraction[:] = (over.fraction - np.rint((face + 0.5) * 2.0**32).astype(np.int64)).astype(np.int32)
    write(over, tmp_path / "over.tsr")
    inside, outside = (
        facts(tmp_path / f"{name}.tsr", "--fix", "-o", tmp_path / f"{name}_mended.tsr") for name in ("inside", "over")
    )
    assert inside == outside
    assert len(inside["clashes"]) >= 8
    named = [atom for clash in inside["clashes"] for atom in clash["atoms"] if " of TIP3 " in atom]
    assert named and not any(" of TIP3 1 in " in atom for atom in named)
    new = read(tmp_path / "over_mended.tsr")
    assert np.array_equal(over.velocity, new.velocity) and np.array_equal(over.box, new.box)
    bonds = system.expand("bond")[0]
    apart = [s.fraction[bonds[:, 0]] - s.fraction[bonds[:, 1]] for s in (over, new)]
    length = [np.linalg.norm(some * 2.0**-32 @ system.box, axis=1) for some in apart]
    assert np.abs(length[0] - length[1]).max() < 1e-3
    assert 0 < (over.fraction != new.fraction).any(axis=1).sum() < 250


def test_what_no_turn_mends_is_named(clashing: Path, tmp_path: Path) -> None:
    lines = clashing.read_text().splitlines()
    waters = [number for number, line in enumerate(lines) if line.startswith("HETATM")][-2:]
    lines[waters[1]] = lines[waters[1]][:30] + lines[waters[0]][30:54] + lines[waters[1]][54:]
    (tmp_path / "two.pdb").write_text("\n".join(lines))
    done = run(tmp_path / "two.pdb", "--fix", "-o", tmp_path / "out.pdb", status=75)
    assert "left:\n  O of HOH 11 in chain W and O of HOH 12 in chain W are 0.00 Å apart\nmended:" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fix"], "--fix needs -o OUT"),
        (["-o", "out.pdb"], "-o is of --fix"),
        (["--fix", "-o", "out.cif"], "out.cif has another kind of name than clashing.pdb"),
        (["--fix", "-o", "out.pdb.gz"], "out.pdb.gz has another kind of name"),
        (["--fix", "-o", "nowhere/out.pdb"], "the folder of nowhere/out.pdb does not exist"),
    ],
)
def test_wrong_options_are_refused(clashing: Path, words: list[str], message: str) -> None:
    assert message in run(clashing, *words, status=2).output


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.xyz", "1\n", "expected a structure as .pdb"),
        ("x.pdb", "REMARK\n", "x.pdb holds no atoms"),
        ("x.pdb", "ATOM      1  CA  ALA A   7         nan   0.000   0.000", "CA of ALA 7 in chain A has coor"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    assert message in run(tmp_path / name, status=2).output


def test_without_openmm_text_files_are_refused(clashing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera.build.clashes import templates

    templates.residues.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "OpenMM, which is not installed" in run(clashing, status=2).output
    templates.residues.cache_clear()
