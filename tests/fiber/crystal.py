"""The nucleosome 1KX5, from which the tables that come with Tessera were made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.build.dna.frames import Frames
from tessera.build.dna.strands import duplex_of, nucleotides_of, read_atoms
from tessera.build.fiber.tails import Residues, residues_of_tails
from tessera.build.nucleosome.wrapped import nucleosome_frame, wrapped_of
from tessera.build.protein.structure import strands_of
from tessera.system.model import FloatArray

STRUCTURE = Path(os.environ.get("TESSERA_DATA", "")) / "dna_nucleosome" / "1kx5.pdb"
CHAINS = "ABCDEFGH"


@dataclass(frozen=True)
class Crystal:
    """The pairs in the frame of the nucleosome, places (n,3) Å there of atoms and their charges (n,) by residues, which
    are of proteins and of tails, and the tails with the places (beads,3) of their beads."""

    pairs: Frames
    place: FloatArray
    charge: FloatArray
    is_protein: NDArray[np.bool_]
    is_tail: NDArray[np.bool_]
    tails: list[tuple[Residues, FloatArray]]


@cache
def crystal() -> Crystal:
    atoms = read_atoms(STRUCTURE)
    found = nucleotides_of(atoms)
    pairs = wrapped_of(atoms, found, duplex_of(found, "1KX5")).course.pairs
    frame = nucleosome_frame(pairs, "1KX5")
    place = (atoms.position - frame.origin) @ frame.rotation
    name, residue = (np.char.strip(getattr(atoms, field).astype(str)) for field in ("name", "residue_name"))
    is_protein = np.isin(atoms.chain, list(CHAINS)) & ~np.isin(residue, ["HOH", "MN", "CL"])
    charge = np.zeros(len(name))
    for value, ends in ((1.0, {"LYS": "NZ", "ARG": "CZ"}), (-1.0, {"ASP": "CG", "GLU": "CD"})):
        for acid, atom in ends.items():
            charge[(residue == acid) & (name == atom)] = value
    charge[name == "P"] = -1
    for letter in CHAINS:
        own = np.flatnonzero(is_protein & (atoms.chain == letter))
        charge[own[name[own] == "N"][0]] += 1
        charge[own[name[own] == "C"][-1]] -= 1
    strands, _, _ = strands_of(atoms)
    is_tail = np.zeros(len(name), bool)
    tails = []
    for tail in residues_of_tails(strands, "1KX5"):
        strand = strands[tail.chain]
        numbers = [strand.numbers[row] for row in tail.rows]
        is_tail |= is_protein & (atoms.chain == strand.chain) & np.isin(atoms.residue, numbers)
        alpha = np.array([strand.places[row]["CA"] if row >= 0 else [np.nan] * 3 for row in tail.middle])
        tails.append((tail, (alpha - frame.origin) @ frame.rotation))
    own_pairs = Frames((pairs.origin - frame.origin) @ frame.rotation, frame.rotation.T @ pairs.rotation)
    return Crystal(own_pairs, place, charge, is_protein, is_tail, tails)
