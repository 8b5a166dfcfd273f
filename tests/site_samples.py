"""Systems with virtual sites for tests: boxes of water with four and five sites, and one GROMACS molecule for each kind
of site."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

WATERS = {
    "tip4pew": ("amber14/tip4pew.xml", "tip4pew"),
    "opc": ("amber14/opc.xml", "tip4pew"),
    "tip5p": ("tip5p.xml", "tip5p"),
}
CUTOFF = 8.0  # Å


@lru_cache
def openmm_water(model: str, n: int = 216) -> tuple[Any, Any, Any]:
    """Returns OpenMM's System, topology and positions of `n` waters."""
    from openmm import app, unit

    file, box = WATERS[model]
    field = app.ForceField(file)
    modeller = app.Modeller(app.Topology(), [])
    modeller.addSolvent(field, model=box, numAdded=n)
    system = field.createSystem(
        modeller.topology,
        nonbondedMethod=app.PME,
        nonbondedCutoff=CUTOFF * unit.angstrom,
        constraints=app.HBonds,
        rigidWater=True,
    )
    return system, modeller.topology, modeller.positions


@lru_cache
def warm_water(model: str) -> Any:
    """Returns the system of these waters after a short while at 300 K by OpenMM, with velocities."""
    import openmm
    from openmm import unit

    from tessera.prepare.openmm import prepare_openmm

    system, topology, positions = openmm_water(model)
    integrator = openmm.LangevinMiddleIntegrator(300, 20, 0.001)
    integrator.setRandomNumberSeed(1)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
    context.setPositions(positions)
    openmm.LocalEnergyMinimizer.minimize(context, maxIterations=15)
    context.setVelocitiesToTemperature(300, 1)
    integrator.step(200)
    state = context.getState(getPositions=True, getVelocities=True)
    found = prepare_openmm(system, topology, state.getPositions())
    velocities = state.getVelocities(asNumpy=True)
    found.velocity = np.asarray(velocities.value_in_unit(unit.angstrom / unit.picosecond))
    found.velocity[found.virtual_site_ids()] = 0.0
    return found


def write_water(model: str, folder: Path, warm: bool = False) -> Path:
    from tessera.prepare.openmm import prepare_openmm
    from tessera.system import write

    path = folder / f"{model}.tsr"
    write(warm_water(model) if warm else prepare_openmm(*openmm_water(model)), path)
    return path


#: a line of each section and function: site 6 of atoms 1 to 5
GROMACS_KINDS = {
    "2": ("virtual_sites2", "6 1 2 1 0.37"),
    "2fd": ("virtual_sites2", "6 1 2 2 -0.11"),
    "3": ("virtual_sites3", "6 1 2 3 1 0.22 0.31"),
    "3fd": ("virtual_sites3", "6 1 2 3 2 0.4 0.12"),
    "3fad": ("virtual_sites3", "6 1 2 3 3 115.0 0.13"),
    "3out": ("virtual_sites3", "6 1 2 3 4 -0.3 -0.2 3.1"),
    "4fdn": ("virtual_sites4", "6 1 2 3 4 2 0.9 1.2 0.105"),
    "cog": ("virtual_sitesn", "6 1 2 3 4 5"),
    "com": ("virtual_sitesn", "6 2 1 2 5"),
    "cow": ("virtual_sitesn", "6 3 1 0.5 3 2.0 4 1.5"),
}
_ARM = 1.4 / np.sqrt(3)
SHAPE = np.array([[0, 0, 0], [_ARM, _ARM, _ARM], [-_ARM, -_ARM, _ARM], [-_ARM, _ARM, -_ARM], [_ARM, -_ARM, -_ARM]])  # Å


def write_molecules(kind: str, folder: Path, n: int = 27, edge: float = 24.0) -> tuple[Path, Path]:
    """Writes top and gro of `n` flexible molecules of five atoms and one site, in random places and shapes."""
    section, line = GROMACS_KINDS[kind]
    bonds = "\n".join(f"1 {j} 1 0.14 120000" for j in range(2, 6))
    angles = "\n".join(f"{i} 1 {j} 1 109.47 400" for i in range(2, 6) for j in range(i + 1, 6))
    pairs = "\n".join(" ".join(map(str, range(i, 7))) for i in range(1, 6))
    (folder / "sites.top").write_text(
        f"""[ defaults ]
1 2 yes 0.5 0.5
[ atomtypes ]
C 12.0 0.0 A 0.30 0.3
V 0.0 0.0 V 0.25 0.1
[ moleculetype ]
MOL 2
[ atoms ]
1 C 1 MOL C1 1 0.30 16.0
2 C 1 MOL C2 1 -0.20 12.0
3 C 1 MOL C3 1 0.15 14.0
4 C 1 MOL C4 1 0.05 10.0
5 C 1 MOL C5 1 0.10 12.0
6 V 1 MOL X 1 -0.40 0.0
[ bonds ]
{bonds}
[ angles ]
{angles}
[ {section} ]
{line}
[ exclusions ]
{pairs}
[ system ]
sites
[ molecules ]
MOL {n}
"""
    )
    random = np.random.default_rng(4)
    side = round(n ** (1 / 3))
    lines = []
    for m in range(n):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        if np.linalg.det(turn) < 0:
            turn[:, 0] *= -1
        centre = (np.array([m // side**2, m // side % side, m % side]) + 0.5) * edge / side
        places = (SHAPE + 0.06 * random.normal(size=SHAPE.shape)) @ turn.T + centre
        for k, r in enumerate([*places, places[0]]):
            name, x = (f"C{k + 1}" if k < 5 else "X"), r / 10
            lines.append(f"{m + 1:5d}MOL  {name:>5s}{6 * m + k + 1:5d}{x[0]:12.7f}{x[1]:12.7f}{x[2]:12.7f}")
    box = " ".join([f"{edge / 10:.5f}"] * 3)
    (folder / "sites.gro").write_text("\n".join(["sites", str(6 * n), *lines, box, ""]))
    return folder / "sites.top", folder / "sites.gro"


def gromacs_place(kind: str, r: np.ndarray) -> np.ndarray:
    """Returns the place (m,3) of the site for atoms (m,5,3) in nm, by the formulas of GROMACS' reference manual."""
    i, j, k, last = (r[:, a] for a in range(4))
    ij, ik, jk, il = j - i, k - i, k - j, last - i

    def unit(v: np.ndarray) -> np.ndarray:
        return v / np.linalg.norm(v, axis=1, keepdims=True)

    def along(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.sum(u * v, axis=1, keepdims=True)

    if kind == "2":
        return 0.63 * i + 0.37 * j
    if kind == "2fd":
        return i - 0.11 * unit(ij)
    if kind == "3":
        return 0.47 * i + 0.22 * j + 0.31 * k
    if kind == "3fd":
        return i + 0.12 * unit(ij + 0.4 * jk)
    if kind == "3fad":
        theta, across = np.radians(115.0), jk - along(ij, jk) / along(ij, ij) * ij
        return i + 0.13 * np.cos(theta) * unit(ij) + 0.13 * np.sin(theta) * unit(across)
    if kind == "3out":
        return i - 0.3 * ij - 0.2 * ik + 3.1 * np.cross(ij, ik)
    if kind == "4fdn":
        return i + 0.105 * unit(np.cross(0.9 * ik - ij, 1.2 * il - ij))
    if kind == "cog":
        return r[:, 1:].mean(axis=1)
    if kind == "com":
        return (16 * i + 12 * j + 12 * r[:, 4]) / 40
    return (0.5 * i + 2.0 * k + 1.5 * last) / 4
