"""Rows of the table of runs that have equal bits on any ranks and threads, and after restarts (test_bitwise.py). Each
is a system with settings; which ranks it runs on follows from its place in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from tessera.build.water import make_water
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, write
from tests.support.programs import FLAVOURS, RANKS
from tests.support.runs import BATHS, LJ_MESH, Outcome, Settings
from tests.support.salt import MESH as OF_IONS
from tests.support.salt import salt
from tests.support.samples import folder, sample
from tests.support.sites import CUTOFF, warm_water, write_molecules


@dataclass(frozen=True)
class Row:
    """A run. Its run file has `sections` after the settings; after the steps in `restarts` other ranks go on. `acts`
    says of the run on one rank whether what is tested happens there. `golden` is the hash, where it is written down. A
    box that is small has cells for `most_ranks`."""

    system: str
    settings: Settings
    restarts: tuple[int, ...] = ()
    sections: str = ""
    acts: Callable[[Outcome], bool] | None = None
    golden: str = ""
    most_ranks: int = RANKS[-1]


IN_VACUUM = Path(__file__).parent.parent / "reports" / "vacuum"


def combination(turn: int) -> tuple[str, int, int]:
    """Returns MPI, ranks and threads. All combinations occur in 20 turns, and neighbours differ."""
    return FLAVOURS[turn % 2], RANKS[turn % 5], 1 + turn // 2 % 2


def _ions(types: int) -> System:
    """Returns sodium chloride. With many types, the kernel looks potentials up entry by entry."""
    system = salt(folder())
    field = system.force_field
    more = types - len(field.type_name)
    field.type_name += [f"X{i}" for i in range(more)]
    field.type_lj = np.concatenate([field.type_lj, np.tile([1.0, 0.0], (more, 1))])
    return system


_MAKERS: dict[str, Callable[[], System]] = {
    "lattice": lambda: make_water(3000),
    "tip4pew": lambda: warm_water("tip4pew"),
    "tip5p": lambda: warm_water("tip5p"),
    "3fad": lambda: prepare_gromacs(*write_molecules("3fad", folder())),
    "ions": lambda: _ions(2),
    "ions_of_nine_types": lambda: _ions(9),
    "ions_in_vacuum": lambda: prepare_gromacs(IN_VACUUM / "c.top", IN_VACUUM / "c.gro", vacuum=True),
}


@cache
def system_file(name: str) -> Path:
    """Returns the file of a row's system: one of the samples, or one that this table alone needs."""
    if name not in _MAKERS:
        return sample(name)
    path = folder() / f"bits-{name}.tsr"
    write(_MAKERS[name](), path)
    return path


SHORT: Settings = {"dynamics.steps": 40, "output.energy_every": 10}
DHFR: Settings = {"interactions.cutoff": 12.0, "interactions.switch": 10.0}


def _box_moves(run: Outcome, times: int = 5) -> bool:
    return len(set(run.table["box_a"])) > times


def _restraint_acts(run: Outcome) -> bool:
    return bool(run.table["restraint"].min() > 0)


def _late_searches(buffer: float) -> Row:
    """No rank has foreseen them: forces and energies that were summed before are discarded."""
    settings: Settings = {**SHORT, "parallel.buffer": buffer, "output.energy_every": 1}
    return Row("peptide", settings, acts=lambda run: run.report["results"]["pair_searches"] > 12)


def _baths(thermostat: str, barostat: str, coupling: str) -> Row:
    keys = {"thermostat": thermostat, "barostat": barostat, "coupling": coupling}
    times = 2 if barostat == "monte-carlo" else 5
    settings: Settings = {**BATHS, **{f"dynamics.{key}": value for key, value in keys.items()}}
    return Row("peptide", settings, (21,), acts=lambda run: _box_moves(run, times))


def _replicated(row: Row) -> Row:
    """Returns the row with all atoms on every rank: one rank has them anyway."""
    return replace(row, settings={**row.settings, "parallel.mode": "replicated"})


def _triclinic(system: str, coupling: str) -> Row:
    """The angles of the box change with its edges, unless all of these change alike."""

    def acts(run: Outcome) -> bool:
        angles = np.stack([run.table[f"box_{name}"] for name in ("alpha", "beta", "gamma")])
        return _box_moves(run) and bool((np.ptp(angles, axis=1) < 1e-9).all()) == (coupling == "isotropic")

    return Row(system, {**BATHS, "dynamics.coupling": coupling}, (21,), acts=acts)


def _baths_of_parts(thermostat: str) -> Row:
    """Few molecules have a bath of their own, so that most ranks have none of them."""
    sections = """
[[bath]]
select = "index 0:32"
temperature = [[0, 280], [0.05, 320]]
tau_t = 0.1
[[bath]]
select = "index 33:2999"
temperature = 310.0
tau_t = 0.2
"""
    settings: Settings = {**BATHS, "dynamics.steps": 45, "dynamics.thermostat": thermostat}
    return Row("lattice", settings, (21,), sections, acts=lambda run: "bath 1: 2," in run.process.stdout)


RESTRAINTS = """
[[restraint]]
kind = "position"
select = "index 0:299 900:1100"
k = [[0, 20.0], [0.05, 5.0]]
flat = 0.1
[[restraint]]
kind = "position"
select = "index 250:400"
k = 3.0
axes = "z"
[[restraint]]
kind = "distance"
groups = ["index 1500:1502", "index 1800:1802"]
k = 2.0
target = 5.0
[[restraint]]
kind = "dihedral"
groups = ["index 1503:1505", "index 1800:1802", "index 2400", "index 2700:2702"]
k = 20.0
target = -100.0
[[restraint]]
kind = "rmsd"
select = "index 0:44"
k = [[0, 20.0], [0.05, 5.0]]
target = 0.05
"""
RESTRAINED: Settings = {**SHORT, "dynamics.seed": 3, "dynamics.ensemble": "npt"}
FIXED: Settings = {**RESTRAINED, "dynamics.ensemble": "nvt", "dynamics.fixed": "index 600:899"}
SITES: Settings = {
    **SHORT,
    "interactions.cutoff": CUTOFF,
    "interactions.switch": 7.0,
    "dynamics.seed": 3,
    "parallel.pair_search_every": 10,
}
SITES_NPT: Settings = {**SITES, "dynamics.ensemble": "npt", "dynamics.coupling_every": 5, "dynamics.timestep": 1.0}
SITES_LANGEVIN: Settings = {
    **SITES,
    "dynamics.thermostat": "langevin",
    "dynamics.ensemble": "nvt",
    "dynamics.constraints": "none",
    "dynamics.timestep": 0.5,
}
IONS: Settings = {**OF_IONS, **SHORT, "dynamics.timestep": 2.0}
ON_MESH: Settings = {**LJ_MESH, "pme.grid": [36, 36, 36], "pme.order": 4, "dynamics.steps": 25}
THROUGH_DOUBLINGS: Settings = {
    "interactions.electrostatics": "cut",
    "interactions.cutoff": 1000.0,
    "dynamics.steps": 750,
    "dynamics.timestep": 2.0,
    "dynamics.velocities": "file",
    "dynamics.com_removal_every": 0,
    "output.energy_every": 50,
}
LEAPFROG: Settings = {
    "dynamics.integrator": "leapfrog",
    "dynamics.steps": 60,
    "dynamics.coupling_every": 5,
    "output.energy_every": 7,
}
THREE_STEPS: Settings = {
    "dynamics.timestep": 1.0,
    "dynamics.direct_every": 2,
    "dynamics.mesh_every": 4,
    "dynamics.ensemble": "nvt",
    "dynamics.coupling_every": 8,
    "dynamics.steps": 60,
    "output.energy_every": 12,
}

ROWS: dict[str, Row] = {
    "dhfr": Row("dhfr", {**DHFR, "dynamics.steps": 12, "output.energy_every": 6}, (6,)),
    "between two searches, at one, and after one": Row("peptide", {**SHORT, "output.energy_every": 1}, (5, 20, 21)),
    **{f"searches every {n}": Row("peptide", {**SHORT, "parallel.pair_search_every": n, "parallel.buffer": 1.0})
       for n in (1, 4, 25)},
    **{f"late searches {buffer}": _late_searches(buffer) for buffer in (0.1, 0.24)},
    "octahedron": Row("octahedron", SHORT),
    "dodecahedron": Row("dodecahedron", SHORT),
    "octahedron isotropic": _triclinic("octahedron", "isotropic"),
    "dodecahedron semi-isotropic": _triclinic("dodecahedron", "semi-isotropic"),
    "octahedron anisotropic": _triclinic("octahedron", "anisotropic"),
    "bussi c-rescale": _baths("bussi", "c-rescale", "isotropic"),
    "langevin c-rescale": _baths("langevin", "c-rescale", "semi-isotropic"),
    "nose-hoover berendsen": _baths("nose-hoover", "berendsen", "anisotropic"),
    "nose-hoover mtk": _baths("nose-hoover", "mtk", "semi-isotropic"),
    "langevin monte-carlo": _baths("langevin", "monte-carlo", "isotropic"),
    "bussi monte-carlo": _baths("bussi", "monte-carlo", "anisotropic"),
    **{f"baths of parts {name}": _baths_of_parts(name) for name in ("bussi", "nose-hoover", "langevin")},
    "leapfrog": Row("peptide", LEAPFROG, (21,)),
    "leapfrog in baths": Row(
        "peptide", {**LEAPFROG, "dynamics.ensemble": "npt", "dynamics.tau_t": 0.2, "dynamics.tau_p": 1.0}, (21,)
    ),
    "three time steps": Row("peptide", THREE_STEPS, (24,)),
    "restraints": Row("lattice", RESTRAINED, (20,), RESTRAINTS, _restraint_acts),
    "fixed atoms": Row("lattice", FIXED, (), RESTRAINTS, _restraint_acts),
    "tip4pew": Row("tip4pew", SITES_NPT, (20,), most_ranks=7),
    "tip5p": Row("tip5p", SITES_NPT, (20,), most_ranks=7),
    "3fad": Row("3fad", SITES_LANGEVIN, (20,)),
    "ions": Row("ions", IONS),
    "ions of nine types": Row("ions_of_nine_types", IONS),
    "ions that part in a vacuum": Row(
        "ions_in_vacuum", THROUGH_DOUBLINGS, (10, 300), acts=lambda run: bool(run.table["coulomb_real"][-1] < 4.0)
    ),
    "a mesh for Lennard-Jones": Row("peptide", {**ON_MESH, "dynamics.ensemble": "npt", "dynamics.coupling_every": 5}),
    "replicated data": _replicated(_baths("langevin", "monte-carlo", "isotropic")),
    "replicated restraints": _replicated(Row("lattice", RESTRAINED, (20,), RESTRAINTS, _restraint_acts)),
    "replicated in three time steps": _replicated(Row("peptide", THREE_STEPS, (24,))),
    "replicated vacuum": _replicated(Row("ions_in_vacuum", {**THROUGH_DOUBLINGS, "dynamics.steps": 350}, (10, 300))),
}  # fmt: skip
