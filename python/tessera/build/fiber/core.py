"""The core of a nucleosome as the generator sees it: where DNA enters and leaves, spheres that fill it, and charges.

Tails of histones are part of it where its structure has them, or they are chains of beads, and the core is what they
leave."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from tessera.build.dna import paths
from tessera.build.dna.frames import Frames
from tessera.build.fiber.columns import Columns, Fact, columns, number, read_columns
from tessera.build.fiber.salt import renormalised
from tessera.build.fiber.tails import Tail
from tessera.build.nucleosome.wrapped import nucleosome_frame
from tessera.errors import InputError
from tessera.system.model import FloatArray

DIAMETER = 22.0  # Å of spheres, the thickness of DNA
WRAPPED = 147  # base pairs of 1KX5
COLUMNS = ("x", "y", "z", "charge")
_PAIRS = 3  # from a sphere on the path of DNA to the next
_SPACING = 12.0  # Å: atoms in a cube have one sphere
_FEWEST = 5  # atoms that have one
_FURTHEST = 200.0  # Å from the centre of a nucleosome
_SAME_SALT = 1e-4  # what the digits of a file leave, relative


@dataclass(frozen=True)
class Core:
    """The pairs of the wrapped DNA, spheres (k,3) Å and charges (m,4), x y z in Å and e, in the nucleosome's frame, and
    the tails that are chains of beads."""

    pairs: Frames
    spheres: FloatArray
    charges: FloatArray
    tails: tuple[Tail, ...] = ()


def core(
    salt: float,
    charges: FloatArray | None = None,
    own: tuple[Frames, FloatArray] | None = None,
    tails: tuple[Tail, ...] = (),
) -> Core:
    """Returns the core with these charges (m,4), and with the wrapped DNA and the atoms of proteins of a template in
    its own frame; without them those of 1KX5, whose charges are those of residues and phosphates renormalised as the
    surface of DNA is. Where there are tails of beads, neither atoms nor charges are theirs, and those of beads are
    renormalised, too."""
    what, part = "core_" if tails else "", renormalised(salt)
    pairs, spheres = (wrapped(), _table(f"{what}spheres")) if own is None else (own[0], spheres_of(own[1]))
    if charges is None:
        charges = _table(f"{what}charges") * [1, 1, 1, part]
    seen = tuple(replace(tail, charges=tuple(part * charge for charge in tail.charges)) for tail in tails)
    return Core(pairs, np.concatenate([pairs.origin[_PAIRS // 2 :: _PAIRS], spheres]), charges, seen)


def own_tails() -> tuple[Tail, ...]:
    """Returns the tails of 1KX5."""
    found = _read("tails", ("tail", *COLUMNS[:3], "charges"))
    places = found.numbers(COLUMNS[:3], _FURTHEST)
    return tuple(
        Tail(row.cells["tail"], place, tuple(map(float, row.cells["charges"].split())))
        for row, place in zip(found.rows, places)
    )


@cache
def wrapped() -> Frames:
    """Returns the pairs of 1KX5's DNA in the frame of the nucleosome."""
    pairs = paths.nucleosome(WRAPPED).pairs
    frame = nucleosome_frame(pairs, "1KX5")
    return Frames((pairs.origin - frame.origin) @ frame.rotation, frame.rotation.T @ pairs.rotation)


@cache
def _table(name: str) -> FloatArray:
    names = COLUMNS if name.endswith("charges") else COLUMNS[:3]
    return _read(name, names).numbers(names, _FURTHEST)


def _read(name: str, names: tuple[str, ...]) -> Columns:
    file = f"1kx5_{name}.csv"
    text = resources.files("tessera.build.fiber").joinpath(file).read_text(encoding="utf-8")
    return columns(text, file, names, name)


def spheres_of(atoms: FloatArray) -> FloatArray:
    """Returns the middles (k,3) of atoms (n,3) that are in one cube of a lattice."""
    atoms = atoms[np.isfinite(atoms).all(axis=1)]
    _, cube, count = np.unique(np.floor(atoms / _SPACING), axis=0, return_inverse=True, return_counts=True)
    middle = np.zeros((len(count), 3))
    np.add.at(middle, cube.reshape(-1), atoms)
    return np.asarray((middle / count[:, None])[count >= _FEWEST])


def read_charges(path: Path, salt: float) -> FloatArray:
    """Reads charges (m,4): a CSV file with the columns x, y, z, charge, in Å and e. Where a comment such as
    `# salt: 0.15 mol/L` says for which salt they are, as in the files of `tessera build charges`, it must be this one,
    in mol/L: in another, charges with the same field differ. Raises `InputError` that names the line."""
    found = read_columns(path, COLUMNS, "file of charges", "charge")
    if "salt" in found.facts:
        _check_salt(found.facts["salt"], salt)
    return found.numbers(COLUMNS, _FURTHEST)


def _check_salt(fact: Fact, salt: float) -> None:
    made = number(fact.text.removesuffix("mol/L"))
    if not made > 0:
        raise InputError(f"{fact.where}: salt is {fact.text[:60]!r}, expected mol/L, such as '{salt:g} mol/L'")
    if not math.isclose(made, salt, rel_tol=_SAME_SALT):
        raise InputError(
            f"{fact.where}: these charges are for {made:g} mol/L of salt, and --ionic-strength is {salt:g}: give "
            f"--ionic-strength {made:g}, or charges of `tessera build charges --salt {salt:g}`"
        )
