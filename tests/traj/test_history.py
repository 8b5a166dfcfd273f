"""HISTORY of DL_POLY as an input: what was written comes back in any layout, and messages name the line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.constants import KCAL
from tessera.errors import InputError
from tessera.traj import History, Trajectory
from tests.support.programs import ENGINES, run_program
from tests.traj.samples import BOX, TIMESTEP, numbers, ran, run, write_segment

ATOMS = 12
QUANTITIES = ("positions", "velocities", "forces")
NAMES = [f"A{i % 5}" for i in range(ATOMS)]


def text_of(
    steps: range,
    level: int = 2,
    imcon: int = 3,
    has_time: bool = True,
    order: np.ndarray | None = None,
    word: Callable[[float], str] = "{:20.10f}".format,
    line_end: str = "\n",
    before: str = "",
    has_cells: bool = False,
    title: str = "a title",
) -> str:
    """A HISTORY of frames at these steps, its atoms in some order; `has_cells` although imcon is 0."""
    lines = [title, f"{level:10}{imcon:10}{ATOMS:10}{len(steps):21}{0:21}"]
    for step in steps:
        time = f"{step * TIMESTEP:20.6f}" if has_time else ""
        lines.append(f"timestep{step:10}{ATOMS:10}{level:2}{imcon:2}{TIMESTEP:12.6f}{time}")
        lines += ["".join(f"{one:20.10f}" for one in vector) for vector in BOX] if imcon or has_cells else []
        values = [numbers(step, ATOMS, name).astype(float) for name in QUANTITIES[: level + 1]]
        for row in range(ATOMS) if order is None else order:
            lines.append(f"{NAMES[row]:8}{row + 1:10}{1.5 + row:12.6f}{0.25 * row - 1:12.6f}")
            for name, of_frame in zip(QUANTITIES, values):
                unit = KCAL if name == "forces" else 1.0
                lines.append(before + " ".join(word(number * unit) for number in of_frame[row]))
    return line_end.join([*lines, ""])


def check_frames(found: Trajectory, steps: range, level: int = 2) -> None:
    assert found.steps.tolist() == list(steps) and found.quantities == list(QUANTITIES[: level + 1])
    np.testing.assert_allclose(found.times, np.array(steps) * TIMESTEP, atol=1e-6)
    for step, frame in zip(steps, found):
        for name in QUANTITIES[: level + 1]:
            np.testing.assert_allclose(getattr(frame, name), numbers(step, ATOMS, name), rtol=2e-7, atol=1e-9)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_was_written_comes_back(tmp_path: Path, level: int) -> None:
    steps, names = range(0, 50, 10), QUANTITIES[: level + 1]
    (tmp_path / "HISTORY").write_text(text_of(steps, level))
    write_segment(tmp_path / "first.segments", steps, ATOMS, names)
    facts = ran("info", tmp_path / "HISTORY")
    assert (facts["frames"], facts["atoms"], facts["every"], facts["gaps"]) == (5, ATOMS, 10, 0)
    assert facts["bytes"] == (tmp_path / "HISTORY").stat().st_size and facts["damaged"] == 0
    # To segments and back, without a system: HISTORY has names.
    ran("convert", tmp_path / "HISTORY", "-o", tmp_path / "again.segments")
    again = Trajectory(tmp_path / "again.segments")
    check_frames(again, steps, level)
    for ours, theirs in zip(again, Trajectory(tmp_path / "first.segments"), strict=True):
        np.testing.assert_array_equal(ours.positions, theirs.positions)
        np.testing.assert_allclose(ours.box, theirs.box)
    ran("convert", tmp_path / "HISTORY", "-o", tmp_path / "again.history")
    other = History(tmp_path / "again.history")
    check_frames(other, steps, level)
    one, two = (History(tmp_path / name).structure("") for name in ("HISTORY", "again.history"))
    assert one.name.tolist() == two.name.tolist() == NAMES
    np.testing.assert_array_equal(one.mass, two.mass)
    np.testing.assert_array_equal(one.charge, two.charge)
    ran("combine", tmp_path / "HISTORY", "--select", "name A1", "-o", tmp_path / "some.dcd")
    done = run("combine", tmp_path / "HISTORY", "--select", "bonded name A1", "-o", tmp_path / "none.dcd")
    assert done.exit_code == 2 and "name its file with --system" in done.output


@pytest.mark.parametrize("title", ["", "# salt", "timestep 0 12 0 0", "1.0 2.0 3.0", "2 0 12", "\x0csalt"])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_cells_may_stand_in_frames_that_do_not_repeat(tmp_path: Path, level: int, title: str) -> None:
    steps = range(0, 30, 10)
    text = text_of(steps, level, imcon=0, has_cells=True, title=title)
    (tmp_path / "HISTORY").write_text(text)
    found = History(tmp_path / "HISTORY")
    check_frames(found, steps, level)
    assert not found.periodic and found.damaged == 0 and found.structure("").name.tolist() == NAMES
    cut = text[: text.rindex("timestep")] + "\n".join(text[text.rindex("timestep") :].split("\n")[:3]) + "\n"
    (tmp_path / "HISTORY").write_text(cut)  # in the midst of the cell
    assert (len(History(tmp_path / "HISTORY")), History(tmp_path / "HISTORY").damaged) == (2, 1)


def test_other_readers_agree(tmp_path: Path) -> None:
    mdanalysis = pytest.importorskip("MDAnalysis")
    (tmp_path / "HISTORY").write_text(text_of(range(5, 50, 15)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = mdanalysis.Universe(tmp_path / "HISTORY", topology_format="HISTORY", format="HISTORY")
        for ours, theirs in zip(History(tmp_path / "HISTORY"), universe.trajectory, strict=True):
            np.testing.assert_allclose(ours.positions, theirs.positions, rtol=1e-6)
            np.testing.assert_allclose(ours.velocities, theirs.velocities, rtol=1e-6)
            np.testing.assert_allclose(ours.box, theirs.triclinic_dimensions, rtol=1e-5, atol=1e-4)
    assert universe.atoms.names.tolist() == NAMES


WORDS: list[Callable[[float], str]] = [
    "{:20.10f}".format,
    "{:.12E}".format,
    "{:+.17g}".format,
    lambda number: f"{number:.9e}".replace("e", "D"),
]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_layout(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    level, imcon = data.draw(st.integers(0, 2)), data.draw(st.sampled_from([0, 1, 3]))
    start, every, frames = data.draw(st.integers(0, 10**9)), data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    steps = range(start, start + every * frames, every)
    order = np.array(data.draw(st.permutations(range(ATOMS))))
    # Lines of different lengths: frames are then not where those before let expect them.
    widths = data.draw(st.lists(st.integers(1, 25), min_size=1, max_size=5))
    word = data.draw(st.sampled_from(WORDS))
    count = iter(range(10**9))
    path = tmp_path_factory.mktemp("layout") / "HISTORY"
    path.write_text(
        text_of(
            steps, level, imcon, data.draw(st.booleans()), order,
            lambda number: word(number).rjust(widths[next(count) % len(widths)]),
            data.draw(st.sampled_from(["\n", "\r\n", "   \n"])), data.draw(st.sampled_from(["", " ", "\t"])),
        ),
        newline="",
    )  # fmt: skip
    found = History(path)
    check_frames(found, steps, level)
    assert found.structure("").name.tolist() == NAMES
    assert (found[0].box is None) == (imcon == 0)


def test_files_are_joined_as_runs_are(tmp_path: Path) -> None:
    parts = {"HISTORY": range(0, 50, 10), "HISTORY.2": range(30, 80, 10), "HISTORY.3": range(0, 30, 10)}
    for name, steps in parts.items():
        (tmp_path / name).write_text(text_of(steps, 0))
    facts = ran("combine", *(tmp_path / name for name in parts), "-o", tmp_path / "all.segments")
    assert facts["frames"] == 8 + 3
    found = History([tmp_path / name for name in parts])
    assert found.superseded == 2 and found.steps.tolist() == [*range(0, 80, 10), 0, 10, 20]
    np.testing.assert_allclose(np.diff(found.times), 10 * TIMESTEP, atol=1e-6)
    np.testing.assert_allclose(found[3].positions, numbers(30, ATOMS), rtol=2e-7)
    assert found[2:9:3].steps.tolist() == [20, 50, 0]
    write_segment(tmp_path / "other.segments", range(0, 20, 10), ATOMS)
    done = run("combine", tmp_path / "HISTORY", tmp_path / "other.segments", "-o", tmp_path / "no.dcd")
    assert done.exit_code == 2 and "make segments of it first" in done.output
    (tmp_path / "HISTORY.2").write_text(text_of(range(30, 80, 10), 1))
    done = run("info", tmp_path / "HISTORY", tmp_path / "HISTORY.2")
    assert done.exit_code == 2 and "join files of the same atoms and quantities" in done.output
    done = run("convert", tmp_path / "HISTORY", "-o", tmp_path / "HISTORY", "--force")
    assert done.exit_code == 2 and "is what is read" in done.output


def test_a_file_that_is_cut_anywhere(tmp_path: Path) -> None:
    """Frames are those that were there, and none is read from a part of its numbers."""
    steps, path = range(0, 30, 10), tmp_path / "HISTORY"
    content = text_of(steps, 1).encode()
    ends = [len(text_of(range(0, end, 10), 1)) for end in (0, 10, 20, 30)]
    path.write_bytes(content)
    whole = list(History(path))
    for size in [*range(0, len(content), 7), *(end + more for end in ends for more in (-2, -1, 0, 1) if end)]:
        path.write_bytes(content[:size])
        if size < ends[0]:
            with pytest.raises(InputError, match="HISTORY: ends after line"):
                History(path)
            continue
        found = History(path)
        expected = sum(size >= end for end in ends[1:])
        assert len(found) == expected, size
        n_lines = content[ends[expected] : size].count(b"\n")
        assert found.damaged == (n_lines > 0), size
        for ours, theirs in zip(found, whole):
            np.testing.assert_array_equal(ours.positions, theirs.positions)
    path.write_bytes(content[:-1])
    done = run("convert", path, "-o", tmp_path / "two.dcd")
    assert done.exit_code == 0 and "2 frames" in done.output and "not complete" in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a title\n         2         3", "a title\n         7         3", "line 2: keytrj is 7, expected 0 to 2"),
        ("         3        12", "         3         0", "line 2: has 0 atoms, expected at least 1"),
        ("         3        12", "         3       1x2", 'line 2 has "1x2", expected the keys keytrj and imcon'),
        (
            "timestep         0        12",
            "timestep         0        13",
            "line 3: has 13 atoms, expected 12 as in line 2",
        ),
        ("timestep         0        12 2", "timestep         0        12 1", "line 3: keytrj is 1, expected 2 as in"),
        ("timestep        10", "timestap        10", 'line 55: has "timestap", expected timestep, the step'),
        ("A2               3", "A2               4", "line 19: is of atom 4, expected each of 1 to 12 once"),
        ("A2               3", "A2              99", "line 15: is of atom 99, expected each of 1 to 12 once"),
        ("A2               3", "A2            three", 'line 15 has "three", expected an atom\'s number'),
        ("12 2 3    0.002", "12 2 7    0.002", "imcon is 7 at step 0: only 0 (none) to 3 (parallelepiped)"),
        ("       30.0000000000", "       30.00000abc00", 'line 4 has "30.00000abc00", expected a vector of the cell'),
    ],
)
def test_messages(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = text_of(range(0, 20, 10))
    assert old in text
    (tmp_path / "HISTORY").write_text(text.replace(old, new, 1))
    done = run("convert", tmp_path / "HISTORY", "-o", tmp_path / "out.dcd")
    assert done.exit_code == 2 and message in done.output, done.output
    assert len(done.output.splitlines()) == 1 and not (tmp_path / "out.dcd").exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    assert "HISTORY" in run("info", tmp_path / "HISTORY").output and run("info", tmp_path / "HISTORY").exit_code == 2
    (tmp_path / "HISTORY").write_bytes(np.random.default_rng(1).bytes(5000))
    done = run("info", tmp_path / "HISTORY")
    assert done.exit_code == 2 and len(done.output.splitlines()) == 1
    (tmp_path / "HISTORY").write_text(text_of(range(0)))
    done = run("convert", tmp_path / "HISTORY", "-o", tmp_path / "out.dcd")
    assert done.exit_code == 2 and "there is no frame yet" in done.output


def test_what_write_methods_write(tmp_path: Path) -> None:
    words = [ENGINES / "tessera-io-serial", "write", tmp_path / "HISTORY", "--atoms", "1000", "--format", "history"]
    run_program(words)
    found = History(tmp_path / "HISTORY")
    assert len(found) == 1 and found.n_atoms == 1000 and np.isfinite(found[0].positions).all()
