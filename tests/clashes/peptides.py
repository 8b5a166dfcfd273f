"""Proteins without a fold, heavy atoms alone, and what stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tessera.build.charmm.places import placed
from tessera.build.clashes.files import read_structure
from tessera.build.clashes.molecules import Molecules
from tessera.system.model import FloatArray

THREE = {"A": "ALA", "G": "GLY", "P": "PRO", "C": "CYS", "S": "SER", "X": "XYZ"}  # X is unknown


def peptide(letters: str, dihedrals: Sequence[tuple[float, float]]) -> list[tuple[str, str, int, FloatArray]]:
    """Returns name, residue, its number and place of each atom, with φ and ψ in degrees."""
    radians = np.radians(dihedrals)
    n, alpha, c = np.array([0.0, 0, 0]), np.array([1.458, 0, 0]), np.array([2.009, 1.42, 0])
    atoms: list[tuple[str, str, int, FloatArray]] = []
    for number, letter in enumerate(letters, start=1):
        phi, psi = radians[number - 1]
        if number > 1:
            before_n, before_alpha, before_c = n, alpha, c
            n = placed(before_n, before_alpha, before_c, 1.329, np.radians(116.2), radians[number - 2][1])
            alpha = placed(before_alpha, before_c, n, 1.458, np.radians(121.7), np.pi)
            c = placed(before_c, n, alpha, 1.525, np.radians(111.0), phi)
        own = {"N": n, "CA": alpha, "C": c}
        own["O"] = placed(n, alpha, c, 1.231, np.radians(120.4), psi + np.pi)
        if letter != "G":
            own["CB"] = placed(c, n, alpha, 1.53, np.radians(110.1), np.radians(-122.6))
        if letter == "C":
            own["SG"] = placed(n, alpha, own["CB"], 1.81, np.radians(114.0), np.radians(-60))
        if letter == "S":
            own["OG"] = placed(n, alpha, own["CB"], 1.42, np.radians(110.0), np.radians(60))
        if letter == "P":
            own["CG"] = placed(n, alpha, own["CB"], 1.50, np.radians(104.0), np.radians(-25))
            own["CD"] = (n + own["CG"]) / 2 + 0.4 * (n - alpha)
        atoms += [(name, THREE[letter], number, place) for name, place in own.items()]
    return atoms


def write_pdb(
    path: Path,
    chains: dict[str, list[tuple[str, str, int, FloatArray]]],
    waters: FloatArray,
    edge: float | None = None,
    n_light: int = 0,
) -> Path:
    """Writes chains and an atom (n,3) Å of each of some waters, hydrogens of the last, in a cube if it has an edge."""
    lines = [] if edge is None else [f"CRYST1{edge:9.3f}{edge:9.3f}{edge:9.3f}  90.00  90.00  90.00 P 1           1"]
    names = ["O"] * (len(waters) - n_light) + ["H1"] * n_light
    single = [(name, "HOH", number, place) for number, (name, place) in enumerate(zip(names, waters), start=1)]
    for chain, atoms in [*chains.items(), ("W", single)]:
        for name, residue, number, (x, y, z) in atoms:
            place = f"{x:8.3f}{y:8.3f}{z:8.3f}"
            lines.append(f"ATOM  {1:5d}  {name:<3} {residue} {chain}{number % 10_000:4d}    {place}  1.00  0.00")
        lines.append("TER")
    path.write_text("\n".join([*lines, "END", ""]))
    return path


def molecules_of(path: Path, *chains_and_waters: Any, **more: Any) -> Molecules:
    return read_structure(write_pdb(path, *chains_and_waters, **more)).molecules


def coil(count: int, random: np.random.Generator) -> list[tuple[float, float]]:
    """Returns φ and ψ in degrees of so many residues: extended ones, so that the chain is far from itself."""
    return [(float(phi), float(psi)) for phi, psi in random.normal((-95, 130), 8, (count, 2))]


def around(
    place: FloatArray, atom: int, count: int, random: np.random.Generator, clear: float = 2.0, spread: float = 8.0
) -> FloatArray:
    """Returns places (count + 1,3) Å: the first on an atom of those at `place`, others about it in no atom's way."""
    step = random.normal(size=3)
    found = [place[atom] + 0.5 * step / np.linalg.norm(step)]
    while len(found) <= count:
        there = place[atom] + random.normal(size=3) * spread
        if np.linalg.norm(np.concatenate([place, found]) - there, axis=1).min() > clear:
            found.append(there)
    return np.array(found)
