"""Systems to run. Each is written once a session, into a folder that is removed when the session ends.

`peptide` is the small one: a tripeptide (CHARMM22 with CMAP) in about 1,000 rigid waters, at 300 K; `half_empty` has a
vacuum of the same size beside it, and `octahedron` and `dodecahedron` are the tripeptide in smaller triclinic boxes.
`water` is 24,000 atoms of water on a lattice, `four_site_water` is 4,000 atoms with TIP4P's charges, `dhfr` is the
23,558 atoms of the demo, and `tripeptide` and `dipeptide` have no box. The others need the reference data.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import dataclasses
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.spatial import cKDTree

from tessera import checked_file
from tessera.build.water import make_water
from tessera.export.checkpoint import read_file
from tessera.prepare.amber import prepare_amber
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.gromacs import prepare_gromacs
from tessera.prepare.pdb.model import BOX_SHAPES
from tessera.system import System, VirtualSites, read, write
from tessera.system.blocks import to_fraction
from tests.support.inputs import ALA3_PARAMETERS, SMALL, alanine_dipeptide, dhfr, ordered_tripeptide
from tests.support.programs import ENGINES, HANGS, NO_DATA


@cache
def folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="tessera-samples-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def sample(name: str) -> Path:
    """Returns the system file of one of the names above."""
    path = folder() / f"{name}.tsr"
    write(_MAKERS[name](), path)
    return path


@contextlib.contextmanager
def edited(path: Path) -> Iterator[h5py.File]:
    """Yields a system file to change; its checksums are those of the changed content afterwards."""
    with h5py.File(path, "r+") as file:
        yield file
    checked_file.seal(path)


def data(*parts: str) -> Path:
    """Returns a path in the reference data; skips the test with a message where there is none."""
    if not os.environ.get("TESSERA_DATA"):
        pytest.skip(NO_DATA)
    return Path(os.environ["TESSERA_DATA"], *parts)


def _charmm(psf: Path, coordinates: Path, parameters: Sequence[Path], *edges: float) -> System:
    return prepare_charmm(psf, coordinates, parameters, np.diag(edges) if edges else None)


def _apoa1() -> System:
    names = ("par_all36_lipid.prm", "par_all36m_prot.prm", "toppar_water_ions.str")
    here = data("apoa1", "charmm")
    return _charmm(here / "apoa1.psf", here / "apoa1.pdb", [here / n for n in names], 108.8612, 108.8612, 77.758)


def _apoa1_gromacs() -> System:
    box = np.diag([108.8612, 108.8612, 77.758])
    top = data("apoa1", "gromacs", "apoa1_merge.top")
    return prepare_gromacs(top, data("apoa1", "charmm", "apoa1.pdb"), box=box)


def _ala3_water() -> System:
    here = data("openmm_systems")
    names = ("par_all36_prot.prm", "toppar_water_ions.str")
    return _charmm(here / "ala3_solv.psf", here / "ala3_solv.crd", [here / n for n in names], *[32.71195] * 3)


def _mos2() -> System:
    here = data("openmm_systems")
    return _charmm(here / "MoS2.psf", here / "MoS2.pdb", [here / "MoS2.prm"], 50.0, 50.0, 50.0)


def _dipeptide_water() -> System:
    name = data("openmm_systems", "alanine-dipeptide-explicit")
    return prepare_amber(name.with_suffix(".prmtop"), name.with_suffix(".inpcrd"))


def _dhfr_amber() -> System:
    name = data("dhfr", "openmm_amber", "dhfr_ff99sb")
    return prepare_amber(name.with_suffix(".prmtop"), name.with_suffix(".inpcrd"))


def _genesis() -> System:
    build, param = data("genesis", "build", "jac_param27"), data("genesis", "param")
    names = ("par_all27_prot_lipid.prm", "top_all27_prot_lipid.rtf")
    return _charmm(build / "jac_param27.psf", build / "rst", [param / n for n in names])


def join(first: System, second: System, keep: np.ndarray) -> System:
    """Puts one molecule of each template of `first` among those molecules of `second` for which `keep` is true.

    `second` has one template, and the box is its box. Both systems have the same combination rule.
    """
    assert first.lj_rule == second.lj_rule and len(second.templates) == 1
    a, b = first.force_field, copy.deepcopy(second.force_field)
    types = len(a.type_name)
    other = copy.deepcopy(second.templates[0])
    other.type = other.type + np.int32(types)
    for kind, terms in other.terms.items():
        terms.parameter = terms.parameter + np.int32(len(a.table(kind)))
    field = copy.deepcopy(a)
    field.type_name = [*a.type_name, *(f"{name}_W" for name in b.type_name)]
    field.type_lj = np.concatenate([a.type_lj, b.type_lj])
    field.tables = {
        kind: np.concatenate([a.table(kind), b.table(kind)]) for kind in {*a.tables, *b.tables} if kind != "cmap"
    }
    size = other.n_atoms
    moved = to_fraction(first.positions() - first.positions().mean(axis=0), second.box)
    out = copy.copy(second)
    out.force_field = field
    out.templates = [*first.templates, other]
    out.runs = np.concatenate([first.runs, [[len(first.templates), int(keep.sum())]]]).astype(np.int64)
    out.fraction = np.concatenate([moved, second.fraction.reshape(-1, size, 3)[keep].reshape(-1, 3)])
    out.velocity = None
    return out


def put_into_water(solute: System, atoms: int, clearance: float = 2.4) -> System:
    water = make_water(atoms)
    inside = solute.positions() - solute.positions().mean(axis=0)
    near, _ = cKDTree(inside).query(water.positions())
    return join(solute, water, (near.reshape(-1, 3) > clearance).all(axis=1))


def last_state(output: Path) -> tuple[np.ndarray, np.ndarray]:
    """Returns fractions (n,3) int32 and velocities (n,3) Å/ps of a run's newest checkpoint, in id order."""
    found = read_file(output / "checkpoint.tck")
    return found.fraction, found.velocity


def _relax(system: System, rounds: tuple[tuple[float, int], ...]) -> System:
    """Runs the system in rounds of (time step in fs, steps); velocities are drawn at 300 K before each round."""
    engine = ENGINES / "tessera-md-serial"
    if not engine.exists():
        pytest.fail(f"{engine} is missing: make build")
    path, work = folder() / "relax.tsr", folder() / "relax"
    for index, (timestep, steps) in enumerate(rounds):
        write(system, path)
        (folder() / "relax.toml").write_text(
            f'[input]\nsystem = "{path}"\n[interactions]\ncutoff = 9.0\nswitch = 8.0\n'
            f'[dynamics]\ntimestep = {timestep}\nsteps = {steps}\nvelocities = "generate"\nseed = {index}\n'
            f'[output]\nfolder = "{work}"\noverwrite = true\nprogress = "none"\n'
        )
        done = subprocess.run([engine, folder() / "relax.toml"], capture_output=True, text=True, timeout=HANGS)
        if done.returncode != 0:
            pytest.fail(f"relaxing the sample, {timestep} fs: {done.stderr}")
        system.fraction, system.velocity = last_state(work)
    return system


def _tripeptide() -> System:
    coordinates = ordered_tripeptide(folder())
    return prepare_charmm(SMALL / "ala_ala_ala.psf", coordinates, ALA3_PARAMETERS, vacuum=True)


def _in_water(size: int) -> System:
    """Returns the tripeptide in a box of water. Hashes of what is made of it hold for positions that were rounded in
    this frame."""
    system = _tripeptide()
    places = system.positions().round(3)
    low, high = places.min(axis=0), places.max(axis=0)
    box = np.diag(np.maximum(3.0 * (high - low) + 40.0, 4.0 * np.maximum(np.abs(low), np.abs(high))))
    framed = dataclasses.replace(system, box=box, fraction=to_fraction(places - system.origin, box))
    return put_into_water(framed, size)


def _peptide() -> System:
    return _relax(_in_water(3000), ((0.1, 60), (0.5, 60), *[(1.0, 60)] * 5, (2.0, 100)))


def whole_positions(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first atom of each atom's molecule (n,), and positions (n,3) Å in the image that is nearest to it."""
    template, starts = system.instances()
    first = np.repeat(starts, [system.templates[m].n_atoms for m in template])
    start = system.fraction[first]
    with np.errstate(over="ignore"):
        within = system.fraction - start  # integer overflow gives the nearest image
    return first, (start.astype(float) + within) * 2.0**-32 @ system.box


def _carved(edge: float, shape: str) -> System:
    """Returns the tripeptide in water in a triclinic box whose vectors have this length: what is nearer to the middle
    of the box than to its images, without waters that would overlap with images."""
    box = edge * BOX_SHAPES[shape]
    system = _in_water(6000)
    images = np.array([n for n in itertools.product((-1, 0, 1), repeat=3) if any(n)]) @ box
    first, position = whole_positions(system)
    nearest = cKDTree(np.concatenate([[np.zeros(3)], images])).query(position)[1] == 0
    kept = nearest[first]
    sides = cKDTree((position[kept] + images[:, None]).reshape(-1, 3))
    other = np.tile(first[kept], len(images))
    for atom, near in zip(np.flatnonzero(kept), sides.query_ball_point(position[kept], 2.0)):
        if kept[atom] and any(kept[other[k]] and other[k] < first[atom] for k in near):
            kept[first == first[atom]] = False
    solute, waters = system.templates[0].n_atoms, int(kept.sum() - system.templates[0].n_atoms) // 3
    assert kept[:solute].all()
    system.runs = np.array([[0, 1], [1, waters]], system.runs.dtype)
    system.box, system.fraction = box, to_fraction(position[kept], box)
    system.velocity, system.residue_numbers = None, system.residue_numbers[:0]
    return _relax(system, ((0.1, 60), (0.5, 60), *[(1.0, 60)] * 5, (2.0, 100)))


def _four_site_water() -> System:
    """Returns water whose negative charge is at a site on the line that divides the angle."""
    system = make_water(3000)
    (water,) = system.templates
    for name in ("atom_name", "type", "mass", "atomic_number", "residue", "group"):
        column = getattr(water, name)
        setattr(water, name, np.append(column, column[:1]))
    water.atom_name[3], water.type[3], water.mass[3], water.atomic_number[3] = "M", 2, 0.0, 0
    water.charge = np.array([0.0, 0.52, 0.52, -1.04])
    weight = 0.15 / (2 * 0.9572 * np.cos(np.radians(52.26)))
    weights = np.array([[1 - 2 * weight, 0.0, 0.0], [weight, 0.0, 0.0], [weight, 0.0, 0.0]])
    parents = np.array([[0, 0], [0, 1], [0, 2]], np.int32)
    water.virtual_sites = VirtualSites(
        np.array([3], np.int32), np.zeros(1, np.int32), np.zeros((1, 3)), parents, weights
    )
    water.exclusions = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], np.int32)
    field = system.force_field
    field.type_name.append("MT")
    field.type_lj = np.concatenate([field.type_lj, [[1.0, 0.0]]])
    atoms = system.fraction.reshape(-1, 3, 3)
    system.fraction, system.velocity = np.concatenate([atoms, atoms[:, :1]], axis=1).reshape(-1, 3), None
    system.place_virtual_sites()
    return _relax(system, ((0.1, 60), (0.5, 60), (1.0, 100)))


def _half_empty() -> System:
    """Returns the peptide's system with whole molecules, and with a vacuum of the same size beside it."""
    system = changed("peptide")
    _, position = whole_positions(system)
    edge = system.box[0, 0]
    system.box = system.box * np.diag([2.0, 1.0, 1.0])
    system.fraction = to_fraction(position + np.array([0.5 * edge, 0.0, 0.0]), system.box)
    return system


_MAKERS: dict[str, Callable[[], System]] = {
    "peptide": _peptide,
    "octahedron": lambda: _carved(28.0, "octahedron"),
    "dodecahedron": lambda: _carved(29.0, "dodecahedron"),
    "half_empty": _half_empty,
    "four_site_water": _four_site_water,
    "dhfr": dhfr,
    "tripeptide": _tripeptide,
    "dipeptide": alanine_dipeptide,
    "water": lambda: make_water(24000),
    "apoa1": _apoa1,
    "apoa1_gromacs": _apoa1_gromacs,
    "ala3_water": _ala3_water,
    "mos2": _mos2,
    "dipeptide_water": _dipeptide_water,
    "dhfr_amber": _dhfr_amber,
    "genesis": _genesis,
}


def changed(name: str) -> System:
    """Returns a copy of a sample that a test may change and write to another path."""
    return read(sample(name))
