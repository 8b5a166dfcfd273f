"""A damaged system file is refused in one line, by the engine and by Python; nothing crashes or hangs."""

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
from tests.support.checkpoints import damaged
from tests.support.programs import ENGINES, run_program
from tests.support.samples import changed, edited, sample

NAMES = ["water", "peptide"]
SETTINGS = ["--set=interactions.cutoff=2.0", "--set=interactions.switch=1.5", "--set=parallel.buffer=0.2"]
CUT = ["--set=interactions.electrostatics=cut"]


def energies(path: Path) -> subprocess.CompletedProcess[str]:
    command = [ENGINES / "tessera-md-serial", "--energy", path, "--json", *SETTINGS, *CUT]
    return run_program(command, check=False)


@cache
def small(name: str) -> bytes:
    if name == "water":
        path = sample("tripeptide").parent / "small_water.tsr"
        write(make_water(375), path)
        return path.read_bytes()
    return sample("tripeptide").read_bytes()


def check_damage(name: str, seeds: range, folder: Path) -> None:
    path = folder / "damaged.tsr"
    for seed in seeds:
        content = damaged(small(name), seed)
        if content == small(name):
            continue
        path.write_bytes(content)
        found = energies(path)
        assert found.returncode == 2, (seed, found.returncode, found.stderr)
        lines = [line for line in found.stderr.splitlines() if not line.startswith("tessera-md: note:")]
        assert len(lines) == 1 and lines[0].startswith("tessera-md: error:"), (seed, found.stderr)


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
    paths = []
    for seed in seeds:
        paths.append(folder / f"{seed}.tsr")
        paths[-1].write_bytes(damaged(small(name), seed))
    found = run_program([sys.executable, "-c", READ_ALL, *paths])
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


def test_packed_by_hdf5_itself(tmp_path: Path) -> None:
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
