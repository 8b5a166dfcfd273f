"""Systems to run: each is written once a session, into a folder that goes when the session ends.

`peptide` is the small one: a tripeptide (CHARMM22 with CMAP) in about 1,000 rigid waters, at 300 K. `water` is 24,000
atoms of water on a lattice, `dhfr` the 23,558 atoms of the demo, `tripeptide` and `dipeptide` have no box. `apoa1` needs
the reference data.
"""

from __future__ import annotations

import atexit
import copy
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from conftest import ENGINES, NO_DATA
from prepare.inputs import alanine_dipeptide, alanine_tripeptide, dhfr
from tessera.build.water import make_water
from tessera.system import System, read
from tessera.system.blocks import to_fraction

VELOCITY_UNIT = 2.0**-20  # Å/ps, of checkpoints
RECORD = np.dtype([("id", "<i8"), ("place", "<i4", 3), ("velocity", "<i4", 3), ("moved", "<i4", 3)])


@cache
def folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="tessera-samples-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def sample(name: str) -> Path:
    """The system file of a name above."""
    path = folder() / f"{name}.tsr"
    _MAKERS[name]().write(path)
    return path


def _apoa1() -> System:
    from tessera.prepare.charmm import prepare_charmm

    if not os.environ.get("TESSERA_DATA"):
        pytest.skip(NO_DATA)
    data = Path(os.environ["TESSERA_DATA"]) / "apoa1" / "charmm"
    names = ("top_all36_prot.rtf", "top_all36_lipid.rtf", "par_all36m_prot.prm", "par_all36_lipid.prm", "water.prm")
    parameters = [data / name for name in names]
    return prepare_charmm(data / "apoa1.psf", data / "apoa1.pdb", parameters, np.diag([108.8612, 108.8612, 77.758]))


def join(first: System, second: System, keep: np.ndarray) -> System:
    """One molecule of each template of `first` among those molecules of `second`'s one template that `keep` says.

    The box is that of `second`; both have the same rules.
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
    """Fractions (n,3) int32 and velocities (n,3) Å/ps of a run's newest checkpoint, in id order."""
    content = (output / "checkpoint.tck").read_bytes()
    begin = content.index(b"\n", content.index(b"\n") + 1) + 1
    header = json.loads(content.splitlines()[1])
    records = np.frombuffer(content, RECORD, header["atoms"], begin)
    assert (records["id"] == np.arange(len(records))).all()
    with np.errstate(over="ignore"):
        return records["place"] + records["moved"], records["velocity"] * VELOCITY_UNIT


def _relax(system: System, rounds: tuple[tuple[float, int], ...]) -> System:
    """Runs of so many fs × steps, velocities drawn anew at 300 K before each."""
    engine = ENGINES / "tessera-md-serial"
    if not engine.exists():
        pytest.fail(f"{engine} is missing: make build")
    path, work = folder() / "relax.tsr", folder() / "relax"
    for index, (timestep, steps) in enumerate(rounds):
        system.write(path)
        (folder() / "relax.toml").write_text(
            f'[input]\nsystem = "{path}"\n[interactions]\ncutoff = 9.0\nswitch = 8.0\n'
            f'[dynamics]\ntimestep = {timestep}\nsteps = {steps}\nvelocities = "generate"\nseed = {index}\n'
            f'[output]\nfolder = "{work}"\noverwrite = true\nprogress = "none"\n'
        )
        done = subprocess.run([engine, folder() / "relax.toml"], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.fail(f"relaxing the sample, {timestep} fs: {done.stderr}")
        system.fraction, system.velocity = last_state(work)
    return system


def _peptide() -> System:
    return _relax(put_into_water(alanine_tripeptide(), 3000), ((0.1, 60), (0.5, 60), *[(1.0, 60)] * 5, (2.0, 100)))


_MAKERS = {
    "peptide": _peptide,
    "dhfr": dhfr,
    "tripeptide": alanine_tripeptide,
    "dipeptide": alanine_dipeptide,
    "water": lambda: make_water(24000),
    "apoa1": _apoa1,
}


def changed(name: str) -> System:
    """A copy of a sample to change; write it elsewhere."""
    return read(sample(name))
