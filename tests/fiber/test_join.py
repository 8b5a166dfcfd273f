"""Nucleosomes in a row: where all parts are, and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tessera.build.charmm.chain import Chain
from tessera.build.charmm.topology import Residue
from tessera.build.clashes.report import clashes_of
from tessera.build.dna import paths
from tessera.build.dna.frames import Frames, chained, parameters
from tessera.build.dna.paths import RISE, TWIST
from tessera.build.dna.strands import read_duplex
from tessera.build.fiber.join import build_fiber, joined
from tessera.build.fiber.table import COLUMNS, Nucleosomes
from tessera.build.nucleosome.template import OWN, Template
from tessera.build.nucleosome.wrapped import Wrapped, nucleosome_frame
from tessera.build.protein.model import Proteins
from tessera.errors import InputError
from tessera.system import read
from tests.nucleosome.peptides import toppar_of
from tests.support.charmm import check_energies
from tests.support.commands import facts_of, said
from tests.support.programs import TESSERA, run_program

LENGTH = 147


def small_template() -> Template:
    """Returns 1KX5's DNA with two chains of one bead each, which are linked, in the frame of the nucleosome."""
    course = paths.nucleosome(LENGTH)
    bead = cast(Residue, None)
    beads = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    proteins = Proteins(
        [Chain("PROA", [bead]), Chain("PROB", [bead])], [], beads, np.array([False, True]), beads, [],
    )  # fmt: skip
    first = [{"P": np.full(3, float(row))} for row in range(LENGTH)]
    second = [{"P": np.full(3, float(-row))} for row in range(LENGTH)]
    wrapped = Wrapped("A" * LENGTH, course, (first, second))
    frame = nucleosome_frame(course.pairs, "1kx5")
    return Template(proteins, wrapped, frame, cast(Any, None), cast(Any, None), []).moved(OWN)


def in_a_row(template: Template, linker: Frames) -> tuple[Frames, Frames]:
    """Returns the frames of two nucleosomes whose linker ends where `linker` does, as its first pair sees it."""
    pairs = template.wrapped.course.pairs
    last = pairs[-1]
    end = Frames(last.origin + last.rotation @ linker.origin, last.rotation @ linker.rotation)
    turn = end.rotation @ pairs.rotation[0].T
    return OWN, Frames(end.origin - turn @ pairs.origin[0], turn)


def table_of(frames: tuple[Frames, Frames], linker: int) -> Nucleosomes:
    both = Frames(np.stack([f.origin for f in frames]), np.stack([f.rotation for f in frames]))
    return Nucleosomes(both, [linker], [2, 3], "fibre.csv")


def straight(n: int, twist: float = TWIST, rise: float = RISE) -> Frames:
    return chained(np.tile([0.0, 0.0, rise, 0.0, 0.0, twist], (n + 1, 1)))[-1]


def test_parts_are_in_the_order_of_the_strands() -> None:
    template, n = small_template(), 30
    frames = in_a_row(template, straight(n))
    fiber = joined(template, table_of(frames, n))
    wrapped = fiber.wrapped
    assert wrapped.sequence == "A" * LENGTH + "-" * n + "A" * LENGTH
    steps, _ = parameters(wrapped.course.pairs[:-1], wrapped.course.pairs[1:])
    own, _ = parameters(template.wrapped.course.pairs[:-1], template.wrapped.course.pairs[1:])
    assert steps[: LENGTH - 1] == pytest.approx(own, abs=1e-8)
    assert steps[-LENGTH + 1 :] == pytest.approx(own, abs=1e-8)
    assert steps[LENGTH - 1 : -LENGTH + 1] == pytest.approx(np.tile([0, 0, RISE, 0, 0, TWIST], (n + 1, 1)), abs=1e-3)
    assert wrapped.course.parameters[LENGTH : LENGTH + n].tolist() == np.zeros((n, 6)).tolist()
    rows = [places["P"][0] if places else None for places in wrapped.backbones[0]]
    assert rows == [*range(LENGTH), *[None] * n, *range(LENGTH)]
    rows = [places["P"][0] if places else None for places in wrapped.backbones[1]]
    assert rows == [*range(0, -LENGTH, -1), *[None] * n, *range(0, -LENGTH, -1)]
    assert fiber.dyads(LENGTH) == [0, 73, 73 + LENGTH + n, 2 * LENGTH + n]
    beads = template.proteins.position
    assert fiber.moves[1].placed(beads) == pytest.approx(beads @ frames[1].rotation.T + frames[1].origin, abs=1e-9)
    assert "by 0.00 to 0.00 base pairs, and bending and twisting them costs 0.0 to 0.0 kT" in fiber.notes()[0].replace(
        "-", ""
    )


@pytest.mark.parametrize(
    ("n", "linker", "message"),
    [
        (30, straight(30, rise=4.0), "be stretched to 4.0 Å a pair, expected 3.4 within 10%"),
        (5, straight(5, twist=10.0), "have a twist of .*°, expected 20 to 50"),
        (
            15,
            Frames(np.array([30.0, 0.0, 0.0]), Rotation.from_rotvec([0, np.pi, 0]).as_matrix()),
            "bend about a radius of",
        ),
    ],
)
def test_linkers_that_dna_can_not_follow_are_refused(n: int, linker: Frames, message: str) -> None:
    template = small_template()
    begin = f"fibre.csv, lines 2 and 3: the linker of {n} base pairs would {message}"
    with pytest.raises(InputError, match=begin):
        joined(template, table_of(in_a_row(template, linker), n))


def test_a_sequence_of_another_length_is_refused() -> None:
    template = small_template()
    table = table_of(in_a_row(template, straight(30)), 30)
    message = "the sequence has 323 base pairs and the fibre of fibre.csv 324: 2 nucleosomes of 147 and 30 between them"
    with pytest.raises(InputError, match=message):
        build_fiber(template, table, "A" * 323, cast(Any, None), "")


@dataclass(frozen=True)
class Dinucleosome:
    """Two nucleosomes of 1KX5 with a bent and twisted linker: what `tessera build fiber` said of it, its sequence, the
    file, and the words that built it but for the structure and the output."""

    facts: dict[str, Any]
    sequence: str
    path: Path
    words: list[str | Path]


@pytest.fixture(scope="module", name="dinucleosome")
def _dinucleosome(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Dinucleosome:
    folder, n, template = tmp_path_factory.mktemp("fibre"), 25, small_template()
    bend = Rotation.from_rotvec([0.25, -0.35, 0.0]).as_matrix()
    end = straight(n, TWIST + 10 / n, 0.985 * RISE)
    frames = in_a_row(template, Frames(bend @ end.origin, bend @ bend @ end.rotation))
    rows = [",".join(COLUMNS)]
    for frame, linker in zip(frames, (str(n), "")):
        numbers = [*frame.origin, *frame.rotation[:, 2], *frame.rotation[:, 0]]
        rows.append(",".join([*(f"{number:.6f}" for number in numbers), linker]))
    (folder / "fibre.csv").write_text("\n".join(rows))
    sequence = "".join(np.random.default_rng(1).choice(list("ACGT"), 2 * LENGTH + n))
    (folder / "fibre.fa").write_text(">fibre\n" + sequence)
    words = ["build", "fiber", folder / "fibre.csv", "--sequence", folder / "fibre.fa"]
    words += ["--toppar", *toppar_of(data_folder)]
    path, structure = folder / "fibre.tsr", data_folder / "dna_nucleosome" / "1kx5.pdb"
    return Dinucleosome(built(words, structure, path), sequence, path, words)


def built(words: list[str | Path], structure: Path, output: Path) -> dict[str, Any]:
    return dict(facts_of(*words, "--octamer", structure, "-o", output))


def test_two_nucleosomes_of_1kx5_are_built_and_minimised(dinucleosome: Dinucleosome, tmp_path: Path) -> None:
    """The charge, the sequence and the bonds are right, nothing is in one place, and a minimisation ends."""
    facts, letters, path = dinucleosome.facts, dinucleosome.sequence, dinucleosome.path
    assert facts["atoms"] == 2 * 15826 + 64 * len(letters) - sum(letter in "GC" for letter in letters) - 2
    assert facts["net_charge"] == 2 * 146 - 2 * (len(letters) - 1)
    assert facts["chains"] == {"DNA1": 1, "DNA2": 1}
    system = read(path)
    assert system.segment_name[:2] + system.segment_name[-3:] == ["P1A", "P1B", "P2H", "DNA1", "DNA2"]
    assert read_duplex(path).sequence == letters
    assert clashes_of(path).left == 0
    texts = (re.fullmatch(r"bonds are within ([\d.]+) % and angles within ([\d.]+)° .*", n) for n in facts["notes"])
    stretch, bend = next(map(float, found.groups()) for found in texts if found)
    assert stretch <= 3.0
    assert bend <= 6.0
    words = ["--set", "interactions.electrostatics=shift", "--max-force", "100", "--json"]
    said = run_program([*TESSERA, "minimize", str(path), "-o", str(tmp_path / "minimised.tsr"), *words])
    found = json.loads(said.stdout)
    assert found["converged"]
    assert np.isfinite(list(found["energies"].values())).all()
    assert clashes_of(tmp_path / "minimised.tsr").left == 0


@pytest.mark.slow(part="physics")
def test_a_nucleosome_that_was_built_is_a_template_as_it_is(
    dinucleosome: Dinucleosome, data_folder: Path, tmp_path: Path
) -> None:
    """A fibre of it has the same atoms in the same places, but for what 10⁻⁶ Å become in a minimisation, the same bytes
    each time, and the energies of OpenMM."""
    nucleosome, structure = tmp_path / "nucleosome.tsr", data_folder / "dna_nucleosome" / "1kx5.pdb"
    said("build", "nucleosome", structure, "--toppar", *toppar_of(data_folder), "-o", nucleosome)
    facts = [built(dinucleosome.words, nucleosome, tmp_path / name) for name in ("one.tsr", "two.tsr")]
    assert "atoms of nucleosomes are where nucleosome.tsr has them" in facts[0]["notes"]
    one, two = (tmp_path / name for name in ("one.tsr", "two.tsr"))
    assert one.read_bytes() == two.read_bytes()
    check_energies(one, toppar_of(data_folder), without_pairs=True)
    apart = np.linalg.norm(read(one).positions() - read(dinucleosome.path).positions(), axis=1)
    assert np.quantile(apart, 0.99) < 0.01  # a sugar at the edge of a window was 0.35 Å off
    assert apart.max() < 1
