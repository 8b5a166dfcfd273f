"""Contact maps: what is read, how nucleosomes are folded by one, and that a fibre comes to have its contacts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.optimize import check_grad

from tessera.build.fiber import core, folding, maps, placing
from tessera.build.fiber.folding import CUBE, CUTOFF, Folder
from tessera.build.fiber.generate import Request, generate
from tessera.build.fiber.mesoscale import Layout
from tessera.errors import InputError
from tessera.system.model import FloatArray
from tests.support.commands import facts_of, said
from tests.support.inputs import written

HEAD = "# bin: 200\none,other,contacts\n"
LENGTH = 731  # base pairs of four nucleosomes


def test_text_is_read(tmp_path: Path) -> None:
    """Pairs may stand in any order and more than once; a bin's contacts with itself say nothing."""
    path = written(
        tmp_path / "map.csv", HEAD + "400,0,3\n0,200,20\n200,400,30\n0,400,2\n200,200,99\n400,600,10\n600,0,0\n"
    )
    found = maps.read_map(path, LENGTH, None)
    assert found.size == 200
    assert found.shares[0] == pytest.approx([0, 1, 0.25, 0])
    assert found.shares[1] == pytest.approx([1, 0, 1, 0]), "never more than neighbours have"
    assert np.array_equal(found.shares, found.shares.T)
    assert np.stack(found.pairs).T.tolist() == [[0, 2], [0, 3], [1, 3]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("one,other,contacts\n0,200,1\n", "map.csv: no comment says how long a bin is"),
        ("# bin: long\none,other,contacts\n0,200,1\n", "map.csv, line 1: bin is 'long'"),
        ("# bin: 500\none,other,contacts\n0,500,1\n", "map.csv has 2 bins of 500 base pairs for the fibre's 731"),
        (HEAD + "0,150,1\n", "line 3: other is '150', expected the first base pair of a bin of 200, from 0 to 600"),
        (HEAD + "800,0,1\n", "line 3: one is '800'"),
        (HEAD + "0,200,-1\n", "line 3: contacts is '-1', expected a number from 0"),
        (HEAD + "0,200,nan\n", "line 3: contacts is 'nan'"),
        (HEAD + "0,400,1\n", "map.csv has no contacts of neighbouring bins"),
        (HEAD + "0,200,1\n", "map.csv tells nothing"),
        ("# bin: 200\none,other\n0,200\n", "contacts is not there"),
    ],
)
def test_text_that_is_no_map_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        maps.read_map(written(tmp_path / "map.csv", text), LENGTH, None)
    assert says in str(raised.value)


def write_cool(path: Path, *, size: int = 200, bins: int = 10, weights: bool = False) -> None:
    """Writes two chromosomes, as cooler does, whose bins i, j have 1000 / (j - i) contacts, one more in the other."""
    with h5py.File(path, "w") as file:
        file.attrs["bin-size"] = size
        file["chroms/name"] = np.array([b"chr1", b"chr2"])
        one, other = (np.concatenate([ends, ends + bins]) for ends in np.triu_indices(bins))
        file["pixels/bin1_id"], file["pixels/bin2_id"] = one, other
        file["pixels/count"] = (1000 / np.maximum(other - one, 1)).astype(int) + (one >= bins)
        file["indexes/bin1_offset"] = np.searchsorted(one, np.arange(2 * bins + 1))
        file["indexes/chrom_offset"] = np.array([0, bins, 2 * bins])
        file.create_group("bins")
        if weights:
            file["bins/weight"] = np.where(np.arange(2 * bins) == bins + 4, np.nan, np.arange(2 * bins) + 1.0)


def test_a_region_of_a_cool_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "map.cool"
    write_cool(path)
    first = maps.read_map(path, LENGTH, None)
    assert first.shares.shape == (4, 4), "no more bins than the fibre has"
    assert first.shares[0] == pytest.approx([0, 1, 0.5, 0.333])
    second = maps.read_map(path, LENGTH, "chr2:400-1,200")
    assert second.shares[0] == pytest.approx([0, 1, 501 / 1001, 334 / 1001])
    write_cool(path, weights=True)
    balanced = maps.read_map(path, LENGTH, "chr2:400-1200")
    assert balanced.shares[0, 3] == pytest.approx(334 * 13 * 16 / (1001 * 13 * 14))
    assert np.isnan(balanced.shares[2, [0, 1, 3]]).all(), "its bin 4 is masked"
    assert np.stack(balanced.pairs).T.tolist() == [[0, 3], [1, 3]]


@pytest.mark.parametrize(
    ("region", "says"),
    [
        ("chr3:0-1000", "has no chromosome 'chr3': there are 'chr1', 'chr2'"),
        ("chr1", "expected one such as chr8:11500000-11600000"),
        ("chr1:1000-500", "expected one such as"),
        ("chr1:500-1500", "give chr1:400-1500"),
        ("chr1:1600-2600", "chr1:1600-2600 in map.cool has 2 bins of 200 base pairs, and the fibre needs 4"),
        ("chr1:400-1000", "has 3 bins"),
        ("chr1:99999999999999999999-100000000000000000000", "expected one such as"),
    ],
)
def test_regions_without_the_fibre_are_refused(tmp_path: Path, region: str, says: str) -> None:
    path = tmp_path / "map.cool"
    write_cool(path)
    with pytest.raises(InputError) as raised:
        maps.read_map(path, LENGTH, region)
    assert says in str(raised.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "map.cool"
    path.write_text("no HDF5")
    with pytest.raises(InputError, match="is no file of cooler"):
        maps.read_map(path, LENGTH, None)
    with pytest.raises(InputError, match="take one out"):
        maps.read_map(tmp_path / "map.mcool", LENGTH, None)
    with pytest.raises(InputError, match="leave --map-region out"):
        maps.read_map(written(tmp_path / "map.csv", HEAD + "0,200,1\n"), LENGTH, "chr1:0-1000")


def contacts_of(centres: FloatArray, law: str) -> FloatArray:
    """Returns the contacts (n,n) of nucleosomes by the cube of their distances, or of those that are near."""
    r = np.linalg.norm(centres[:, None] - centres, axis=2)
    contacts = np.minimum(1, (200 / np.maximum(r, 1)) ** 3) if law == "cube" else (r < 200).astype(float)
    beside = np.arange(len(centres) - 1)
    contacts[beside, beside + 1] = 1
    return contacts


def write_map(path: Path, centres: FloatArray, law: str) -> Path:
    """Writes the map of nucleosomes with linkers of 48 base pairs, a bin for each."""
    contacts = contacts_of(centres, law)
    rows = [f"{195 * i},{195 * j},{contacts[i, j]}" for i, j in zip(*np.triu_indices(len(centres), 1))]
    path.write_text("\n".join(["# bin: 195", "one,other,contacts", *rows]) + "\n")
    return path


def correlation(centres: FloatArray, others: FloatArray, law: str) -> float:
    """Returns that of both maps, without neighbours."""
    apart = np.triu_indices(len(centres), 2)
    return float(np.corrcoef(contacts_of(centres, law)[apart], contacts_of(others, law)[apart])[0, 1])


@cache
def walk(count: int) -> FloatArray:
    """Returns centres (n,3) 200 Å apart in a sphere, none nearer than 110 Å to another."""
    draws, centres = np.random.default_rng(1), [np.zeros(3)]
    while len(centres) < count:
        step = draws.normal(size=3)
        there = centres[-1] + 200 * step / np.linalg.norm(step)
        if np.linalg.norm(there) < 280 and np.linalg.norm(centres - there, axis=1).min() > 110:
            centres.append(there)
    return np.array(centres)


def folder_of(path: Path, count: int) -> Folder:
    contacts = maps.read_map(path, 195 * count - 48, None)
    return Folder(contacts, (48,) * (count - 1), 147, np.tile([180.0, 220.0], (count - 1, 1)), 340.0)


@pytest.mark.parametrize(("law", "least"), [("cube", 0.98), ("cutoff", 0.9)])
def test_nucleosomes_are_folded_by_a_map(law: str, least: float, tmp_path: Path) -> None:
    """Their own, by the law that it has."""
    folder = folder_of(write_map(tmp_path / "map.csv", walk(16), law), 16)
    centres, found = folder.fold(1)
    assert found.name == law
    assert correlation(walk(16), centres, law) > least
    assert np.linalg.norm(centres, axis=1).max() < 300
    assert np.linalg.norm(np.diff(centres, axis=0), axis=1) == pytest.approx(200, abs=50)
    reached = folder.agreement(centres, found)
    assert reached.correlation > least and reached.beside_separation > least - 0.1
    stranger = folder.agreement(np.random.default_rng(2).permutation(centres), found)
    assert abs(stranger.correlation) < 0.5 and abs(stranger.beside_separation) < 0.5


@pytest.mark.parametrize("law", [CUBE, CUTOFF])
def test_the_pull_on_centres_is_the_slope_of_their_energy(law: folding.Law, tmp_path: Path) -> None:
    folder = folder_of(write_map(tmp_path / "map.csv", walk(8), "cube"), 8)
    energy = folding._Energy(folder)
    centres = 1.3 * np.random.default_rng(1).normal(0, 150, 24)
    shape = (law.power, law.sharpness)
    assert energy(centres, *shape)[0] > 10
    off = check_grad(lambda x: energy(x, *shape)[0], lambda x: energy(x, *shape)[1], centres, epsilon=1e-5)
    assert off < 1e-4 * np.linalg.norm(energy(centres, *shape)[1])


def test_bins_have_their_middles() -> None:
    """Of a nucleosome at its centre; of a linker on the line to the next; of many base pairs in their mean."""
    contacts = maps.ContactMap(49, np.zeros((12, 12)))
    weights = Folder(contacts, (49, 98), 147, np.zeros((2, 2)), 1.0).middles().toarray()
    assert weights[[0, 2, 4]] == pytest.approx(np.eye(3)[[0, 0, 1]])
    assert weights[3] == pytest.approx([0.5, 0.5, 0])
    assert weights[[7, 8]] == pytest.approx(np.array([[0, 0.75, 0.25], [0, 0.25, 0.75]]))
    whole = Folder(maps.ContactMap(1000, np.zeros((1, 1))), (49, 98), 147, np.zeros((2, 2)), 1.0).middles()
    assert whole.toarray().sum() == pytest.approx(1)


def test_too_many_are_refused() -> None:
    with pytest.raises(InputError, match="at most 5,000 nucleosomes, and there are 5,001"):
        Folder(maps.ContactMap(1000, np.zeros((3, 3))), (48,) * 5000, 147, np.zeros((5000, 2)), 1e4)


def test_a_fibre_is_put_on_centres() -> None:
    """Nothing overlaps in the end, and nucleosomes are where they should be within what their anchors leave."""
    centres, layout, own = walk(6), Layout((48,) * 5), core.core(0.15)
    sampled = placing.Placing(centres, layout, own, 0.15, 400.0, 1).first()
    assert sampled is not None and sampled.overlap() == 0
    away = np.linalg.norm(sampled.frames()[layout.cores, 0] - centres, axis=1)
    assert np.sqrt((away**2).mean()) < 50
    assert len(placing.axis(sampled, layout, own)) == 6 * 49 + layout.beads.sum()


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("law", ["cube", "cutoff"])
def test_a_map_of_an_own_globule_is_recovered(law: str, tmp_path: Path) -> None:
    """Two fibres of other seeds have other contacts, unless one has the map of the other."""
    linkers, radius, own = (48,) * 23, 336.0, core.core(0.15)
    first = generate(Request(linkers, 0.15, radius, 100, 1), own).fiber.frames.origin
    other = generate(Request(linkers, 0.15, radius, 100, 2), own).fiber.frames.origin
    assert correlation(first, other, law) < 0.5
    contacts = maps.read_map(write_map(tmp_path / "map.csv", first, law), 195 * 24 - 48, None)
    made = generate(Request(linkers, 0.15, radius, 100, 2, contacts), own)
    assert correlation(first, made.fiber.frames.origin, law) > 0.8
    assert made.agreement is not None and made.agreement.law == law and made.agreement.correlation > 0.8


def test_command(tmp_path: Path) -> None:
    """A fibre that is folded by a map tells how well, and a map that is none is one line."""
    path = write_map(tmp_path / "map.csv", walk(4), "cube")
    words = ["build", "fiber", "--generate", "4", "--linker", "48", "--sweeps", "10", "--map", str(path)]
    found = facts_of(*words, "-o", tmp_path / "fibre.csv")["map"]
    assert found["law"] in ("cube", "cutoff") and found["correlation"] > 0.5
    assert "--map map.csv" in (tmp_path / "fibre.csv").read_text()
    path.write_text(HEAD + "0,100,1\n")
    assert "map.csv, line 3: other is '100'" in said(*words, "-o", tmp_path / "other.csv", status=2)
    assert not (tmp_path / "other.csv").exists()


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text(">some\nACGT\n")
    some = str(tmp_path / "some.csv")
    region = ["--generate", "4", "--linker", "48", "--map-region", "chr1:0-1000", "-o", str(tmp_path / "new.csv")]
    atoms = ["--sequence", some, "--octamer", some, "--toppar", some, "-o", str(tmp_path / "new.tsr")]
    for words, says in ((region, "give --map FILE, too"), ([some, "--map", some, *atoms], "has its places already")):
        assert says in " ".join(said("build", "fiber", *words, status=2).split())
