"""MDAnalysis, MDTraj and ASE read trajectories in segments, or what `tessera traj` makes of them."""

from __future__ import annotations

import dataclasses
import pickle
import re
import resource
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.build.water import make_water
from tessera.checked_file import DamagedFileError
from tessera.errors import InputError
from tessera.export.structure import structure_of
from tessera.io import SegmentWriter
from tessera.system import read, write
from tessera.traj import Trajectory
from tessera.traj.convert import convert
from tessera.traj.formats import FORMATS
from tests.support.programs import TESSERA, run_program
from tests.traj.samples import (
    BOX,
    FLOAT32,
    LOSSLESS,
    MOVED,
    PACKED,
    TIMESTEP,
    expected,
    numbers,
    ran,
    run,
    write_segment,
)

MDAnalysis = pytest.importorskip("MDAnalysis")

ATOMS = 30
QUANTITIES = ("positions", "velocities", "forces")
ENCODINGS = [PACKED, LOSSLESS, FLOAT32]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a run of ten waters."""
    folder = tmp_path_factory.mktemp("run")
    write(make_water(ATOMS), folder / "water.tsr")
    (folder / "output").mkdir()
    (folder / "output" / "settings.toml").write_text(f'[input]\nsystem = "{folder}/water.tsr"\n')
    write_segment(folder / "output" / "trajectory.segments", range(0, 50, 10), ATOMS, QUANTITIES, ENCODINGS, parts=2)
    return folder / "output"


def universe_of(path: Path, atoms: int = ATOMS, **options: Any) -> Any:
    universe = MDAnalysis.Universe.empty(atoms, trajectory=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(str(path), **options)
    return universe


def positions(step: int) -> np.ndarray:
    return expected(numbers(step, ATOMS), PACKED)


def test_mdanalysis_reads_segments(output: Path) -> None:
    universe = universe_of(output / "trajectory.segments")
    frames = universe.trajectory
    assert frames.n_frames == 5 and frames.dt == pytest.approx(10 * TIMESTEP) and frames.totaltime > 0
    for index in (3, 0, -1, 2):
        moment = frames[index]
        step = 10 * (index % 5)
        assert moment.time == pytest.approx(step * TIMESTEP) and moment.data["step"] == step
        assert np.array_equal(moment.positions, positions(step))
        assert np.array_equal(moment.velocities, numbers(step, ATOMS, "velocities"))
        np.testing.assert_allclose(moment.forces, numbers(step, ATOMS, "forces") * 4.184, rtol=1e-6)
        np.testing.assert_allclose(moment.triclinic_dimensions, BOX, atol=1e-5)
    assert [moment.frame for moment in frames] == [0, 1, 2, 3, 4] and [m.frame for m in frames[1::2]] == [1, 3]
    assert np.array_equal(universe.atoms[3:5].positions, frames[0].positions[3:5])
    plain = universe_of(output, format="SEGMENTS", convert_units=False)
    assert np.array_equal(plain.atoms.forces, numbers(0, ATOMS, "forces"))
    assert universe_of(output / "trajectory.segments", dt=2.0).trajectory[3].time == 6.0


def test_mdanalysis_copies_its_reader(output: Path) -> None:
    universe = universe_of(output / "trajectory.segments")
    universe.trajectory[2]
    for other in (universe.copy(), pickle.loads(pickle.dumps(universe))):
        assert other.trajectory.frame == 2 and np.array_equal(other.atoms.positions, positions(20))
        other.trajectory[4]
        assert np.array_equal(universe.atoms.positions, positions(20))


def test_mdanalysis_analyses_segments(output: Path, tmp_path: Path) -> None:
    from MDAnalysis.analysis.rms import RMSF

    assert run("convert", output, "-o", tmp_path / "top.pdb", "--last", "0").exit_code == 0
    universe = MDAnalysis.Universe(tmp_path / "top.pdb", output / "trajectory.segments")
    found = RMSF(universe.select_atoms("name O*")).run()
    rows = universe.select_atoms("name O*").indices
    values = np.array([positions(step)[rows] for step in range(0, 50, 10)], float)
    deviation = np.sqrt(((values - values.mean(axis=0)) ** 2).sum(axis=2).mean(axis=0))
    np.testing.assert_allclose(found.results.rmsf, deviation, rtol=1e-5)
    chain = MDAnalysis.Universe(tmp_path / "top.pdb", [output / "trajectory.segments"] * 2)
    assert len(chain.trajectory) == 10


@pytest.mark.parametrize("order", ["import tessera.traj, MDAnalysis", "import MDAnalysis, tessera.traj"])
def test_the_reader_registers_itself(output: Path, order: str) -> None:
    program = (
        f"{order}\nu = MDAnalysis.Universe.empty({ATOMS})\nu.load_new({str(output / 'trajectory.segments')!r})\n"
        "assert len(u.trajectory) == 5\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    run_program([sys.executable, "-c", program], env=environment)
    alone = "import sys, tessera.traj\nassert 'MDAnalysis' not in sys.modules\n"
    run_program([sys.executable, "-c", alone], env=environment)


@pytest.mark.parametrize("ending", ["dcd", "xtc", "trr", "nc", "h5md", "pdb"])
def test_other_formats(output: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    facts = ran("convert", output, "-o", path)
    assert facts["frames"] == 5 and facts["atoms"] == ATOMS and facts["bytes"] == path.stat().st_size
    has = QUANTITIES if ending in ("trr", "nc", "h5md") else QUANTITIES[:1]
    assert tuple(facts["quantities"]) == has and len(facts["notes"]) == 3 - len(has)
    universe = MDAnalysis.Universe(path) if ending == "pdb" else universe_of(path)
    assert len(universe.trajectory) == 5
    # XTC and PDB have two or three decimals.
    tolerance = {"xtc": 0.0101, "pdb": 0.00051}.get(ending, 1e-5)
    for index, moment in enumerate(universe.trajectory):
        np.testing.assert_allclose(moment.positions, positions(10 * index), atol=tolerance)
        np.testing.assert_allclose(moment.triclinic_dimensions, BOX, atol=1e-4 if ending != "pdb" else 0.01)
        if ending != "pdb":  # which has no times
            assert moment.time == pytest.approx(10 * index * TIMESTEP, abs=1e-6)
        if len(has) == 3:
            np.testing.assert_allclose(moment.velocities, numbers(10 * index, ATOMS, "velocities"), rtol=1e-5)
            np.testing.assert_allclose(moment.forces, 4.184 * numbers(10 * index, ATOMS, "forces"), rtol=1e-5)
    if ending in ("dcd", "xtc", "nc"):
        mdtraj = pytest.importorskip("mdtraj")
        topology = mdtraj.Topology()
        residue = topology.add_residue("X", topology.add_chain())
        for _ in range(ATOMS):
            topology.add_atom("C", mdtraj.element.carbon, residue)
        found = mdtraj.load(str(path), top=topology)
        np.testing.assert_allclose(found.xyz[3] * 10, positions(30), atol=tolerance)


@pytest.mark.parametrize("box", [None, BOX])
@pytest.mark.parametrize("ending", ["dcd", "nc", "h5md"])
def test_frames_are_written_in_any_order(
    tmp_path: Path, ending: str, box: np.ndarray | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of any number of threads are the same, and those that MDAnalysis writes frame after frame, of a DCD, or
    the same numbers."""
    frames, scales = 9, np.linspace(1, 1.2, 9)
    names = QUANTITIES if ending != "dcd" else QUANTITIES[:1]
    with SegmentWriter(
        tmp_path / "a.segments", ATOMS, every=5, timestep=0.003, quantities=names, periodic=box is not None
    ) as writer:
        for index, scale in enumerate(scales):
            values = [numbers(index, ATOMS, name) for name in names]
            writer.append(10 + 5 * index, 0.015 * index + 0.03, None if box is None else scale * box, *values)
    found = []
    for processors in (1, 2, 7):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, n=processors: set(range(n)))
        path = tmp_path / f"by_{processors}.{ending}"
        assert ran("convert", tmp_path / "a.segments", "-o", path)["frames"] == frames
        found.append(path.read_bytes())
    assert found[1:] == found[:1] * 2

    universe = universe_of(tmp_path / "a.segments")
    path = tmp_path / f"peer.{ending}"
    has: dict[str, Any] = {"velocities": True, "forces": True}
    if ending == "dcd":
        has = {"dt": Trajectory(tmp_path / "a.segments").interval, "nsavc": 5, "istart": 10, "remarks": "tessera traj"}
    if ending == "h5md":
        units = {"lengthunit": "Angstrom", "velocityunit": "Angstrom/ps", "forceunit": "kJ/(mol*Angstrom)"}
        has = {"convert_units": False, "timeunit": "ps", **units}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with MDAnalysis.Writer(str(path), ATOMS, **has) as peer:
            for _ in universe.trajectory:
                peer.write(universe.atoms)
            if ending == "h5md":
                peer.h5md_file.close()
    if ending == "dcd":
        assert path.read_bytes() == found[0]
        return
    ours, theirs = (list(universe_of(one).trajectory) for one in (tmp_path / f"by_2.{ending}", path))
    for one, other in zip(ours, theirs, strict=True):
        assert (one.data.get("step"), one.time) == (other.data.get("step"), other.time)
        for name in QUANTITIES:
            # MDAnalysis makes kcal of kJ in single precision for a NetCDF.
            exact = 0 if ending == "h5md" or name != "forces" else 3e-7
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=exact)
        if box is not None:
            # MDAnalysis makes angles of edges in single precision.
            np.testing.assert_allclose(one.triclinic_dimensions, other.triclinic_dimensions, rtol=1e-6, atol=1e-5)


def test_history(output: Path, tmp_path: Path) -> None:
    ase = pytest.importorskip("ase.io")
    from ase.io.dlp4 import DLP_F_ASE

    ran("convert", output, "-o", tmp_path / "HISTORY")
    lines = (tmp_path / "HISTORY").read_bytes().split(b"\n")[:-1]
    assert {len(line) for line in lines} == {72} and int(lines[1].split()[-1]) == len(lines)
    frames = ase.read(tmp_path / "HISTORY", index=":", format="dlp-history")
    assert len(frames) == 5
    for index, frame in enumerate(frames):
        np.testing.assert_allclose(frame.positions, positions(10 * index), atol=1e-9)
        np.testing.assert_allclose(frame.cell[:], BOX)
        forces = 418.4 * numbers(10 * index, ATOMS, "forces").astype(float)
        np.testing.assert_allclose(frame.get_forces() / DLP_F_ASE, forces, rtol=1e-6)
    assert frames[0].get_chemical_symbols()[:3] == ["O", "H", "H"]
    np.testing.assert_allclose(frames[0].get_masses()[:2], [15.9994, 1.008], rtol=1e-3)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("mpi", "ranks", "ending", "way"),
    [
        ("openmpi", 3, "history", ("--method", "mpiw-collective")),
        ("mpich", 2, "xdr", ("--method", "sdaw", "--order", "owned")),
        ("openmpi", 5, "nc", ("--method", "mpiw-independent", "--writers", "2")),
        ("mpich", 3, "nc", ("--method", "pdaw")),
    ],
)
def test_ranks_write_the_same_file(
    output: Path, tmp_path: Path, mpi: str, ranks: int, ending: str, way: tuple[str, ...]
) -> None:
    one, several = tmp_path / f"one.{ending}", tmp_path / f"all.{ending}"
    ran("convert", output, "-o", one)
    command = [*TESSERA, "traj", "convert", output, "-o", several]
    command += ["-n", str(ranks), "--mpi", mpi, "--oversubscribe", "--batch", "7", *way]
    run_program(command)
    assert one.read_bytes() == several.read_bytes()
    if ending == "history":
        refused = run_program(command, status=2)
        assert refused.stderr.count(f"{several.name} exists") == 1, refused.stderr


def test_ranks_read_the_parts_that_they_need(output: Path, tmp_path: Path) -> None:
    """Two parts have 15 atoms each; the second is damaged here."""
    shutil.copytree(output / "trajectory.segments", tmp_path / "a.segments")
    (tmp_path / "a.segments" / "segment-0000.part-0001").write_bytes(b"")
    found, whole = Trajectory(tmp_path / "a.segments"), Trajectory(output)
    frame = found.needing(3, 15).read(2)
    for name in QUANTITIES:
        np.testing.assert_array_equal(getattr(frame, name)[:15], getattr(whole[2], name)[:15])
        assert not getattr(frame, name)[15:].any()
    assert not found.needing(0, 0).read(2).positions.any()
    for first, end in ((0, 30), (14, 16), (29, 30)):
        with pytest.raises(DamagedFileError):
            found.needing(first, end).read(2)


@pytest.mark.parametrize("ending", [ending for ending, one in FORMATS.items() if one.by_ranks])
def test_ways_of_files_that_ranks_write(output: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"usual{ending}"
    ran("convert", output, "-o", path)
    for number, method in enumerate(["pdaw", "sdaw", "mpiw-independent", "mpiw-collective"]):
        way = ("--method", method, "--batch", str(3 + number), "--writers", "2")
        ran("convert", output, "-o", tmp_path / f"{method}{ending}", *way)
        assert (tmp_path / f"{method}{ending}").read_bytes() == path.read_bytes()
    done = run("convert", output, "-o", tmp_path / f"owned{ending}", "--order", "owned")
    if ending == ".nc":
        assert done.exit_code == 2 and "has no numbers of atoms, so their order must be sorted" in done.output
    else:
        assert (tmp_path / f"owned{ending}").read_bytes() == path.read_bytes()


def test_ways_that_are_refused(output: Path, tmp_path: Path) -> None:
    for name, method, words in (
        ("x.history", "segments", 'no write method is called "segments"; there are pdaw'),
        ("x.history", "pdwa", 'did you mean "pdaw"'),
        ("x.nc", "sdaw-printf", 'no write method is called "sdaw-printf"'),
        ("x.dcd", "pdaw", "are of a HISTORY, XDR and NetCDF"),
    ):
        done = run("convert", output, "-o", tmp_path / name, "--method", method)
        assert done.exit_code == 2 and words in done.output, done.output
        assert not (tmp_path / name).exists()


def test_names_without_room(output: Path, tmp_path: Path) -> None:
    """They were cut."""
    system = read(output.parent / "water.tsr")
    (kind,) = system.templates
    for name in ("ninechars", "", "O W", "ö"):
        named = dataclasses.replace(system, templates=[dataclasses.replace(kind, atom_name=[name, "H1", "H2"])])
        with pytest.raises(InputError, match="8 columns for atom names"):
            convert(Trajectory(output), tmp_path / "HISTORY", structure=structure_of(named, ""))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["segments", "dcd"])
def test_selecting(output: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"oxygens.{ending}"
    facts = ran("select", output, "name O*", "-o", path, "--first", "1", "--stride", "2")
    assert facts["atoms"] == 10 and facts["frames"] == 2
    universe = universe_of(path, 10)
    assert np.array_equal(universe.trajectory[1].positions, positions(30)[::3])
    if ending != "segments":
        return
    trajectory = Trajectory(path)
    assert trajectory.ids.tolist() == list(range(0, ATOMS, 3)) and trajectory.system_atoms == ATOMS
    assert trajectory.steps.tolist() == [10, 30] and trajectory.every == 20 and trajectory.gaps() == 0
    assert np.array_equal(trajectory[0].velocities, numbers(10, ATOMS, "velocities")[::3])
    kinds = [encoding["kind"] for encoding in trajectory.manifests[0].encodings]
    assert kinds == ["packed", "lossless", "float32"]
    # Of these atoms, a selection is by their ids in the system.
    system = output.parent / "water.tsr"
    facts = ran("select", path, "index 3:8 and name O*", "-o", tmp_path / "two.segments", "--system", system)
    assert Trajectory(tmp_path / "two.segments").ids.tolist() == [3, 6]
    done = run("select", path, "index 3:8", "-o", tmp_path / "six.segments", "--system", system)
    assert done.exit_code == 2 and "names 6 atoms, of which the frames lack 4, such as id 4" in done.output
    done = run("select", path, "index 3:8", "-o", tmp_path / "six.segments")
    assert done.exit_code == 2 and "has no settings.toml beside it that names the system" in done.output


def test_combining(output: Path, tmp_path: Path) -> None:
    onwards = write_segment(tmp_path / "on.segments", range(30, 80, 10), ATOMS, QUANTITIES, ENCODINGS, after_step=20)
    facts = ran("combine", output, onwards, "-o", tmp_path / "all.dcd")
    assert facts["frames"] == 8
    for index, moment in enumerate(universe_of(tmp_path / "all.dcd").trajectory):
        assert np.array_equal(moment.positions, positions(10 * index))
    facts = ran("combine", output, output, "-o", tmp_path / "twice.segments", "--select", "name O*")
    assert facts["frames"] == 10 and facts["notes"] == ["steps count on where a run begins anew"]
    trajectory = Trajectory(tmp_path / "twice.segments")
    assert trajectory.manifests[0].encodings == ENCODINGS
    plain = write_segment(tmp_path / "plain.segments", range(50, 80, 10), ATOMS, after_step=40)
    ran("combine", output, plain, "-o", tmp_path / "mixed.segments")  # of encodings that differ, none loses anything
    mixed = Trajectory(tmp_path / "mixed.segments")
    assert mixed.manifests[0].encodings == [FLOAT32] and mixed.quantities == ["positions"]
    assert np.array_equal(mixed[1].positions, positions(10)) and np.array_equal(mixed[6].positions, numbers(60, ATOMS))
    assert trajectory.steps.tolist() == list(range(0, 100, 10)) and trajectory.gaps() == 0
    facts = ran("info", output, onwards)
    assert facts["superseded"] == 2 and facts["frames"] == 8 and facts["gaps"] == 0 and facts["segments"] == 2
    assert (facts["first_time"], facts["last_time"]) == (0.0, pytest.approx(70 * TIMESTEP))


def test_selections_of_a_run(output: Path, tmp_path: Path) -> None:
    """Folders beside the trajectory know the run's system; frames of atoms that moved are written whole."""
    ids = np.arange(0, ATOMS, 3)
    with SegmentWriter(
        output / "oxygens.segments", 10, every=10, ids=ids, system_atoms=ATOMS, encodings=[MOVED], parts=2
    ) as writer:
        for step in range(0, 50, 10):
            writer.append(step, 0.0, BOX, numbers(step, ATOMS)[ids])
    ran("select", output / "oxygens.segments", "index 0:8 and name O*", "-o", tmp_path / "three.segments")
    found, source = Trajectory(tmp_path / "three.segments"), Trajectory(output / "oxygens.segments")
    assert found.manifests[0].encodings == [{"kind": "float32"}]
    for ours, theirs in zip(found, source, strict=True):
        assert np.array_equal(ours.positions, theirs.positions[:3])


def test_messages(output: Path, tmp_path: Path) -> None:
    def refused(*words: str | Path) -> str:
        done = run(*words)
        assert done.exit_code == 2, done.output
        return done.output

    assert "the ending says no format; expected one of .dcd" in refused("convert", output, "-o", tmp_path / "a.xyz")
    assert "does not exist" in refused("convert", output, "-o", tmp_path / "none" / "a.dcd")
    (tmp_path / "a.dcd").write_text("")
    assert "a.dcd exists; --force replaces it" in refused("convert", output, "-o", tmp_path / "a.dcd")
    assert run("convert", output, "-o", tmp_path / "a.dcd", "--force").exit_code == 0
    assert "the frames 0 to 4, found --first 5" in refused("convert", output, "-o", tmp_path / "b.dcd", "--first", "5")
    assert "is what is read" in refused("convert", output, "-o", output / "trajectory.segments", "--force")
    assert "names no atom" in refused("select", output, "name XX", "-o", tmp_path / "b.dcd")
    assert "is no selection of MDAnalysis" in refused("select", output, "nam O", "-o", tmp_path / "b.dcd")
    (tmp_path / "notes.segments").mkdir()
    (tmp_path / "notes.segments" / "notes.txt").write_text("")
    text = refused("convert", output, "-o", tmp_path / "notes.segments", "--force")
    assert "holds more than segments, and --force does not remove it" in text
    write(make_water(60), tmp_path / "other.tsr")
    text = refused("select", output, "name O*", "-o", tmp_path / "b.dcd", "--system", tmp_path / "other.tsr")
    assert "has 60 atoms, and the trajectory is of a system of 30" in text
    empty = write_segment(tmp_path / "empty.segments", range(0), ATOMS)
    assert "there is no frame yet" in refused("convert", empty, "-o", tmp_path / "b.dcd")
    facts = ran("info", empty)
    assert facts["frames"] == 0 and facts["first_step"] is None
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_folder_that_is_replaced(output: Path, tmp_path: Path) -> None:
    for stride in (1, 2):
        ran("convert", output, "-o", tmp_path / "a.segments", "--stride", str(stride), "--force")
    assert len(Trajectory(tmp_path / "a.segments")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.segments"]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_may_not_grow(output: Path, tmp_path: Path, ending: str) -> None:
    """Libraries of formats do not say why they can't write; the message does, and nothing is left."""
    path = tmp_path / f"out{ending}"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        done = run("convert", output, "-o", path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    lines = [line for line in done.output.splitlines() if "error" in line.lower()]
    assert done.exit_code == 2 and len(lines) == 1, done.output
    assert str(path) in lines[0] and re.search("File too large|the file may not grow", lines[0])
    assert not list(tmp_path.iterdir())
