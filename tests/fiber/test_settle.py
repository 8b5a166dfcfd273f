"""Fibres that settle: tails out of each other's way, windows in any order, starts by letters."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from tessera.build.charmm.chain import Chain
from tessera.build.charmm.topology import Atom, Residue
from tessera.build.clashes.report import clashes_of
from tessera.build.dna.frames import Frames
from tessera.build.fiber import poses, processes
from tessera.build.fiber.letters import Letters
from tessera.build.fiber.poses import Tails
from tessera.build.fiber.settle import Settler, Strands, _Settled
from tessera.build.fiber.table import COLUMNS
from tessera.build.nucleosome.template import OWN
from tessera.build.protein.model import Proteins
from tessera.errors import InputError
from tests.fiber.test_join import built, in_a_row, small_template, straight
from tests.nucleosome.peptides import toppar_of

NAMES = ("N", "HN", "CA", "HA", "C", "O")


def tail(n: int) -> Proteins:
    """Returns a chain of n residues of a backbone that stands up from a globule of others."""
    residue = Residue("GLY", "", False, {name: cast(Atom, None) for name in NAMES})
    local = np.array([[0, 0, 0], [-0.9, 0, 0.3], [1.2, 0, 0.9], [1.9, 0.8, 0.7], [0.5, 0, 2.3], [-0.7, 0, 2.5]])
    up = np.concatenate([local + np.array([0.0, 0.0, 3.6 * row]) for row in range(n)])
    layers, rows = np.arange(3), (0.0, 5.0, -5.0)
    core = np.concatenate([local + np.array([x, y, 3.6 * n + 5 * z]) for z in layers for x in rows for y in rows])
    place = np.concatenate([up, core])
    chain = Chain("PROA", [residue] * (len(place) // len(NAMES)))
    return Proteins([chain], [], place, np.zeros(len(place), bool), place, [])


def test_tails_turn_out_of_the_way_of_what_they_meet() -> None:
    """Of two that meet one turns, its residues are as they were in themselves, and it meets nothing then."""
    proteins, none = tail(8), np.zeros((0, 3))
    far = Frames(np.array([300.0, 0, 0]), np.eye(3))
    upside = Frames(np.array([0.5, 0.5, 8.0]), np.diag([1.0, -1.0, -1.0]))
    own = Frames(np.zeros(3), np.eye(3))
    assert Tails(proteins, none, [own, far]).posed(none)[1] == 0
    before = np.stack([own.placed(proteins.position), upside.placed(proteins.position)])
    assert least(before) < 3.0
    after, turned = Tails(proteins, none, [own, upside]).posed(none)
    assert turned == 1
    assert least(after) >= 3.0
    moved = np.abs(after - before).max(axis=(1, 2)) > 0.01
    assert moved.tolist() == [True, False]
    for atoms in (slice(2, 6), slice(8, 12)):  # of one residue, what no φ or ψ changes
        shape = [
            np.linalg.norm(places[atoms][[0, 0]] - places[atoms][[1, 2]], axis=1) for places in (before[0], after[0])
        ]
        assert shape[1] == pytest.approx(shape[0], abs=1e-9)
    again, _ = Tails(proteins, none, [own, upside]).posed(none)
    assert (again == after).all()
    linker = before[0][:1] + 0.5
    assert Tails(proteins, none, [own, far]).posed(linker)[1] == 1


def test_tails_with_hydrogen_bonds_in_themselves_turn_too() -> None:
    """What has no room as a template has it, as hydrogens in these bonds, may have none in a pose; but as much."""
    proteins, none = tail(20), np.zeros((0, 3))
    amide, carbonyl = (proteins.position[NAMES.index(name) : 20 * len(NAMES) : len(NAMES)] for name in ("HN", "O"))
    amide[2:] = carbonyl[:-2] - np.array([1.5, 0.0, 0.0])
    moves = [Frames(np.zeros(3), np.eye(3)), Frames(np.array([300.0, 0, 0]), np.eye(3))]
    tails = Tails(proteins, none, moves)
    assert tails.posed(proteins.position[:1] + 0.5)[1] == 1
    (found,) = tails._tails
    assert len(found.poses) == poses._POSES
    residue = np.arange(found.poses.shape[1]) // len(NAMES)
    for pose in found.poses[1:]:
        distance, before = (np.linalg.norm(at[:, None] - at, axis=-1) for at in (pose, found.poses[0]))
        is_apart = residue[:, None] != residue
        assert (distance[is_apart] >= np.minimum(poses._OWN_ROOM, before[is_apart]) - poses._NEARER).all()


def test_tails_that_keep_dna_from_closing_turn_away() -> None:
    """Only those of the residues that are named, each attempt into another pose, which meets nothing."""
    proteins = tail(8)
    moves = [Frames(np.array([far, 0.0, 0.0]), np.eye(3)) for far in (0.0, 300.0)]
    tails = Tails(proteins, np.zeros((0, 3)), moves)
    fibre = np.concatenate([move.placed(proteins.position) for move in moves])
    n, own = len(fibre), slice(0, 8 * len(NAMES))
    fibre = np.concatenate([fibre, fibre[len(NAMES) : 4 * len(NAMES)] + 0.7])
    before = fibre.copy()
    found = []
    for attempt in range(2):
        assert tails.turn(fibre, {1, 2}, attempt) == 1
        assert (fibre[own] != before[own]).any()
        assert (np.delete(fibre, np.arange(own.stop), axis=0) == before[own.stop :]).all()
        assert cKDTree(fibre[n:]).query(fibre[own])[0].min() >= poses._CLOSE
        found.append(fibre[own].copy())
    assert (found[0] != found[1]).any()
    assert tails.turn(fibre, {8, 9}, 0) == 0  # of the globular part


def test_tails_turn_bond_by_bond_where_no_pose_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of DNA that goes through them; they keep their own room."""
    monkeypatch.setattr(poses, "_POSES", 1)  # the template's
    proteins = tail(8)
    moves = [Frames(np.array([far, 0.0, 0.0]), np.eye(3)) for far in (0.0, 300.0)]
    fibre = np.concatenate([move.placed(proteins.position) for move in moves])
    own, n = slice(0, 8 * len(NAMES)), len(fibre)
    fibre = np.concatenate([fibre, [[at, 0.4, 8.0] for at in np.arange(-12.0, 12.0)]])
    before = fibre.copy()
    assert Tails(proteins, np.zeros((0, 3)), moves).turn(fibre, {2}, 0) == 1
    assert cKDTree(before[n:]).query(before[own])[0].min() < 1.0
    assert cKDTree(fibre[n:]).query(fibre[own])[0].min() >= poses._OWN_ROOM
    assert (fibre[own.stop :] == before[own.stop :]).all()
    residue = np.arange(own.stop) // len(NAMES)
    apart = np.linalg.norm(fibre[own][:, None] - fibre[own], axis=-1)[abs(residue[:, None] - residue) > 1]
    assert apart.min() >= poses._OWN_ROOM - poses._NEARER


class Threaded(Settler):
    """Nucleosomes of one tail each, and atoms beside them, each a residue; all are near each other."""

    def __init__(self, proteins: Proteins, moves: list[Frames], beside: np.ndarray) -> None:
        self.position = np.concatenate([*(move.placed(proteins.position) for move in moves), beside])
        n = len(moves) * len(proteins.position)
        residue = np.concatenate([np.arange(n) // len(NAMES), n + 2 * np.arange(len(beside))])
        is_heavy = np.array([not name.startswith("H") for name in NAMES] * (n // len(NAMES)) + [True] * len(beside))
        self._tails, self._is_heavy = Tails(proteins, np.zeros((0, 3)), moves), [is_heavy]
        every = np.arange(len(self.position))
        self._cutter = cast(
            Any,
            SimpleNamespace(
                atoms_of=lambda near: every[near], residues_of=lambda near: residue[near],
                spread=lambda values, near: values[0][near],
            ),
        )  # fmt: skip

    def _near(self, points: np.ndarray, own: np.ndarray, reach: float) -> np.ndarray:
        return np.arange(len(self.position))

    def _spheres(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((0, 3)), np.zeros(0)


def test_tails_that_go_through_others_turn_away() -> None:
    """What is left of them is counted: a tail that is walled in stays."""
    proteins = tail(8)
    moves = [Frames(np.array([far, 0.0, 0.0]), np.eye(3)) for far in (0.0, 300.0)]
    through = np.array([[at, 0.4, 8.0] for at in np.arange(-12.0, 12.0)])
    free = Threaded(proteins, moves, through + np.array([40.0, 0.0, 0.0]))
    before = free.position.copy()
    assert free._clear() == (0, 0) and (free.position == before).all()
    met = Threaded(proteins, moves, through)
    own = met._tails.atoms()
    assert own.shape == (2, 7 * len(NAMES))
    assert [bool(met._through(rows)) for rows in own] == [True, False]
    assert met._clear() == (1, 0)
    assert [bool(met._through(rows)) for rows in own] == [False, False]
    grid = np.arange(-32.0, 32.0, 1.4)
    wall = np.array(np.meshgrid(grid, grid, np.arange(-12.0, 60.0, 1.4))).reshape(3, -1).T
    assert Threaded(proteins, moves, wall)._clear() == (5, 1)


class Turning(Settler):
    """A window whose tail turns by 1 Å each time, and of which `outcomes` say what comes of it."""

    def __init__(self, outcomes: list[_Settled]) -> None:
        self.position, self._tails, self.outcomes = np.zeros((4, 3)), cast(Any, self), iter(outcomes)

    def turn(self, position: np.ndarray, residues: set[int], attempt: int) -> int:
        position += 1
        return len(residues)

    def _settle(self, window: int) -> _Settled:
        return next(self.outcomes)


def test_tails_that_clash_after_all_turn_until_they_do_not() -> None:
    clash, good, fault = _Settled(in_the_way={3}), _Settled(), _Settled(fault="a bond", in_the_way={3, 4})
    turning = Turning([clash, fault, good])
    assert turning._settle_anew(0, clash) == (good, 2) and (turning.position == 3).all()
    turning = Turning([clash, fault, clash, fault, fault])
    assert turning._settle_anew(0, clash) == (clash, 0) and (turning.position == 0).all()  # as it was
    with pytest.raises(InputError, match="a bond"):
        Turning([clash] * 5)._settle_anew(0, fault)


class OnALine(Settler):
    """A fibre of residues of one atom each, `places` Å along a line, of which the last is DNA."""

    def __init__(self, places: list[float]) -> None:
        self.position, n = np.array(places)[:, None] * [1.0, 0.0, 0.0], len(places)
        self._residues = cast(Any, SimpleNamespace(first_nucleotide=n - 1))


def test_what_may_move_sees_what_it_may_meet() -> None:
    """Residues within 8 Å of DNA may move, and those within 5 Å of these are there and stay."""
    atoms = np.arange(6)
    is_kept, may_move = OnALine([5.8, 9.3, 12.5, 17.6, 30.0, 0.0])._window(atoms, atoms, atoms == 5)
    assert is_kept.tolist() == [True, True, False, False, False, True]
    assert may_move.tolist() == [True, False, False, False, False, False]


def least(places: np.ndarray) -> float:
    """Returns the least distance between heavy atoms of two nucleosomes, Å."""
    heavy = np.array([not name.startswith("H") for name in NAMES * (places.shape[1] // len(NAMES))])
    one, other = places[:, heavy]
    return float(np.linalg.norm(one[:, None] - other, axis=-1).min())


def test_turns_of_tails_keep_bonds_and_handedness() -> None:
    place = np.random.default_rng(3).normal(size=(5, 3))
    turned = place.copy()
    poses._rotate(turned, poses._Turn(0, 1, np.array([2, 3])), 0.7)
    axis = (place[1] - place[0]) / np.linalg.norm(place[1] - place[0])
    expected = Rotation.from_rotvec(0.7 * axis).apply(place[2:4] - place[0]) + place[0]
    assert turned[2:4] == pytest.approx(expected)
    assert (turned[[0, 1, 4]] == place[[0, 1, 4]]).all()


def test_windows_of_a_group_are_apart() -> None:
    """Neighbours are never in one group, nor are windows that come near in space, and each window is in one group."""
    cuts = [0, 40, 80, 120, 160, 200]
    axis = np.zeros((200, 3))
    axis[:, 2] = 3.4 * np.arange(200)
    axis[160:] = axis[:40] + np.array([50.0, 0, 0])  # the last comes back to the first
    groups = Strands("A" * 200, np.zeros(200, bool), np.zeros(200, bool), cuts, axis).turns()
    assert sorted(at for group in groups for at in group) == [0, 1, 2, 3, 4]
    group_of = {at: number for number, group in enumerate(groups) for at in group}
    assert group_of[0] != group_of[4]
    assert all(group_of[at] != group_of[at + 1] for at in range(4))
    assert group_of[0] == group_of[2]


def test_places_settled_with_a_letter_begin_with_it() -> None:
    def strand(name: str) -> list[Any]:
        return [{"P": f"{name}{row}"} for row in range(3)]

    letters = Letters(["ACG", "CGT"], [(strand("a"), strand("b")), (strand("c"), strand("d"))])
    first, second = letters.worn("CCA")
    assert [own["P"] for own in first] == ["c0", "a1", "a2"]
    assert [own["P"] for own in second] == ["b0", "b1", "d2"]


def test_work_of_processes_comes_in_order_and_tells_what_was_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    values = processes.shared(np.zeros(8))

    def work(at: int) -> int:
        if at == 7:
            raise InputError("seven")
        values[at] = at
        return at * at

    for cores in (1, 2, 3):
        monkeypatch.setattr(processes, "usable_cores", lambda count=cores: count)
        values[:] = 0
        with processes.workers(work, 8) as done:
            assert list(done(range(3))) == [0, 1, 4]
            assert list(done(range(3, 7))) == [9, 16, 25, 36]
        assert values.tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
        with pytest.raises(InputError, match="seven"), processes.workers(work, 8) as done:
            list(done(range(8)))


def test_a_process_that_is_killed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "usable_cores", lambda: 2)
    with (
        pytest.raises(InputError, match="a process of the build was killed"),
        processes.workers(lambda _: os.kill(os.getpid(), signal.SIGKILL), 8) as done,
    ):
        list(done(range(8)))


@pytest.mark.slow(part="physics")
def test_atoms_are_the_same_in_any_number_of_processes(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six nucleosomes in a row with straight linkers, which turn the planes of the nucleosomes."""
    count, n, template = 6, 40, small_template()
    frames = [OWN]
    for _ in range(count - 1):
        _, after = in_a_row(template, straight(n))
        frames.append(
            Frames(frames[-1].origin + frames[-1].rotation @ after.origin, frames[-1].rotation @ after.rotation)
        )
    rows = [",".join(COLUMNS)]
    for at, frame in enumerate(frames):
        numbers = [*frame.origin, *frame.rotation[:, 2], *frame.rotation[:, 0]]
        rows.append(",".join([*(f"{number:.6f}" for number in numbers), str(n) if at < count - 1 else ""]))
    (tmp_path / "fibre.csv").write_text("\n".join(rows))
    letters = np.random.default_rng(2).choice(list("ACGT"), count * 147 + (count - 1) * n)
    (tmp_path / "fibre.fa").write_text(">fibre\n" + "".join(letters))
    words = ["build", "fiber", tmp_path / "fibre.csv", "--sequence", tmp_path / "fibre.fa",
             "--toppar", *toppar_of(data_folder)]  # fmt: skip
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(processes, "usable_cores", lambda cores=cores: cores)
        output = tmp_path / f"{cores}.tsr"
        built(words, data_folder / "dna_nucleosome" / "1kx5.pdb", output)
        found.append(output.read_bytes())
    assert found[0] == found[1]
    assert clashes_of(tmp_path / "1.tsr").left == 0
