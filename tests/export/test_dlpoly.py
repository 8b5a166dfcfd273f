"""A CONFIG or REVCON is what `prepare dlpoly` reads, by every method and on any ranks the same bytes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.export import dlpoly
from tessera.export.configuration import Configuration
from tessera.export.files import check_outputs, write_all
from tessera.prepare.dlpoly.config import read_config
from tessera.ranks import Ranks
from tessera.system import System, write
from tessera.way import Way
from tests.support.programs import TESSERA, run_program

pytest.importorskip("tessera._ranks_serial", reason="the Python modules are not built")
METHODS = ("auto", "pdaw", "sdaw", "mpiw-independent", "mpiw-collective")


@pytest.fixture(scope="module")
def water() -> System:
    system = make_water(300)
    system = dataclasses.replace(system, box=np.diag([20.0, 20.0, 20.0]))
    velocity = np.random.default_rng(1).normal(0, 5, (system.n_atoms, 3))
    return dataclasses.replace(system, velocity=velocity)


def written(system: System, output: Path, way: Way = Way(), select: str | None = None) -> Path:  # noqa: B008
    check_outputs([output], False)
    moment = Configuration(system, Path("water.tsr"), 20, 0.04, timestep=0.002)
    structure, (file,) = write_all(moment, [output], select, False, lambda _: None, way=way)
    assert file.format == "CONFIG of DL_POLY"
    found = read_config(output)
    np.testing.assert_allclose(found.position, structure.position, rtol=6e-10, atol=1e-10)
    if system.periodic:
        np.testing.assert_allclose(found.box, system.box, rtol=0, atol=6e-11)
    assert [name.decode() for name in found.name] == structure.name.tolist()
    assert (found.velocity is None) == (structure.velocity is None)
    if structure.velocity is not None:
        np.testing.assert_allclose(found.velocity, structure.velocity, rtol=6e-10, atol=1e-10)
    return output


def second_line(path: Path) -> list[str]:
    return path.read_text().splitlines()[1].split()


@pytest.mark.parametrize("name", ["CONFIG", "REVCON", "water.config", "water.REVCON"])
def test_what_is_read_is_what_was_written(water: System, tmp_path: Path, name: str) -> None:
    path = written(water, tmp_path / name)
    level, imcon, n_atoms, step, timestep, time = second_line(path)
    assert (level, imcon, n_atoms, step) == ("1", "1", "300", "20")
    assert (float(timestep), float(time)) == (0.002, 0.04)
    assert all(len(line) == 72 for line in path.read_text().splitlines())


def test_shapes_of_boxes_and_parts_of_systems(water: System, tmp_path: Path) -> None:
    at_rest = dataclasses.replace(water, velocity=None)
    assert second_line(written(at_rest, tmp_path / "rest.config"))[:2] == ["0", "1"]
    ones = np.tril(np.ones((3, 3)), -1)
    for imcon, box in (
        ("2", water.box * np.diag([1, 1, 2.0])),
        ("2", water.box * np.diag([1, 1, 1 + 1e-6])),  # a cube is one exactly, as in a run's HISTORY
        ("3", water.box + ones),
        ("3", water.box + 1e-10 * ones),
    ):
        path = written(dataclasses.replace(water, box=box), tmp_path / "box.config")
        assert second_line(path)[1] == imcon
        path.unlink()
    assert second_line(written(dataclasses.replace(water, periodic=False), tmp_path / "free.config"))[1] == "0"
    assert second_line(written(water, tmp_path / "some.config", select="name H1"))[2] == "100"


def test_methods_write_the_same_bytes(water: System, tmp_path: Path) -> None:
    ways = [Way(method, batch=batch) for method in METHODS for batch in (0, 7)]
    files = [written(water, tmp_path / f"{i}.config", way).read_bytes() for i, way in enumerate(ways)]
    assert len(set(files)) == 1


def test_what_can_not_be_is_refused(water: System, tmp_path: Path) -> None:
    for method, words in (("segments", "no write method"), ("sdaw-printf", "there are pdaw"), ("pdwa", 'mean "pdaw"')):
        with pytest.raises(InputError, match=words):
            written(water, tmp_path / "CONFIG", Way(method))
    (kind,) = water.templates
    long = dataclasses.replace(kind, atom_name=["ninechars", "H1", "H2"])
    with pytest.raises(InputError, match="8 columns for atom names"):
        written(dataclasses.replace(water, templates=[long]), tmp_path / "CONFIG")
    with pytest.raises(InputError, match="or the name CONFIG or REVCON"):
        check_outputs([tmp_path / "config"], False)
    assert not list(tmp_path.iterdir())


@pytest.mark.mpi
@pytest.mark.parametrize(("mpi", "ranks", "method"), [("openmpi", 3, "mpiw-collective"), ("mpich", 2, "sdaw")])
def test_ranks_write_the_same_bytes(water: System, tmp_path: Path, mpi: str, ranks: int, method: str) -> None:
    write(water, tmp_path / "water.tsr")
    command = [*TESSERA, "export", "water.tsr", "--wrap", "atoms", "-o"]
    more = ["-n", str(ranks), "--mpi", mpi, "--oversubscribe", "--method", method, "--batch", "11"]
    for arguments in (["CONFIG"], ["REVCON", *more]):
        run_program([*command, *arguments], cwd=tmp_path)
    assert (tmp_path / "CONFIG").read_bytes() == (tmp_path / "REVCON").read_bytes()
    refused = run_program([*command, "REVCON", *more], cwd=tmp_path, status=2)
    assert refused.stderr.count("REVCON exists") == 1, refused.stderr


def test_the_root_alone_has_memory_for_all_atoms(
    water: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other ranks do not read the system: they take their atoms from the pages of a file."""
    from tessera.commands import export

    told, arrays = [], []

    def tell(data: bytes) -> list[bytes]:
        told.append(data)
        return [data, data]

    def write_nothing(_path: str, _header: object, n: int, values: list[np.ndarray], ranks: Ranks, _way: Way) -> str:
        assert n == water.n_atoms
        arrays.append(values)
        if ranks.is_root:
            other = Ranks(1, 2, lambda data: [told[0], data])
            monkeypatch.setattr(export, "of_launcher", lambda: other)
            words = ["none.tsr", "-o", str(tmp_path / "CONFIG"), "-o", str(tmp_path / "x.pdb")]
            assert CliRunner().invoke(export.export, words).exit_code == 0
        return "pdaw"

    monkeypatch.setattr(dlpoly, "_write", write_nothing)
    moment = Configuration(water, Path("water.tsr"), 20, 0.04, timestep=0.002)
    write_all(moment, [tmp_path / "CONFIG"], None, False, lambda _: None, Ranks(0, 2, tell))
    own, mapped = arrays
    assert all(isinstance(values, np.memmap) for values in mapped)
    assert all(np.array_equal(one, other) for one, other in zip(own, mapped))
    assert [path.name for path in tmp_path.iterdir()] == ["CONFIG"]
