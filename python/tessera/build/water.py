"""Makes a box of rigid TIP3P water (CHARMM's, with Lennard-Jones sites on the hydrogens) near equilibrium.

Copies of a tile of 216 molecules, which scripts/water_tile has brought to equilibrium, fill space, and a box is cut out
of it (seams.py). Fewer molecules than a tile holds are put on a lattice instead, and a box of many millions consists of
whole tiles, because a file of those is written without having the box in memory.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from tessera.build.boxes import system_of
from tessera.build.copies import Copies
from tessera.build.lattice import brick_of_sites, nearest_brick, sites
from tessera.build.seams import Liquid, box_of
from tessera.constants import RMIN_TO_SIGMA
from tessera.errors import InputError
from tessera.prepare.molecule import detect_rigid_water
from tessera.system import ForceField, System, Template, Terms
from tessera.system.model import FloatArray

DENSITY = 0.997  # g/cm³, at 298 K
GRAMS = 0.602214076  # g/cm³ in amu/Å³
OH, ANGLE, HH = 0.9572, np.radians(104.52), 1.5139  # Å, radian, Å
CHARGE = np.array([-0.834, 0.417, 0.417])
MASS = np.array([15.9994, 1.008, 1.008])
VOLUME = MASS.sum() / (DENSITY * GRAMS)  # Å³ of a molecule
TILE_MOLECULES = 216
WHOLE_TILES_FROM = 5_000_000  # atoms
TILE_EDGE = (TILE_MOLECULES * VOLUME) ** (1 / 3)
LJ = np.array([[2 * 1.7682 * RMIN_TO_SIGMA, 0.1521], [2 * 0.2245 * RMIN_TO_SIGMA, 0.046]])


def water_template(field: ForceField) -> Template:
    """Returns one molecule, of which types and parameters are the first rows of `field`."""
    template = Template(
        name="TIP3",
        atom_name=np.array(["OH2", "H1", "H2"]),
        type=np.array([0, 1, 1], np.int32),
        charge=CHARGE.copy(),
        mass=MASS.copy(),
        atomic_number=np.array([8, 1, 1], np.int32),
        residue=np.zeros(3, np.int32),
        residue_name=np.array(["TIP3"]),
        segment_name=np.array(["WAT"]),
        residue_number=np.array([1], np.int32),
        group=np.zeros(3, np.int32),
        terms={
            "bond": Terms(np.array([[0, 1], [0, 2], [1, 2]], np.int32), np.array([0, 0, 1], np.int32)),
            "angle": Terms(np.array([[1, 0, 2]], np.int32), np.array([0], np.int32)),
        },
        exclusions=np.array([[0, 1], [0, 2], [1, 2]], np.int32),
    )
    detect_rigid_water(template, field)
    return template


def water_force_field() -> ForceField:
    """Returns TIP3P as in CHARMM's toppar_water_ions.str."""
    return ForceField(
        type_name=["OT", "HT"],
        type_lj=LJ.copy(),
        tables={
            "bond": np.array([[450.0, OH], [0.0, HH]]),
            "angle": np.array([[55.0, ANGLE]]),
        },
    )


def tiles(atoms: int, seed: int = 1) -> Copies:
    """Returns copies of the tile, whole, with about `atoms` atoms in all. `seed` sets how the tile is shifted and
    turned."""
    edges = np.full(3, TILE_EDGE)
    position = Liquid(tile(), TILE_EDGE, CHARGE, LJ[[0, 1, 1]], rigid).turned(seed)
    one = _system("tile", edges, position)
    brick = nearest_brick(atoms / one.n_atoms)
    return Copies(one, brick, position.reshape(-1, 3) / edges, f"make water --atoms {atoms} --seed {seed}")


def make_water(atoms: int, seed: int = 1) -> System:
    """Makes about `atoms` atoms (rounded to whole molecules) at 0.997 g/cm³. `seed` sets how the liquid is shifted and
    turned in the box.

    Raises `InputError` for fewer than eight molecules.
    """
    count = round(atoms / 3)
    if count < 8:
        raise InputError(f"--atoms {atoms}: a box of water needs at least 24 atoms")
    if count < TILE_MOLECULES:
        return water_on_lattice(count, seed)
    edges = box_edges(count)
    position = box_of(Liquid(tile(), TILE_EDGE, CHARGE, LJ[[0, 1, 1]], rigid), edges, count, seed)
    return _system(f"make water --atoms {atoms} --seed {seed}", edges, position)


def box_edges(count: int) -> FloatArray:
    """Returns (3,) Å: a cube, or a nearly cubic box of whole tiles in two directions, which has fewer seams."""
    edge = (count * VOLUME) ** (1 / 3)
    tiles = round(edge / TILE_EDGE)
    if abs(tiles * TILE_EDGE / edge - 1) < 0.05:
        side = tiles * TILE_EDGE
        return np.array([side, side, count * VOLUME / side**2])
    return np.full(3, edge)


def tile() -> FloatArray:
    """Returns molecules (216,3,3) Å of exactly the constrained shape, which fill space when repeated with period
    `TILE_EDGE`."""
    with resources.files("tessera.build").joinpath("water_tile.npy").open("rb") as file:
        fraction = np.load(file)
    # Hydrogens are placed relative to their oxygen: differences of wrapped integers are those of nearest images.
    atoms = (fraction[:, :1].astype(np.int64) + (fraction - fraction[:, :1])) * (TILE_EDGE / 65536)
    return rigid(atoms)


def rigid(atoms: FloatArray) -> FloatArray:
    """Returns the molecules (m,3,3) Å of exactly the constrained shape that are nearest to these, with the same centres
    of mass."""
    centre = np.einsum("a,maj->mj", MASS / MASS.sum(), atoms)
    across = _unit(atoms[:, 1] - atoms[:, 2])
    along = atoms[:, 1] + atoms[:, 2] - 2 * atoms[:, 0]
    along = _unit(along - np.einsum("mj,mj->m", along, across)[:, None] * across)
    axes = np.stack([across, along], axis=1)  # the axes x and y of molecule()
    return np.asarray(centre[:, None, :] + molecule()[:, :2] @ axes)


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def water_on_lattice(count: int, seed: int) -> System:
    """Puts `count` molecules on a cubic lattice at 0.997 g/cm³. Orientations are drawn by counter, so molecule m of a
    seed always has the same one."""
    brick = brick_of_sites(count, spare=0.15)
    spacing = (count * VOLUME / np.prod([float(n) for n in brick])) ** (1 / 3)
    centre = sites(brick, count) * spacing
    position = centre[:, None, :] + np.einsum("mij,aj->mai", rotations(count, seed), molecule())
    return _system(f"water on a lattice, seed {seed}", spacing * np.array(brick, np.float64), position)


def _system(source: str, edges: FloatArray, position: FloatArray) -> System:
    """Makes the system from `position` (molecules,3,3) Å."""
    field = water_force_field()
    return system_of(source, edges, position.reshape(-1, 3), field, [(water_template(field), len(position))])


def molecule() -> FloatArray:
    """Returns the constrained shape (3,3) Å with its centre of mass at the origin."""
    half = HH / 2
    height = np.sqrt(OH**2 - half**2)
    atoms = np.array([[0.0, 0.0, 0.0], [half, height, 0.0], [-half, height, 0.0]])
    return atoms - (MASS[:, None] * atoms).sum(axis=0) / MASS.sum()


def rotations(count: int, seed: int) -> FloatArray:
    """Returns uniform random rotations (count,3,3), drawn by counter from `seed`."""
    draw = np.random.Generator(np.random.Philox(key=seed)).random((count, 3))
    # Uniform unit quaternions by Shoemake's method.
    first, second = np.sqrt(1 - draw[:, 0]), np.sqrt(draw[:, 0])
    a, b = 2 * np.pi * draw[:, 1], 2 * np.pi * draw[:, 2]
    x, y, z, w = first * np.sin(a), first * np.cos(a), second * np.sin(b), second * np.cos(b)
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=1),
            np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=1),
            np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1),
        ],
        axis=1,
    )
