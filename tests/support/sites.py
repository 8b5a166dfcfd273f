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


def _section(flag: str, form: str, values: Any) -> str:
    per_line, kind, width = {"20a4": (20, "a", 4), "10I8": (10, "i", 8), "5E16.8": (5, "e", 16)}[form]
    write = {"a": f"{{:<{width}}}", "i": f"{{:>{width}d}}", "e": f"{{:>{width}.8E}}"}[kind]
    texts = [write.format(v) for v in values]
    lines = ["".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)] or [""]
    return f"%FLAG {flag}\n%FORMAT({form})\n" + "\n".join(lines) + "\n"


def write_amber_water(n_points: int, folder: Path, side: int = 3, spacing: float = 6.0) -> tuple[Path, Path]:
    """Writes prmtop and rst7 of waters with one extra point (TIP4P-Ew) or two (TIP5P), as LEaP bonds them."""
    oh, hh, arm = 0.9572, 1.5139, (0.125, 0.70)[n_points - 1]
    n, size = side**3, 3 + n_points
    names = ["O", "H1", "H2", *(["EPW"] if n_points == 1 else ["EP1", "EP2"])]
    charge = [0.0, 0.52422, 0.52422, -1.04844] if n_points == 1 else [0.0, 0.241, 0.241, -0.241, -0.241]
    first = np.arange(n) * size
    with_h = [(0, 1, 1), (0, 2, 1), (1, 2, 2)]
    without = [(0, 3 + p, 3) for p in range(n_points)]

    def bonds(rows: list[tuple[int, int, int]]) -> list[int]:
        return [x for f in first.tolist() for i, j, kind in rows for x in (3 * (f + i), 3 * (f + j), kind)]

    n_excluded = [size - 1 - a for a in range(size - 1)] + [1]
    excluded = [
        x for f in first.tolist() for a in range(size) for x in ([f + b + 1 for b in range(a + 1, size)] or [0])
    ]
    pointers = {
        "NATOM": n * size, "NTYPES": 2, "NBONH": 3 * n, "MBONA": n_points * n, "NNB": len(excluded), "NRES": n,
        "NBONA": n_points * n, "NUMBND": 3, "NATYP": 3, "IFBOX": 1, "NMXRS": size, "NUMEXTRA": n_points * n,
    }  # fmt: skip
    # fmt: off
    order = [
        "NATOM", "NTYPES", "NBONH", "MBONA", "NTHETH", "MTHETA", "NPHIH", "MPHIA", "NHPARM", "NPARM", "NNB", "NRES",
        "NBONA", "NTHETA", "NPHIA", "NUMBND", "NUMANG", "NPTRA", "NATYP", "NPHB", "IFPERT", "NBPER", "NGPER", "NDPER",
        "MBPER", "MGPER", "MDPER", "IFBOX", "NMXRS", "IFCAP", "NUMEXTRA",
    ]
    # fmt: on
    edge = side * spacing
    sections = [
        ("TITLE", "20a4", ["wate", "r"]),
        ("POINTERS", "10I8", [pointers.get(name, 0) for name in order]),
        ("ATOM_NAME", "20a4", names * n),
        ("CHARGE", "5E16.8", [18.2223 * q for q in charge] * n),
        ("ATOMIC_NUMBER", "10I8", ([8, 1, 1] + [-1] * n_points) * n),
        ("MASS", "5E16.8", ([16.0, 1.008, 1.008] + [0.0] * n_points) * n),
        ("ATOM_TYPE_INDEX", "10I8", ([1] + [2] * (size - 1)) * n),
        ("NUMBER_EXCLUDED_ATOMS", "10I8", n_excluded * n),
        ("NONBONDED_PARM_INDEX", "10I8", [1, 2, 2, 3]),
        ("RESIDUE_LABEL", "20a4", ["WAT"] * n),
        ("RESIDUE_POINTER", "10I8", (first + 1).tolist()),
        ("BOND_FORCE_CONSTANT", "5E16.8", [553.0, 553.0, 600.0]),
        ("BOND_EQUIL_VALUE", "5E16.8", [oh, hh, arm]),
        *((f"ANGLE_{name}", "5E16.8", []) for name in ("FORCE_CONSTANT", "EQUIL_VALUE")),
        *((f"DIHEDRAL_{name}", "5E16.8", []) for name in ("FORCE_CONSTANT", "PERIODICITY", "PHASE")),
        *((f"{name}_SCALE_FACTOR", "5E16.8", []) for name in ("SCEE", "SCNB")),
        ("SOLTY", "5E16.8", [0.0] * 3),
        ("LENNARD_JONES_ACOEF", "5E16.8", [6.5e5, 0.0, 0.0]),
        ("LENNARD_JONES_BCOEF", "5E16.8", [6.5e2, 0.0, 0.0]),
        ("BONDS_INC_HYDROGEN", "10I8", bonds(with_h)),
        ("BONDS_WITHOUT_HYDROGEN", "10I8", bonds(without)),
        *((f"{kind}S_{part}_HYDROGEN", "10I8", []) for kind in ("ANGLE", "DIHEDRAL") for part in ("INC", "WITHOUT")),
        ("EXCLUDED_ATOMS_LIST", "10I8", excluded),
        *((f"HBOND_{name}", "5E16.8", []) for name in ("ACOEF", "BCOEF")),
        ("HBCUT", "5E16.8", []),
        ("AMBER_ATOM_TYPE", "20a4", (["OW", "HW", "HW"] + ["EP"] * n_points) * n),
        ("TREE_CHAIN_CLASSIFICATION", "20a4", ["BLA"] * (n * size)),
        ("JOIN_ARRAY", "10I8", [0] * (n * size)),
        ("IROTAT", "10I8", [0] * (n * size)),
        ("SOLVENT_POINTERS", "10I8", [0, n, 1]),
        ("ATOMS_PER_MOLECULE", "10I8", [size] * n),
        ("BOX_DIMENSIONS", "5E16.8", [90.0, edge, edge, edge]),
        ("RADIUS_SET", "20a4", ["none"]),
        ("RADII", "5E16.8", [1.5] * (n * size)),
        ("SCREEN", "5E16.8", [0.8] * (n * size)),
    ]
    version = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/01  00:00:00\n"
    (folder / "water.prmtop").write_text(version + "".join(_section(*s) for s in sections))
    random, half = np.random.default_rng(2), hh / 2
    height = np.sqrt(oh**2 - half**2)
    shape = [[0, 0, 0], [half, height, 0], [-half, height, 0]]
    shape += [[0, arm, 0]] if n_points == 1 else [[0, -0.4, 0.57], [0, -0.4, -0.57]]
    values: list[float] = []
    for m in range(n):
        turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        centre = (np.array([m // side**2, m // side % side, m % side]) + 0.5) * spacing
        values += (np.array(shape) @ turn.T + centre).ravel().tolist()
    rows = ["".join(f"{v:12.7f}" for v in values[i : i + 6]) for i in range(0, len(values), 6)]
    box = "".join(f"{v:12.7f}" for v in (edge, edge, edge, 90, 90, 90))
    (folder / "water.rst7").write_text("\n".join(["water", f"{n * size:5d}", *rows, box, ""]))
    return folder / "water.prmtop", folder / "water.rst7"


#: lone pairs of a chain of four atoms: atom, hosts, distance Å, angle and dihedral in degrees
LONE_PAIRS = [
    (5, (4, 3), 1.64, 0.0, 0.0),  # colinear
    (6, (1, 2, 3), 0.9, 110.0, 75.0),  # relative
    (7, (2, 1, 3), -0.35, 20.0, 40.0),  # bisector
    (8, (1, 2, 3), 0.7, 100.0, -60.0),  # a second one of its host
]


def write_lone_pairs(folder: Path) -> tuple[Path, Path, Path]:
    """Writes PSF, PDB and parameters of two chains of four atoms with lone pairs."""
    places = np.array([[0, 0, 0], [1.5, 0.1, 0], [2.0, 1.5, 0.2], [3.4, 1.6, 0.9]])
    charge = [0.1, 0.2, -0.1, 0.05, 0.05, -0.15, 0.1, -0.25]
    n = 8
    atoms = [
        f"{n * m + a + 1:8d} SEG  {m + 1:<4d} CHN  {f'C{a + 1}' if a < 4 else f'LP{a - 3}':<4s} "
        f"{'CA' if a < 4 else 'LP':<4s} {charge[a]:10.6f} {12.011 if a < 4 else 0.0:13.4f}           0"
        for m in range(2)
        for a in range(n)
    ]

    def lists(rows: list[tuple[int, ...]], per_line: int) -> str:
        flat = [n * m + a for m in range(2) for row in rows for a in row]
        return "".join("".join(f"{v:8d}" for v in flat[i : i + per_line]) + "\n" for i in range(0, len(flat), per_line))

    hosts = [(atom, *host) for atom, host, *_ in LONE_PAIRS]
    pointers = np.cumsum([0] + [len(h) for h in hosts] * 2) + 1
    pairs = [
        f"{len(host):8d}{pointers[len(LONE_PAIRS) * m + k]:8d}   F{d:14.5f}{angle:14.5f}{dihedral:14.5f}"
        for m in range(2)
        for k, (_, host, d, angle, dihedral) in enumerate(LONE_PAIRS)
    ]
    sections = [
        "PSF\n\n       1 !NTITLE\n* chains\n",
        f"{2 * n:8d} !NATOM\n" + "\n".join(atoms) + "\n",
        "       6 !NBOND: bonds\n" + lists([(1, 2), (2, 3), (3, 4)], 8),
        "       4 !NTHETA: angles\n" + lists([(1, 2, 3), (2, 3, 4)], 9),
        "       2 !NPHI: dihedrals\n" + lists([(1, 2, 3, 4)], 8),
        "       0 !NIMPHI: impropers\n",
        "       0 !NDON: donors\n",
        "       0 !NACC: acceptors\n",
        "       0 !NNB\n\n" + ("".join(f"{0:8d}" for _ in range(8)) + "\n") * 2,
        "       1       0 !NGRP NST2\n       0       0       0\n",
        f"{2 * len(pairs) // 2:8d}{2 * sum(map(len, hosts)):8d} !NUMLP NUMLPH\n"
        + "\n".join(pairs)
        + "\n"
        + lists(hosts, 8),
    ]
    (folder / "chain.psf").write_text("\n".join(sections))
    lines = [f"CRYST1{40:9.3f}{40:9.3f}{40:9.3f}{90:7.2f}{90:7.2f}{90:7.2f} P 1           1"]
    for m in range(2):
        for a in range(n):
            x, y, z = places[min(a, 3)] + (0, 0, 6 * m)
            name = f"C{a + 1}" if a < 4 else f"LP{a - 3}"
            lines.append(
                f"ATOM  {n * m + a + 1:5d}  {name:<3s} CHN A{m + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00      SEG"
            )
    (folder / "chain.pdb").write_text("\n".join([*lines, "END", ""]))
    (folder / "chain.prm").write_text(
        """* parameters
*
ATOMS
MASS -1 CA 12.011
MASS -1 LP 0.0

BONDS
CA CA 300.0 1.5

ANGLES
CA CA CA 60.0 112.0

DIHEDRALS
CA CA CA CA 0.3 3 0.0

NONBONDED nbxmod 5 atom cdiel fshift vatom vdistance vfswitch -
cutnb 14.0 ctofnb 12.0 ctonnb 10.0 eps 1.0 e14fac 1.0 wmin 1.5
CA 0.0 -0.07 1.99
LP 0.0 -0.01 1.20

END
"""
    )
    return folder / "chain.psf", folder / "chain.pdb", folder / "chain.prm"
