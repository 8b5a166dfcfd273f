"""What a picture shows of a structure, and what `tessera view` refuses. Pictures are looked at by
slow tests, as VTK is not installed for others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.export.structure import Structure
from tessera.view.scene import scene_of
from tests.support.samples import sample

Atom = tuple[str, int, list[float]]  # name, atomic number, place
Residue = tuple[str, str, list[Atom]]  # name, segment, atoms


def structure(residues: list[Residue]) -> Structure:
    atoms = [(row, *atom) for row, (_, _, own) in enumerate(residues) for atom in own]
    n, objects = len(atoms), lambda values: np.array(values, object)
    return Structure(
        ids=np.arange(n), name=objects([a[1] for a in atoms]), type=objects([""] * n), charge=np.zeros(n),
        mass=np.ones(n), atomic_number=np.array([a[2] for a in atoms], np.int32),
        residue=np.array([a[0] for a in atoms]), residue_name=objects([r[0] for r in residues]),
        residue_number=np.arange(len(residues)), insertion=objects([""] * len(residues)),
        segment=objects([r[1] for r in residues]), chain=objects(["A"] * len(residues)),
        position=np.array([a[3] for a in atoms]), velocity=None, box=None, title="made up",
    )  # fmt: skip


def amino(name: str, segment: str, place: list[float]) -> Residue:
    return name, segment, [("N", 7, [place[0] - 1, *place[1:]]), ("CA", 6, place)]


def globule(segment: str, shift: float, names: str = "A" * 27) -> list[Residue]:
    """Returns 27 residues on a snake through a cube, and a straight tail of 12 behind it."""
    snake = [[x if (y + z) % 2 == 0 else 2 - x, y if z % 2 == 0 else 2 - y, z]
             for z in range(3) for y in range(3) for x in range(3)]  # fmt: skip
    places = np.array(snake) * 3.8 + [shift, 0, 0]
    tail = places[-1] + np.arange(1, 13)[:, None] * [0, 0, 3.8]
    return [amino(name, segment, place) for name, place in zip(names + "T" * 12, [*places.tolist(), *tail.tolist()])]


def base(name: str, segment: str, x: float, y: float, edge: float) -> Residue:
    """Returns a base whose C1' is at (x, y, 0) and whose edge is so far towards its partner."""
    nitrogen: list[Atom] = [("N1" if name in "AG" else "N3", 7, [x, y + edge, 0])]
    nitrogen += [("N9", 7, [x, y, 1])] if name in "AG" else [("N1", 7, [x, y, 1])]
    return name, segment, [("P", 15, [x, y * 1.8, 0]), ("C1'", 6, [x, y, 0]), ("C4'", 6, [x, y * 1.2, 0]), *nitrogen]


def helix(letters: str) -> list[Residue]:
    """Returns two strands side by side, of which each base faces its partner."""
    partner = dict(zip("ACGT", "TGCA"))
    first = [base(letter, "D1", 6.0 * i, -5.35, 3.9) for i, letter in enumerate(letters)]
    second = [base(partner[letter], "D2", 6.0 * i, 5.35, -3.9) for i, letter in enumerate(letters)]
    return first + second[::-1]


def test_proteins_of_equal_sequence_are_alike_and_tails_are_found() -> None:
    scene = scene_of(structure([*globule("P1", 0), *globule("P2", 60), *globule("P3", 120, "G" + "A" * 26)]))
    assert [(one.kind, one.number) for one in scene.backbones] == [("protein", 0), ("protein", 0), ("protein", 1)]
    for one in scene.backbones:
        assert not one.is_tail[4:24].any()
        assert one.is_tail[-9:].all()


def test_a_gap_ends_a_backbone() -> None:
    chain = [amino("ALA", "P", [3.8 * i, 0, 0]) for i in range(6)]
    chain[4:] = [amino("ALA", "P", [3.8 * i + 9, 0, 0]) for i in (4, 5)]
    assert [len(one.points) for one in scene_of(structure(chain)).backbones] == [4, 2]
    other = [amino("ALA", segment, [3.8 * i, 0, 0]) for i, segment in enumerate("PPPQQ")]
    assert [len(one.points) for one in scene_of(structure(other)).backbones] == [3, 2]


def test_bases_that_face_each_other_are_pairs() -> None:
    scene = scene_of(structure(helix("GATTACA")))
    assert [one.kind for one in scene.backbones] == ["nucleic", "nucleic"]
    ends = np.sort(scene.pairs[:, :, 0], axis=0)
    assert np.array_equal(ends[:, 0], 6.0 * np.arange(7))
    assert np.array_equal(scene.pairs[:, 0, 0], scene.pairs[:, 1, 0])
    assert np.allclose(abs(scene.pairs[:, :, 1]), 5.35)


def test_ions_and_calcium_are_no_protein() -> None:
    scene = scene_of(structure([("CAL", "I", [("CA", 20, [3.8 * i, 0, 0])]) for i in range(4)]))
    assert not scene.backbones
    assert scene.atomic_number.tolist() == [20] * 4


def test_atoms_where_they_are_asked_for() -> None:
    molecule = structure(helix("GA"))
    assert len(scene_of(molecule, as_atoms=True).atoms) == molecule.n_atoms
    with pytest.raises(InputError, match="no atom to draw"):
        scene_of(molecule.subset(np.zeros(0, np.int64)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "a.svg"], "a.svg: the ending says no format; expected one of .png"),
        (["-o", "missing/a.png"], "the folder of missing/a.png does not exist"),
        (["-o", "there.png"], "there.png exists; --force replaces it"),
        (["-o", "a.png", "--direction", "0", "0", "0"], "--direction 0 0 0 is no direction"),
        (["-o", "a.png", "--size", "0", "10"], "--size"),
        (["-o", "a.png", "--frame", "0"], "--frame needs the output folder of a run"),
    ],
)
def test_refused(command: Callable[..., tuple[int, str]], tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "there.png").write_text("kept")
    status, found = command("view", sample("tripeptide"), *words)
    assert status == 2
    assert said in found
    assert [path.name for path in tmp_path.iterdir()] == ["there.png"]


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tessera.view.draw import draw

    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(InputError, match=r"pyvista, which is not installed: pip install 'tessera-md\[view\]'"):
        draw(scene_of(structure(helix("GA"))), tmp_path / "a.png", (100, 100), None, "white")
    assert not list(tmp_path.iterdir())
