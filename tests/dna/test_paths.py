"""Sequences, and base pairs along paths."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tessera.build.dna import paths
from tessera.build.dna.frames import parameters
from tessera.build.dna.paths import Course
from tessera.build.dna.sequence import complement, read_sequence
from tessera.build.dna.superhelix import superhelix_of
from tessera.errors import InputError
from tessera.system.model import FloatArray


def steps_of(course: Course) -> FloatArray:
    return parameters(course.pairs[:-1], course.pairs[1:])[0]


def test_a_straight_path_has_one_step() -> None:
    assert steps_of(paths.straight(30, 34.0)) == pytest.approx(np.tile([0, 0, 3.4, 0, 0, 34.0], (29, 1)), abs=1e-9)


def test_a_circle_closes_with_whole_turns_of_twist() -> None:
    course = paths.circle(100, 360 / 10.5)
    pairs = course.pairs
    twist = np.append(steps_of(course)[:, 5], parameters(pairs[-1:], pairs[:1])[0][0, 5])
    assert twist == pytest.approx(np.full(100, 36.0), abs=0.01)  # ten turns; a little less about bent axes
    assert np.linalg.norm(np.diff(pairs.origin, axis=0), axis=1) == pytest.approx(np.full(99, 3.4), rel=1e-3)
    found = superhelix_of(pairs.origin)
    assert found is not None
    assert (found.hand, found.diameter) == (None, pytest.approx(340 / np.pi))


def test_the_papers_superhelix_is_measured_outside_the_dna() -> None:
    """With an outer diameter of 106 Å the path has that of 1KX5, 83.5 Å."""
    course = paths.superhelix(147, 28.0, 106.0, 34.5)
    found = superhelix_of(course.pairs.origin)
    assert found is not None
    assert (found.hand, found.pitch, found.diameter) == ("left", pytest.approx(28), pytest.approx(83.5))
    along = np.diff(course.pairs.origin, axis=0)
    assert np.linalg.norm(along, axis=1) == pytest.approx(np.full(146, 3.4), rel=1e-3)
    # The twist about the axis differs from that between frames by the second order of the bend of 4.6°.
    assert steps_of(course)[:, 5] == pytest.approx(np.full(146, 34.5), abs=0.1)


def test_the_nucleosome_is_that_of_1kx5() -> None:
    course = paths.nucleosome(147)
    assert steps_of(course).mean(axis=0) == pytest.approx([0.00, 0.19, 3.31, -0.16, 2.55, 34.63], abs=0.01)
    found = superhelix_of(course.pairs.origin)
    assert found is not None
    assert (found.hand, found.diameter, found.turns) == (
        "left",
        pytest.approx(83.5, abs=0.1),
        pytest.approx(1.85, abs=0.01),
    )
    assert steps_of(paths.nucleosome(21)) == pytest.approx(steps_of(course)[63:83])  # the middle


def test_a_curve_goes_through_its_points(tmp_path: Path) -> None:
    """Points of a superhelix give its base pairs, whatever their distance; commas and comments are understood."""
    angle = np.linspace(0, 9, 40)
    points = np.stack([50 * np.cos(angle), 50 * np.sin(angle), 6 * angle], axis=1)
    file = tmp_path / "points.csv"
    file.write_text("# x, y, z\n" + "\n".join(f"{x}, {y}, {z} # Å" for x, y, z in points) + "\n\n")
    course = paths.curve(100, file, 34.3)
    found = superhelix_of(course.pairs.origin)
    assert found is not None
    assert (found.hand, found.diameter, found.pitch) == (
        "right",
        pytest.approx(100, abs=0.1),
        pytest.approx(12 * np.pi, abs=0.1),
    )
    assert np.linalg.norm(np.diff(course.pairs.origin, axis=0), axis=1) == pytest.approx(np.full(99, 3.4), rel=1e-3)
    assert re.fullmatch(r"the last \d+\.\d Å of the path points.csv have no DNA", course.notes[0])


def test_frames_do_not_turn_about_a_curve_in_a_plane(tmp_path: Path) -> None:
    """Where a path lies in a plane, the sum of twists is that of the frames: the path itself adds none."""
    file = tmp_path / "points.txt"
    file.write_text("\n".join(f"{x} {100 * np.sin(x / 100)} 0" for x in range(0, 400, 20)))
    course = paths.curve(100, file, 34.3)
    assert steps_of(course)[:, 5] == pytest.approx(np.full(99, 34.3), abs=0.1)


def test_the_twist_of_a_file_changes_along_the_path(tmp_path: Path) -> None:
    """From 30° to 36° along 34 Å: each step has the mean of its ends."""
    (tmp_path / "points.txt").write_text("0 0 0 30\n0 0 34 36\n")
    found = steps_of(paths.curve(11, tmp_path / "points.txt", None))[:, 5]
    assert found == pytest.approx(30.3 + 0.6 * np.arange(10), abs=1e-6)
    with pytest.raises(InputError, match=r"points.txt has the twist at each point: leave --twist out"):
        paths.curve(11, tmp_path / "points.txt", 34.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0 0 34\n0 0 90 70\n", r"the twist is \d\d.\d\d° from pair to pair, expected 20 to 50"),
        ("0 0 0 34\n0 0 90\n", "points.txt, line 2: expected a point, three numbers in Å and perhaps a twist, as"),
        ("0 0 0\n0 0 nan\n", "points.txt, line 2: a number of the point '0 0 nan' is not finite"),
        ("0 0 0\n0 0 inf\n", "points.txt, line 2: a number of the point '0 0 inf' is not finite"),
        ("0 0 0\n0 0 1e300\n", "line 2: a number of the point '0 0 1e300' is not finite or beyond"),
        ("0 0 0\n0 0\n", "points.txt, line 2: expected a point, three numbers in Å and .*, found '0 0'"),
        ("0 0 0\n0 0 1_0\n", "line 2: expected a point"),
        ("0 0 0\n# same\n0 0 0\n", "line 3: this point is the one before it"),
        ("0 0 0\n", r"holds 1 point\(s\), expected at least 2"),
        ("0 0 0\n0 0 50\n", r"20 base pairs, which need 64.6 Å, and the path points.txt is 50.0 Å long, enough for 15"),
        (
            "0 0 0\n20 0 0\n20 20 0\n0 20 0\n0 0 0\n",
            r"base pair \d+ of the path points.txt bends about a radius of \d+",
        ),
    ],
)
def test_paths_that_can_not_be_followed_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "points.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        paths.curve(20, tmp_path / "points.txt", None)


def test_shapes_beyond_the_helix_are_refused() -> None:
    with pytest.raises(InputError, match="148 base pairs and the superhelix of 1KX5 147: give --pitch and --diameter"):
        paths.nucleosome(148)
    with pytest.raises(InputError, match=r"a circle of 30 base pairs bends about a radius of 16.2 Å"):
        paths.circle(30, 36)
    with pytest.raises(InputError, match=r"the twist is 80.00° from pair to pair, expected 20 to 50"):
        paths.straight(30, 80)
    with pytest.raises(InputError, match=r"the pitch is 10 Å, and turns of DNA, 22.5 Å thick, would overlap"):
        paths.superhelix(147, 10, 106, 34.3)


def test_a_sequence_is_read(tmp_path: Path) -> None:
    (tmp_path / "dna.fa").write_text(">name of it\nGATT\n\nacag\n")
    assert read_sequence(tmp_path / "dna.fa") == "GATTACAG"
    assert complement("GATTACAG") == "CTGTAATC"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">x\nGATT\nACUG\n", "dna.fa, line 3: base 7 is 'U', expected A, C, G or T"),
        (">x\nGANT\n", "dna.fa, line 2: base 3 is 'N'"),
        (">x\nGATT\n>y\nGATT\n", "dna.fa, line 3: a second sequence begins here"),
        (">x\n", r"holds 0 base\(s\), expected at least 2"),
    ],
)
def test_what_is_no_sequence_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "dna.fa").write_text(text)
    with pytest.raises(InputError, match=message):
        read_sequence(tmp_path / "dna.fa")
