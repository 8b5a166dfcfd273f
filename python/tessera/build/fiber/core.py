"""The core of a nucleosome as the generator sees it: where DNA enters and leaves, spheres that fill it, and charges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from tessera.build.dna import paths
from tessera.build.dna.frames import Frames
from tessera.build.fiber.salt import renormalised
from tessera.build.nucleosome.wrapped import nucleosome_frame
from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file
from tessera.system.model import FloatArray

DIAMETER = 22.0  # Å of spheres, the thickness of DNA
WRAPPED = 147  # base pairs of 1KX5
COLUMNS = ("x", "y", "z", "charge")
_PAIRS = 3  # from a sphere on the path of DNA to the next
_SPACING = 12.0  # Å: atoms in a cube have one sphere
_FEWEST = 5  # atoms that have one
_FURTHEST = 200.0  # Å from the centre of a nucleosome


@dataclass(frozen=True)
class Core:
    """The pairs of the wrapped DNA, spheres (k,3) Å and charges (m,4), x y z in Å and e, in the nucleosome's frame."""

    pairs: Frames
    spheres: FloatArray
    charges: FloatArray


def core(salt: float, charges: FloatArray | None = None, own: tuple[Frames, FloatArray] | None = None) -> Core:
    """Returns the core with these charges (m,4), and with the wrapped DNA and the atoms of proteins of a template in
    its own frame; without them those of 1KX5, whose charges are those of residues and phosphates renormalised as the
    surface of DNA is."""
    pairs, spheres = (wrapped(), _table("spheres")) if own is None else (own[0], spheres_of(own[1]))
    if charges is None:
        charges = _table("charges") * [1, 1, 1, renormalised(salt)]
    return Core(pairs, np.concatenate([pairs.origin[_PAIRS // 2 :: _PAIRS], spheres]), charges)


@cache
def wrapped() -> Frames:
    """Returns the pairs of 1KX5's DNA in the frame of the nucleosome."""
    pairs = paths.nucleosome(WRAPPED).pairs
    frame = nucleosome_frame(pairs, "1KX5")
    return Frames((pairs.origin - frame.origin) @ frame.rotation, frame.rotation.T @ pairs.rotation)


@cache
def _table(name: str) -> FloatArray:
    text = resources.files("tessera.build.fiber").joinpath(f"1kx5_{name}.csv").read_text()
    lines = [line for line in text.split("\n") if line and line[0] not in "#x"]
    return np.array([[float(word) for word in line.split(",")] for line in lines])


def spheres_of(atoms: FloatArray) -> FloatArray:
    """Returns the middles (k,3) of atoms (n,3) that are in one cube of a lattice."""
    atoms = atoms[np.isfinite(atoms).all(axis=1)]
    _, cube, count = np.unique(np.floor(atoms / _SPACING), axis=0, return_inverse=True, return_counts=True)
    middle = np.zeros((len(count), 3))
    np.add.at(middle, cube.reshape(-1), atoms)
    return np.asarray((middle / count[:, None])[count >= _FEWEST])


def read_charges(path: Path) -> FloatArray:
    """Reads charges (m,4): a CSV file with the columns x, y, z, charge, in Å and e; lines that begin with # are
    comments. Raises `InputError` that names the line."""
    lines = [line.strip() for line in read_text(require_file(path, "file of charges")).split("\n")]
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line and line[0] != "#"]
    names = [name.strip() for name in rows[0][1].split(",")] if rows else []
    if sorted(names) != sorted(COLUMNS) or len(rows) < 2:
        raise InputError(
            f"{path.name}: expected the columns {', '.join(COLUMNS)} in the first line that is no comment, and charges "
            f"below it, found {','.join(names)[:60]!r} and {max(len(rows) - 1, 0)} charge(s)"
        )
    found = []
    for number, line in rows[1:]:
        try:
            values = [float(word.replace("_", "?")) for word in line.split(",")]
        except ValueError:
            values = []
        if len(values) != len(names) or not (np.abs(values) < _FURTHEST).all():
            raise InputError(
                f"{path.name}, line {number}: expected {len(names)} numbers below {_FURTHEST:g} in magnitude, found "
                f"{line[:60]!r}"
            )
        by_name = dict(zip(names, values))
        found.append([by_name[name] for name in COLUMNS])
    return np.array(found)
