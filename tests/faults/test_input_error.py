"""What bad input raises is a `tessera.InputError`, whichever function gets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openmm
import pytest

import tessera
from tessera import _core as core
from tessera import checked_file, fft, grid, io, launch, plots, prepare_openmm, system, traj, verify
from tessera.build import memory, nacl, replicate, water
from tessera.export import checkpoint, configuration, files
from tessera.export.structure import structure_of
from tessera.gpaw import enable
from tessera.machine import change, plot
from tessera.prepare.amber import prepare_amber
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.charmm_gui import prepare_charmm_gui
from tessera.prepare.coordinates import read_coordinates
from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.prepare.dlpoly.control import read_control
from tessera.prepare.gromacs import prepare_gromacs
from tessera.prepare.openmm import prepare_openmm_files
from tessera.prepare.pdb import prepare_pdb
from tessera.select.references import with_coordinates
from tessera.select.resolve import resolve
from tessera.select.universe import selected
from tessera.traj.convert import convert
from tests.support.checkpoints import flip
from tests.support.inputs import SMALL, alanine_dipeptide

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")


def _cut_system(folder: Path) -> Path:
    """Writes a system file with a byte that is wrong."""
    path = folder / "cut.tsr"
    system.write(alanine_dipeptide(), path)
    flip(path, path.stat().st_size // 2)
    return path


def _flat() -> system.System:
    """Returns a system whose box is none."""
    return system.System(**{**vars(alanine_dipeptide()), "box": np.full((3, 3), np.nan)})


#: One bad input for each function, called with a folder to write to. There is no file of the name `none` in it.
CALLS: dict[str, Callable[[Path], object]] = {
    "prepare_charmm": lambda at: prepare_charmm(at / "none", at / "none", []),
    "prepare_charmm_gui": lambda at: prepare_charmm_gui(at / "none"),
    "prepare_amber": lambda at: prepare_amber(SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb"),
    "prepare_gromacs": lambda at: prepare_gromacs(at / "none", at / "none"),
    "prepare_dlpoly": lambda at: prepare_dlpoly(at / "none", at / "none"),
    "read_control": lambda at: read_control(at / "none"),
    "prepare_pdb": lambda at: prepare_pdb(at / "none", "amber14"),
    "prepare_openmm": lambda at: prepare_openmm(openmm.System(), None, "positions"),
    "prepare_openmm_files": lambda at: prepare_openmm_files(SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb"),
    "read_coordinates": lambda at: read_coordinates(SMALL / "ala_ala_ala.psf"),
    "box": lambda at: prepare_amber(
        SMALL / "alanine-dipeptide-implicit.prmtop", SMALL / "alanine-dipeptide-implicit.inpcrd", box=np.zeros((3, 3))
    ),
    "make_water": lambda at: water.make_water(1),
    "make_nacl": lambda at: nacl.make_nacl(8, "unknown"),
    "replicate": lambda at: replicate.replicate(alanine_dipeptide(), (0, 1, 1)),
    "check_memory": lambda at: memory.check_memory(2, 1),
    "read": lambda at: system.read(at / "none"),
    "read damaged": lambda at: system.read(_cut_system(at)),
    "check damaged": lambda at: checked_file.check(_cut_system(at)),
    "write": lambda at: system.write(_flat(), at / "x.tsr"),
    "image": lambda at: system.image(_flat()),
    "Simulation": lambda at: tessera.Simulation(at / "none", {}),
    "Simulation damaged": lambda at: tessera.Simulation(_cut_system(at), {}),
    "Simulation of a system": lambda at: tessera.Simulation(_flat(), {}),
    "Simulation settings": lambda at: tessera.Simulation(alanine_dipeptide(), {"dynamics": {"stepz": 1}}),
    "verify": lambda at: verify.verify(at),
    "Trajectory": lambda at: traj.Trajectory(at),
    "Merged": lambda at: traj.Merged([]),
    "History": lambda at: traj.History(SMALL / "ala_ala_ala.psf"),
    "SegmentWriter": lambda at: io.SegmentWriter(at / "a", 3, ids=[0, 0, 1], every=1),
    "convert": lambda at: convert(traj.Trajectory(at), at / "a.dcd"),
    "read_checkpoint": lambda at: checkpoint.read_checkpoint(at),
    "read_configuration": lambda at: configuration.read_configuration(at),
    "check_outputs": lambda at: files.check_outputs([at / "x.unknown"], force=False),
    "selected": lambda at: selected(structure_of(alanine_dipeptide(), "x"), "residue of none", None),
    "resolve": lambda at: resolve(alanine_dipeptide(), [("key", "resname NONE")]),
    "with_coordinates": lambda at: with_coordinates(alanine_dipeptide(), SMALL / "ala_ala_ala.pdb"),
    "plot_run": lambda at: plots.plot_run(at, at / "x.png"),
    "plot_run name": lambda at: plots.plot_run(at, at / "x"),
    "plot map": lambda at: plot.plot_content({}, at / "x.png", "a file"),
    "change_map": lambda at: change.change_map(SMALL / "README.md", lambda content: None),
    "read_map": lambda at: core.read_map(str(at / "none")),
    "engine_command": lambda at: launch.engine_command(["run.toml"], ranks=0, mpi="unknown"),
    "Transform": lambda at: fft.Transform((0, 1, 1)),
    "Transform map": lambda at: fft.Transform((8, 8, 8), machine=at / "none"),
    "Grid": lambda at: grid.Grid((8, 8, 8), periodic=5),  # type: ignore[arg-type]
    "Grid map": lambda at: grid.Grid((8, 8, 8), machine=at / "none"),
    "Stencil": lambda at: grid.Stencil([[0, 0]], [1.0]),
    "poisson": lambda at: grid.Grid((8, 8, 8)).poisson(method="unknown"),
    "gpaw": lambda at: enable(threads=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_input_is_an_input_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(tessera.InputError) as found:
        CALLS[name](tmp_path)
    assert "\n" not in str(found.value).strip() and isinstance(found.value, ValueError)
