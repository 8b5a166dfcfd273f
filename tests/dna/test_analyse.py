"""`tessera build analyse` finds the parameters of double helices, and refuses what is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tessera.build.dna.analyse import analyse
from tessera.build.dna.superhelix import superhelix_of
from tessera.errors import InputError
from tests.dna.helices import SEQUENCE, helix, pdb_lines
from tests.support.commands import facts_of, said


def written(folder: Path, lines: list[str]) -> Path:
    (folder / "dna.pdb").write_text("\n".join(lines) + "\n")
    return folder / "dna.pdb"


def whole() -> list[str]:
    _, pairs, frames = helix()
    return pdb_lines(SEQUENCE, frames, pairs)


def test_parameters_come_back_through_a_pdb(tmp_path: Path) -> None:
    """Three digits of coordinates leave 0.01 Å and 0.1°."""
    steps, pairs, frames = helix()
    found = analyse(written(tmp_path, pdb_lines(SEQUENCE, frames, pairs)))
    assert found.sequence == SEQUENCE
    for values, expected in ((found.steps, steps), (found.pairs, pairs)):
        assert values[:, :3] == pytest.approx(expected[:, :3], abs=0.01)
        assert values[:, 3:] == pytest.approx(expected[:, 3:], abs=0.1)


def test_mmcif_and_pdb_give_the_same(tmp_path: Path) -> None:
    lines = [line for line in whole() if line.startswith("ATOM")]
    names = (
        "group_PDB",
        "auth_atom_id",
        "auth_comp_id",
        "auth_asym_id",
        "auth_seq_id",
        "Cartn_x",
        "Cartn_y",
        "Cartn_z",
    )
    rows = [line.split() for line in lines]
    text = [f'{r[0]} "{r[2]}" {r[3]} {r[4]} {r[5]} {r[6]} {r[7]} {r[8]}' for r in rows]
    (tmp_path / "dna.cif").write_text("\n".join(["data_x", "loop_", *(f"_atom_site.{n}" for n in names), *text, "#"]))
    found, other = analyse(tmp_path / "dna.cif"), analyse(written(tmp_path, whole()))
    assert np.array_equal(found.steps, other.steps)
    assert np.array_equal(found.pairs, other.pairs)


def test_strands_of_one_chain_end_at_ter(tmp_path: Path) -> None:
    """Some programs write no names of chains; the phosphate at a 5' end is not joined to the other strand."""
    lines = whole()
    second = lines.index("TER") + 1
    lines.insert(second, lines[second][:12] + " P  " + lines[second][16:])
    blank = [line[:21] + " " + line[22:] for line in lines]
    assert analyse(written(tmp_path, blank)).sequence == SEQUENCE
    with pytest.raises(InputError, match=r"broken between DC 12 of chain \(blank\) and DG 1 of chain \(blank\)"):
        analyse(written(tmp_path, [line for line in blank if not line.startswith("TER")]))


def test_the_nucleosome_1kx5(data_folder: Path) -> None:
    """Means, twist and superhelix of 1KX5 (Davey et al. 2002) as measured independently."""
    path = data_folder / "dna_nucleosome" / "1kx5.pdb"
    facts = facts_of("build", "analyse", path)
    assert np.mean(facts["steps"], axis=0) == pytest.approx([0.00, 0.19, 3.31, -0.16, 2.55, 34.63], abs=0.005)
    assert np.sum(facts["steps"], axis=0)[5] / 360 == pytest.approx(14.04, abs=0.005)
    assert np.shape(facts["pairs"]) == (147, 6)
    found = facts["superhelix"]
    assert found["hand"] == "left"
    assert found["diameter"] == pytest.approx(83.5, abs=0.1)
    assert found["pitch"] == pytest.approx(25.9, abs=0.1)
    assert found["turns"] == pytest.approx(1.85, abs=0.01)
    assert "left-handed" in said("build", "analyse", path)


@pytest.mark.parametrize(("climb", "hand"), [(1.5, "right"), (-1.5, "left"), (0.0, None)])
def test_a_superhelix_is_found_from_its_points(climb: float, hand: str | None) -> None:
    angle = np.linspace(0, 8, 60)
    turned, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    turned *= np.linalg.det(turned)
    path = np.stack([40 * np.cos(angle), 40 * np.sin(angle), climb * angle], axis=1) @ turned + [5, 6, 7]
    found = superhelix_of(path)
    assert found is not None
    assert (found.hand, found.diameter) == (hand, pytest.approx(80))
    assert found.pitch == pytest.approx(abs(climb) * 2 * np.pi, abs=1e-5)
    assert found.turns == pytest.approx(8 / (2 * np.pi))
    assert superhelix_of(np.arange(90.0).reshape(-1, 3)) is None  # straight


def test_wobble_is_no_superhelix() -> None:
    """Pairs off a straight axis wind about it once in ten pairs."""
    angle = np.radians(36) * np.arange(40)
    assert superhelix_of(np.stack([3 * np.cos(angle), 3 * np.sin(angle), 3.4 * np.arange(40)], axis=1)) is None


def without(name: str, residue: int) -> Callable[[list[str]], list[str]]:
    return lambda lines: [
        line for line in lines if not (line[12:16].strip() == name and line[22:26] == f"{residue:4d}")
    ]


REFUSED = {
    "unknown residue": (
        lambda lines: [line.replace(" DA I   2", "5CM I   2") for line in lines],
        r"dna.pdb, line \d+: the residue 5CM 2 of chain I is not known; expected",
    ),
    "rna": (
        lambda lines: [*lines[:3], lines[0].replace("C1'", "O2'"), *lines[3:]],
        r"dna.pdb, line 1: DG 1 of chain I has O2' and is RNA",
    ),
    "base": (without("C8", 2), "DA 2 of chain I lacks C8, an atom of its base"),
    "broken": (
        lambda lines: [line for line in lines if line[21:26] != "I   5"],
        r"line \d+: the chain is broken between DT 4 of chain I and DC 6 of chain I: O3' and P are \d+",
    ),
    "numbers": (
        lambda lines: [lines[0], lines[1][:30] + "     nan" + lines[1][38:], *lines[2:]],
        "line 1: DG 1 of chain I has coordinates that are not finite",
    ),
    "no place": (
        lambda lines: [lines[0], lines[1][:30] + "   1e300" + lines[1][38:], *lines[2:]],
        "line 1: DG 1 of chain I has coordinates that are not finite or beyond",
    ),
    "one strand": (lambda lines: lines[: lines.index("TER")], "no two of its 12 nucleotides form a pair"),
    "nothing": (lambda lines: [line.replace(" C1'", " CA ") for line in lines], "dna.pdb holds no nucleotides"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_double_helix_is_refused(case: str, tmp_path: Path) -> None:
    change, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        analyse(written(tmp_path, change(whole())))


def test_the_command_ends_with_status_2(tmp_path: Path) -> None:
    assert "structure not found" in said("build", "analyse", tmp_path / "none.pdb", status=2)
