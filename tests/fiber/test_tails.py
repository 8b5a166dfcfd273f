"""Tails of histones as chains of beads: what they are made of, their files, and atoms along them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial import cKDTree

from tessera.build.charges.tails import HISTONES
from tessera.build.charmm.chain import Chain
from tessera.build.charmm.topology import Atom, Residue
from tessera.build.clashes.report import clashes_of
from tessera.build.dna.frames import Frames
from tessera.build.fiber import core, poses, processes
from tessera.build.fiber.generate import Generated, Request, generate
from tessera.build.fiber.join import guides_of
from tessera.build.fiber.poses import Guides, Tails
from tessera.build.fiber.salt import renormalised
from tessera.build.fiber.tails import DIAMETER, SPRINGS, Beads, beads_of, matched, read_beads, tails_of, write_beads
from tessera.build.nucleosome.template import Template
from tessera.build.protein.model import Proteins
from tessera.build.protein.names import RESIDUES
from tessera.errors import InputError
from tessera.system.model import FloatArray
from tests.fiber.charges import fewer_charges
from tests.fiber.crystal import STRUCTURE, crystal
from tests.fiber.test_join import built, small_template
from tests.fiber.test_settle import NAMES, tail
from tests.nucleosome.peptides import toppar_of
from tests.support.commands import facts_of, said

_BASINS = ((0.45, -65, 145), (0.25, -120, 135), (0.25, -65, -40), (0.05, 57, 40))
_SCATTER = 20.0  # degrees about each


def disordered(n: int, samples: int) -> FloatArray:
    """Returns the Cα's (samples,n,3) Å of peptides with φ and ψ about these basins, and bonds and angles of Engh and
    Huber (1991)."""
    random = np.random.default_rng(1)
    share, phi, psi = np.array(_BASINS).T
    which = random.choice(len(share), size=(samples, n), p=share)
    turns = np.radians(np.stack([phi[which], psi[which]]) + random.normal(0.0, _SCATTER, (2, samples, n)))

    def beyond(a: FloatArray, b: FloatArray, c: FloatArray, r: float, angle: float, turn: FloatArray) -> FloatArray:
        along = (c - b) / np.linalg.norm(c - b, axis=1, keepdims=True)
        normal = np.cross(b - a, along)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        aside = np.cos(turn)[:, None] * np.cross(normal, along) + np.sin(turn)[:, None] * normal
        bend = np.pi - np.radians(angle)
        return np.asarray(c + r * (np.cos(bend) * along + np.sin(bend) * aside))

    nitrogen = np.zeros((samples, 3))
    alpha = nitrogen + np.array([1.458, 0.0, 0.0])
    carbon = alpha + np.array([0.547, 1.424, 0.0])
    found = [alpha]
    for row in range(1, n):
        after = beyond(nitrogen, alpha, carbon, 1.329, 116.6, turns[1, :, row - 1])
        following = beyond(alpha, carbon, after, 1.458, 121.7, np.full(samples, np.pi))
        carbon = beyond(carbon, after, following, 1.525, 111.0, turns[0, :, row])
        nitrogen, alpha = after, following
        found.append(alpha)
    return np.stack(found, axis=1)


def mean(value: object, x0: float, k: float, end: float, power: bool) -> float:
    """Returns the mean of value(x) with the weight of a spring, for lengths or for angles."""

    def weight(x: float) -> float:
        return (x * x if power else np.sin(x)) * np.exp(-k * (x - x0) ** 2 / 2)

    return float(quad(lambda x: value(x) * weight(x), 0, end)[0] / quad(weight, 0, end)[0])  # type: ignore[operator]


def test_springs_are_those_of_a_disordered_peptide() -> None:
    """Lengths of bonds have the same mean and deviation, angles the same cosine, and eight bonds the same size as 40
    residues."""
    beads = disordered(41, 6000)[:, ::5]
    bonds = np.diff(beads, axis=1)
    length = np.linalg.norm(bonds, axis=2)
    turned = ((bonds[:, :-1] * bonds[:, 1:]).sum(axis=2) / length[:, :-1] / length[:, 1:]).mean()
    l0, stretch, angle, bend = SPRINGS
    bond, square = (mean(lambda x, p=p: x**p, l0, stretch, 40.0, True) for p in (1, 2))
    cosine = mean(np.cos, angle, bend, np.pi, False)
    assert bond == pytest.approx(length.mean(), abs=0.05)
    assert np.sqrt(square - bond**2) == pytest.approx(length.std(), abs=0.05)
    assert -cosine == pytest.approx(turned, abs=0.01)
    end = 8 * square + 2 * bond**2 * sum((-cosine) ** (i - j) for i in range(8) for j in range(i))
    found = np.sqrt((np.linalg.norm(beads[:, -1] - beads[:, 0], axis=1) ** 2).mean())
    assert np.sqrt(end) == pytest.approx(found, abs=1.0)
    assert found == pytest.approx(np.sqrt(6) * 1.927 * 40**0.598, abs=2.0)  # Kohn et al. (2004)


@pytest.mark.skipif(not STRUCTURE.is_file(), reason="TESSERA_DATA has no 1KX5")
def test_the_tails_are_those_of_1kx5() -> None:
    """The tables that Tessera has are made of the structure in this way."""
    found = crystal()
    made = core.core(0.2, tails=core.own_tails())
    assert [tail.name for tail in made.tails] == [tail.name for tail, _ in found.tails]
    for own, (residues, beads) in zip(made.tails, found.tails):
        assert own.place == pytest.approx(beads[0], abs=0.006)
        assert own.charges == pytest.approx(np.array(residues.charges) * renormalised(0.2))
    rows = np.flatnonzero((found.charge != 0) & ~found.is_tail)
    expected = fewer_charges(np.column_stack([found.place[rows], found.charge[rows]]), 300)
    assert made.charges == pytest.approx(expected * [1, 1, 1, renormalised(0.2)], abs=0.006)
    spheres = core.spheres_of(found.place[found.is_protein & ~found.is_tail])
    assert made.spheres[-len(spheres) :] == pytest.approx(spheres, abs=0.006)


def test_a_nucleosome_has_50_beads() -> None:
    tails = core.own_tails()
    assert [len(tail.charges) for tail in tails] == [8, 5, 4, 3, 5] * 2
    # H3: 13 of lysine and arginine, and its end
    assert [sum(tail.charges) for tail in tails] == [14, 9, 9, 3, 7] * 2


LINKERS, RADIUS = (48, 40), 230.0


@cache
def made(seed: int = 3) -> tuple[Generated, core.Core]:
    own = core.core(0.15, tails=core.own_tails())
    return generate(Request(LINKERS, 0.15, RADIUS, 10, seed), own), own


def test_beads_keep_apart_and_hang_on_their_nucleosomes() -> None:
    found, own = made()
    frames = found.fiber.frames
    roots = frames.placed(np.array([tail.place for tail in own.tails]))
    first = np.cumsum([0, *(len(tail.charges) for tail in own.tails)])[:-1]
    assert found.beads[:, first] == pytest.approx(roots, abs=1e-6)
    is_first = np.isin(np.arange(50), first)
    free, spheres = found.beads[:, ~is_first].reshape(-1, 3), frames.placed(own.spheres).reshape(-1, 3)
    assert cKDTree(spheres).query(free)[0].min() >= (DIAMETER + core.DIAMETER) / 2 - 1e-6
    one, other = cKDTree(free).query_pairs(DIAMETER - 1e-6, output_type="ndarray").T
    at = np.tile(np.flatnonzero(~is_first), 3) + 50 * np.repeat(np.arange(3), 43 - 3)[: len(free)]
    assert (at[other] - at[one] == 1).all()  # those that a bond joins
    assert np.linalg.norm(found.beads, axis=2).max() <= RADIUS - DIAMETER / 2 + 1e-6


def test_the_seed_decides_where_beads_are() -> None:
    own = made()[1]
    again = generate(Request(LINKERS, 0.15, RADIUS, 10, 3), own)
    assert np.array_equal(again.beads, made()[0].beads)
    assert not np.allclose(generate(Request(LINKERS, 0.15, RADIUS, 10, 4), own).beads, again.beads)


def test_beads_are_read_as_they_were_written(tmp_path: Path) -> None:
    found, own = made()
    file = tmp_path / "fibre.tails.csv"
    write_beads(file, beads_of(own.tails, found.beads, "here"), ["made by a test"])
    read = read_beads(file, 3)
    assert [[tail.name for tail in nucleosome] for nucleosome in read] == [[tail.name for tail in own.tails]] * 3
    places = np.array([np.concatenate([tail.places for tail in nucleosome]) for nucleosome in read])
    assert places == pytest.approx(found.beads, abs=6e-4)
    roots = np.array([tail.place for tail in own.tails])
    assert matched(read[1], found.fiber.frames[1], roots[::-1]) == list(range(10))[::-1]
    with pytest.raises(InputError, match=r"fibre.tails.csv, line \d+: bead 1 of the tail 'H3-A' is .* Å from where"):
        matched(read[1], found.fiber.frames[0], roots)


HEAD = "nucleosome,tail,bead,x,y,z\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("nucleosome,tail,x,y,z\n1,a,1,2,3\n", "expected the columns nucleosome, tail, bead"),
        (HEAD + "1,a,1,0,0,0\n3,a,1,0,0,0\n", "line 3: nucleosome is '3', expected 1 to 2"),
        (HEAD + "x,a,1,0,0,0\n", "line 2: nucleosome is 'x'"),
        (HEAD + "1,a,1,0,0,nan\n", "line 2: z is 'nan', expected a number"),
        (HEAD + "1,a,1,0,0\n", "line 2: 5 values, expected 6"),
        (HEAD + "1,a,1,0,0,0\n1,a,3,0,0,0\n", "line 3: bead is '3', expected 2"),
        (HEAD + "1,a,1,0,0,0\n", "nucleosome 2 has 0 beads in 0 tails, and nucleosome 1 1 beads in 1 tails"),
    ],
)
def test_files_of_beads_that_are_not_understood_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "beads.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_beads(file, 2)


def test_the_command_writes_beads_beside_the_table(tmp_path: Path) -> None:
    words = ["build", "fiber", "--generate", "2", "--linker", "40", "--sweeps", "5", "-o"]
    assert facts_of(*words, tmp_path / "fibre.csv")["tails"] == "fibre.tails.csv"
    assert len(read_beads(tmp_path / "fibre.tails.csv", 2)[1]) == 10
    assert "tails" not in facts_of(*words, tmp_path / "crystal.csv", "--tails", "crystal")
    assert not (tmp_path / "crystal.tails.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--generate", "2", "--linker", "40", "--tails", "fibre.tails.csv", "-o", "new.csv"],
            "expected beads or crystal",
        ),
        (["fibre.csv", "--tails", "beads", "-o", "new.tsr"], "give the file of beads, or --tails crystal"),
        (["fibre.csv", "--tails", "bad.csv", "-o", "new.tsr"], "bad.csv, line 2: nucleosome is '2', expected 1 to 1"),
        (["fibre.csv", "--tails", "none.csv", "-o", "new.tsr"], "none.csv"),
    ],
)
def test_tails_that_can_not_be_are_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fibre.csv").write_text(
        "x,y,z,axis_x,axis_y,axis_z,dyad_x,dyad_y,dyad_z,linker\n0,0,0,0,0,1,1,0,0,\n", encoding="utf-8"
    )
    Path("bad.csv").write_text(HEAD + "2,a,1,0,0,0\n", encoding="utf-8")
    Path("dna.fa").write_text(">dna\n" + "ACG" * 49, encoding="utf-8")
    words = (
        ["--sequence", "dna.fa", "--octamer", "1kx5.pdb", "--toppar", "na.rtf"] if arguments[0] != "--generate" else []
    )
    assert message in " ".join(said("build", "fiber", *arguments, *words, status=2).split())


def octamer_template() -> Template:
    """Returns 1KX5's DNA with histones of a straight backbone each, side by side."""
    atoms = {name: cast(Atom, None) for name in ("N", "CA", "C")}
    kinds = {name: Residue(name, "", False, atoms) for name in RESIDUES.values()}
    chains, places = [], []
    for at, (letter, name) in enumerate(zip("ABCDEFGH", [*HISTONES] * 2)):
        residues = [kinds[RESIDUES[acid]] for acid in HISTONES[name]]
        chains.append(Chain(f"PRO{letter}", residues))
        along = 1.3 * np.arange(3 * len(residues))
        places.append(np.column_stack([along, np.full(len(along), 40.0 * at), np.zeros(len(along))]))
    position = np.concatenate(places)
    proteins = Proteins(chains, [], position, np.zeros(len(position), bool), position, [])
    return replace(small_template(), proteins=proteins)


def test_tails_of_an_octamer_are_found() -> None:
    """They hang at Cα's, are named by histones and chains, and the atoms that are left are not theirs."""
    proteins = octamer_template().proteins
    tails, left = tails_of(proteins, "here")
    names = ["H3-A", "H4-B", "H2A-C", "H2A-C-end", "H2B-D", "H3-E", "H4-F", "H2A-G", "H2A-G-end", "H2B-H"]
    assert [tail.name for tail in tails] == names
    assert [tail.charges for tail in tails] == [tail.charges for tail in core.own_tails()]
    assert len(left) == len(proteins.position) - 3 * 5 * 50
    assert tails[0].place == pytest.approx([1.3 * (3 * 37 + 1), 0, 0])  # residue 38 of H3


def test_guides_are_the_beads_of_the_template_s_tails() -> None:
    """In any order, whatever their names; too few of a tail, or too few tails, are refused."""
    template = octamer_template()
    tails, _ = tails_of(template.proteins, "here")
    moves = [Frames(np.array([9.0, 8.0, 7.0]), np.eye(3))]
    own = [
        Beads(str(at), moves[0].placed(tail.place + np.arange(len(tail.charges))[:, None]), 5, "beads.csv")
        for at, tail in enumerate(tails)
    ]
    found = guides_of(template, moves, [own[::-1]])
    assert len(found.atoms) == 50
    assert found.turning.sum() == 50 * 5 - 10 * 2
    assert found.places[0] == pytest.approx(np.concatenate([tail.places for tail in own]))
    first = np.cumsum([0, *(len(tail.charges) for tail in tails)])[:-1]
    assert moves[0].placed(template.proteins.position[found.atoms[first]]) == pytest.approx(found.places[0][first])
    few = [replace(own[0], places=own[0].places[:5]), *own[1:]]
    with pytest.raises(InputError, match=r"beads\.csv, line 5: the tail '0' has 5 beads, and that of the octamer 8"):
        guides_of(template, moves, [few])
    with pytest.raises(InputError, match=r"beads\.csv: nucleosomes have 9 tails, and the octamer 10"):
        guides_of(template, moves, [own[1:]])


@pytest.mark.slow(part="physics")
def test_tails_of_atoms_follow_beads(data_folder: Path, tmp_path: Path) -> None:
    """In a fibre that was generated, whose atoms are not in one place."""
    words = ["--linker", "40", "--sweeps", "30", "--seed", "2", "-o", str(tmp_path / "fibre.csv")]
    said("build", "fiber", "--generate", "3", *words)
    sequence = "".join(np.random.default_rng(1).choice(list("ACGT"), 3 * 147 + 80))
    (tmp_path / "fibre.fa").write_text(">fibre\n" + sequence, encoding="utf-8")
    more = ["build", "fiber", tmp_path / "fibre.csv", "--tails", tmp_path / "fibre.tails.csv"]
    more += ["--sequence", tmp_path / "fibre.fa", "--toppar", *toppar_of(data_folder)]
    facts = built(more, data_folder / "dna_nucleosome" / "1kx5.pdb", tmp_path / "fibre.tsr")
    text = next(note for note in facts["notes"] if note.startswith("tails of proteins lie"))
    assert float(text.split()[4]) < 15
    assert clashes_of(tmp_path / "fibre.tsr").left == 0


def test_tails_are_led_along_their_beads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A straight tail bends to beads aside, without two atoms in one place, and to the other side where another one has
    its beads there; in any number of processes."""
    proteins = tail(15)
    alpha = np.arange(15) * len(NAMES) + NAMES.index("CA")
    atoms = alpha[[2, 7, 12]]
    root = proteins.position[alpha[12]]
    aside = np.array([[20.0, 0.0, -8.0], [11.0, 0.0, -5.0], [0.0, 0.0, 0.0]])
    moves = [Frames(np.array([200.0 * at, 0.0, 0.0]), np.eye(3)) for at in range(4)]
    beads = np.stack([move.placed(root + aside * [(-1) ** at, 1, 1]) for at, move in enumerate(moves)])
    turning = np.arange(len(proteins.position) // len(NAMES)) < 13
    guides = Guides(atoms, beads, turning)
    position, _ = Tails(proteins, np.zeros((0, 3)), moves, guides=guides).posed(np.zeros((0, 3)))
    straight = np.stack([move.placed(proteins.position) for move in moves])
    assert guides.distance(straight.reshape(-1, 3), len(proteins.position)) > 15
    assert guides.distance(position.reshape(-1, 3), len(proteins.position)) < 4
    assert (np.sign(position[:, atoms[0], 0] - straight[:, atoms[0], 0]) == [1, -1, 1, -1]).all()
    residue = np.arange(position.shape[1]) // len(NAMES)
    for own in position:
        distance = np.linalg.norm(own[:, None] - own, axis=-1)
        assert distance[np.abs(residue[:, None] - residue) > 1].min() > poses._OWN_ROOM - poses._NEARER
    monkeypatch.setattr(processes, "usable_cores", lambda: 1)
    again, _ = Tails(proteins, np.zeros((0, 3)), moves, guides=guides).posed(np.zeros((0, 3)))
    assert np.array_equal(again, position)
