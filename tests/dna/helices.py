"""Double helices from parameters, and PDB files of their bases."""

from __future__ import annotations

import numpy as np

from tessera.build.dna.frames import Frames, bases_of, chained
from tessera.build.dna.nucleotides import NUCLEOTIDES, PARTNER
from tessera.system.model import FloatArray

SEQUENCE = "GATTACAGGCTC"


def parameters(n: int, seed: int = 1) -> FloatArray:
    """Returns steps (n,6) about those of B-DNA."""
    spread = np.random.default_rng(seed).normal(size=(n, 6))
    return np.array([0, 0, 3.4, 0, 0, 34.3]) + spread * [0.4, 0.5, 0.2, 4, 6, 4]


def pdb_lines(sequence: str, pairs: Frames, parameter: FloatArray) -> list[str]:
    """Returns the heavy atoms of both strands as lines of a PDB: all of the bases and O3', and P where the O3' of the
    nucleotide before is, so that chains are whole."""
    first, second = bases_of(pairs, parameter)
    partners = "".join(PARTNER[letter] for letter in reversed(sequence))
    lines = []
    for chain, letters, frames in (("I", sequence, first), ("J", partners, second[::-1])):
        oxygen = None
        for number, letter in enumerate(letters, start=1):
            kind = NUCLEOTIDES[letter]
            names = tuple(name for name in kind.names if name == "C1'" or not set("'P") & set(name))
            places = dict(zip(names, frames[number - 1 : number].placed(kind.places(names))[0]))
            if oxygen is not None:
                places["P"] = oxygen + np.array([1.6, 0, 0])
            oxygen = places["O3'"] = frames.origin[number - 1] + np.array([9.0, 0, 0])
            for name, (x, y, z) in places.items():
                residue = f"D{letter} {chain}{number:4d}"
                lines.append(f"ATOM  {len(lines) + 1:5d}  {name:<4} {residue}    {x:8.3f}{y:8.3f}{z:8.3f}")
        lines.append("TER")
    return lines


def helix(n_pairs: int = len(SEQUENCE), seed: int = 1) -> tuple[FloatArray, FloatArray, Frames]:
    """Returns steps, parameters of pairs, and frames of pairs."""
    steps = parameters(n_pairs - 1, seed)
    pairs = np.random.default_rng(seed + 1).normal(size=(n_pairs, 6)) * [0.3, 0.1, 0.3, 6, 6, 3]
    return steps, pairs, chained(steps)
