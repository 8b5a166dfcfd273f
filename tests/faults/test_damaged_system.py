"""A damaged system file is refused in one line, by the engine and by Python; nothing crashes or hangs.

Files of the first version have checksums of everything but the numbers of their datasets. There a flipped bit in a
number gives another system, which is refused only where its values are impossible.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest

from tessera import checked_file
from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.system import read, write
from tests.support.programs import ENGINES, HANGS, ROOT
from tests.support.runs import Runs
from tests.support.samples import changed, edited, sample

NAMES = ["water", "peptide", "first version"]
SETTINGS = ["--set=interactions.cutoff=2.0", "--set=interactions.switch=1.5", "--set=parallel.buffer=0.2"]
CUT = ["--set=interactions.electrostatics=cut"]


def energies(path: Path) -> subprocess.CompletedProcess[str]:
    command = [ENGINES / "tessera-md-serial", "--energy", path, "--json", *SETTINGS, *CUT]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS)


@cache
def small(name: str) -> bytes:
    if name == "first version":
        return (ROOT / "tests" / "data" / "water_version_1.tsr").read_bytes()
    if name == "water":
        path = sample("tripeptide").parent / "small_water.tsr"
        write(make_water(375), path)
        return path.read_bytes()
    return sample("tripeptide").read_bytes()


def raw(path: Path) -> np.ndarray:
    """Returns a mask of the bytes of a file that have no checksum: those of numbers in a file of the first version."""
    is_raw = np.zeros(path.stat().st_size, bool)
    if checked_file.is_checked(path):
        return is_raw

    def mark(_: str, member: object) -> None:
        if isinstance(member, h5py.Dataset) and member.dtype.kind != "O" and member.id.get_offset() is not None:
            begin = member.id.get_offset()
            is_raw[begin : begin + member.id.get_storage_size()] = True

    with h5py.File(path) as file:
        file.visititems(mark)
    return is_raw


def damaged(content: bytes, is_raw: np.ndarray, seed: int) -> tuple[bytes, bool]:
    """Returns a copy with a bit flipped, a byte changed or a block zeroed, mostly outside numbers, and whether numbers
    were hit."""
    random = np.random.default_rng(seed)
    places = np.flatnonzero(is_raw) if seed % 5 == 0 and is_raw.any() else np.flatnonzero(~is_raw)
    at = int(random.choice(places))
    out = bytearray(content)
    length = 1
    if seed % 4 == 3:
        length = int(random.integers(2, 600))
        out[at : at + length] = bytes(len(out[at : at + length]))
    elif seed % 4 == 2:
        out[at] = int(random.integers(256))
    else:
        out[at] ^= 1 << int(random.integers(8))
    return bytes(out), bool(is_raw[at : at + length].any())


def check_damage(name: str, seeds: range, folder: Path) -> None:
    path = folder / "damaged.tsr"
    path.write_bytes(small(name))
    is_raw, good = raw(path), energies(path)
    assert good.returncode == 0, good.stderr
    refused = 0
    for seed in seeds:
        content, hit_numbers = damaged(small(name), is_raw, seed)
        if seed % 7 == 0 and not is_raw.any():
            content = content[: int(len(content) * (seed % 97) / 97)]
        path.write_bytes(content)
        found = energies(path)
        assert found.returncode == 2 or is_raw.any() or content == small(name), seed
        if found.returncode == 2:
            refused += 1
            lines = [line for line in found.stderr.splitlines() if not line.startswith("tessera-md: note:")]
            assert len(lines) == 1 and lines[0].startswith("tessera-md: error:"), (seed, found.stderr)
        elif found.returncode == 3:
            assert hit_numbers, (seed, found.stderr)
        else:
            assert found.returncode == 0, (seed, found.returncode, found.stderr)
            assert hit_numbers or found.stdout == good.stdout, seed
    assert refused > len(seeds) // 4


@pytest.mark.parametrize("name", NAMES)
def test_bits_that_flip(tmp_path: Path, name: str) -> None:
    check_damage(name, range(120), tmp_path)


@pytest.mark.slow(part="fuzz")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", range(10))
def test_many_bits_that_flip(tmp_path: Path, name: str, part: int) -> None:
    check_damage(name, range(1000 + 500 * part, 1500 + 500 * part), tmp_path)


READ_ALL = """
import sys
from tessera import InputError
from tessera.system import read
for path in sys.argv[1:]:
    try:
        read(path)
        print(path, "read", flush=True)
    except InputError as error:
        assert len(str(error).splitlines()) == 1, error
        print(path, "refused", flush=True)
"""


def check_reading(name: str, seeds: range, folder: Path) -> None:
    (folder / "good.tsr").write_bytes(small(name))
    is_raw, paths = raw(folder / "good.tsr"), []
    for seed in seeds:
        paths.append(folder / f"{seed}.tsr")
        paths[-1].write_bytes(damaged(small(name), is_raw, seed)[0])
    found = subprocess.run([sys.executable, "-c", READ_ALL, *paths], capture_output=True, text=True, timeout=HANGS)
    assert found.returncode == 0, (found.stdout.splitlines()[-1:], found.stderr[-2000:])
    if not is_raw.any():
        same = [str(path) for path in paths if path.read_bytes() == small(name)]
        assert [line.split()[0] for line in found.stdout.splitlines() if line.endswith("read")] == same


@pytest.mark.parametrize("name", NAMES)
def test_python_reads_or_refuses(tmp_path: Path, name: str) -> None:
    check_reading(name, range(120), tmp_path)


@pytest.mark.slow(part="fuzz")
@pytest.mark.parametrize("part", range(10))
def test_python_reads_or_refuses_many(tmp_path: Path, part: int) -> None:
    check_reading("peptide", range(1000 + 500 * part, 1500 + 500 * part), tmp_path)


def test_a_link_that_cannot_be_read_is_not_absent(tmp_path: Path) -> None:
    """One wrong bit in the group of a template once lost its dihedrals without an error."""
    content = small("peptide")
    at = content.index(b"dihedral")
    path = tmp_path / "bit.tsr"
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    checked_file.seal(path)
    found = energies(path)
    assert found.returncode == 2 and "bit.tsr" in found.stderr, found.stderr
    with pytest.raises(InputError):
        read(path)


def external_link(file: h5py.File) -> str:
    file.move("box", "hidden")
    del file["hidden"]
    file["box"] = h5py.ExternalLink("other.h5", "/box")
    return "/box is a link"


def soft_link(file: h5py.File) -> str:
    del file["forcefield/angle"]
    file["forcefield/angle"] = h5py.SoftLink("/forcefield/bond")
    return "/forcefield/angle is a link"


def external_storage(file: h5py.File) -> str:
    del file["box"]
    file.create_dataset("box", shape=(3, 3), dtype="f8", external=[("numbers.bin", 0, 72)])
    return "/box keeps its numbers in another file"


def virtual(file: h5py.File) -> str:
    del file["box"]
    layout = h5py.VirtualLayout((3, 3), "f8")
    layout[...] = h5py.VirtualSource("other.h5", "box", (3, 3))
    file.create_virtual_dataset("box", layout)
    return "/box keeps its numbers in another file"


def other_filter(file: h5py.File) -> str:
    box = file["box"][...]
    del file["box"]
    file.create_dataset("box", data=box, chunks=True, compression="lzf")
    return "/box is packed by filter 32000"


def unknown_dataset(file: h5py.File) -> str:
    file["forcefield/drude"] = np.zeros(3)
    return "/forcefield/drude"


def unknown_group(file: h5py.File) -> str:
    file.create_group("templates/0/shell")
    return "/templates/0/shell"


def missing(file: h5py.File) -> str:
    del file["templates/0/dihedral/atoms"], file["templates/0/dihedral/parameter"], file["templates/0/dihedral"]
    return "groups and datasets, expected"


CHANGES = [external_link, soft_link, external_storage, virtual, other_filter, unknown_dataset, unknown_group, missing]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_not_the_files_own(tmp_path: Path, change: Callable[[h5py.File], str]) -> None:
    path = tmp_path / "changed.tsr"
    path.write_bytes(small("peptide"))
    box = changed("tripeptide").box
    box.tofile(tmp_path / "numbers.bin")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["box"] = box
    with edited(path) as file:
        words = change(file)
    found = energies(path)
    assert found.returncode == 2 and words in found.stderr, found.stderr
    assert len(found.stderr.splitlines()) == 1
    with pytest.raises(InputError, match=words):
        read(path)


def test_packed_by_hdf5_itself(runs: Runs, tmp_path: Path) -> None:
    """A system file whose arrays another program has packed is read with the same content."""
    path = tmp_path / "packed.tsr"
    path.write_bytes(small("peptide"))
    good = energies(path)
    with edited(path) as file:
        fraction = file["coordinates/fraction"][...]
        del file["coordinates/fraction"]
        file.create_dataset("coordinates/fraction", data=fraction, compression="gzip", shuffle=True, fletcher32=True)
    assert energies(path).stdout == good.stdout
    np.testing.assert_array_equal(read(path).box, changed("tripeptide").box)
