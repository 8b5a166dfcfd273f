"""Peptides that are built from one residue, and lines of PDB files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tessera.build.charmm.chain import psf_of
from tessera.build.charmm.places import Places
from tessera.build.dna.helix import read_field
from tessera.build.dna.strand import ForceField
from tessera.build.protein.model import Proteins, build_proteins
from tessera.build.protein.residues import AminoAcids
from tessera.build.protein.sequences import Protein, threaded
from tessera.build.protein.structure import Strand
from tessera.prepare.assemble import Origin
from tessera.prepare.charmm import flat_of, system_of
from tessera.prepare.coordinates import Coordinates
from tessera.system import System
from tessera.system.model import FloatArray

FILES = ("top_all36_prot.rtf", "par_all36m_prot.prm", "top_all36_na.rtf", "par_all36_na.prm")
NOWHERE = np.full((1, 3), 1e4)  # an obstacle that is in nobody's way


def toppar_of(data_folder: Path) -> list[Path]:
    return [data_folder / "charmm36_toppar" / name for name in FILES]


def field_of(data_folder: Path) -> ForceField:
    return read_field(toppar_of(data_folder))


def strand(field: ForceField, name: str, letter: str, turn: FloatArray, shift: FloatArray, chain: str) -> Strand:
    """Returns a chain of one residue with its heavy atoms."""
    acids = AminoAcids(field.topology, field.parameters)
    alone = acids.alone(acids.residue(name, is_first=False, is_last=False))
    places: Places = {name: place @ turn.T + shift for name, place in alone.items() if not name.startswith("H")}
    return Strand(chain, letter, [name], ["5"], [f"{name} 5 of chain {chain}"], ["made.pdb, line 1"], [places])


def grown(field: ForceField, strands: Sequence[Strand], sequences: Sequence[str], seed: int = 0) -> Proteins:
    """Returns chains with these sequences about the residues of strands."""
    threads = [
        threaded([one], {}, [Protein("sequence", letters)], "made.pdb")[0][0]
        for one, letters in zip(strands, sequences)
    ]
    return build_proteins(strands, threads, AminoAcids(field.topology, field.parameters), NOWHERE, seed=seed)


def system_with(field: ForceField, proteins: Proteins) -> System:
    """Returns the system of proteins alone, in a vacuum."""
    psf = psf_of(proteins.chains, field.parameters, proteins.links)
    origin = Origin("charmm", field.parameters.lj_rule, "peptides")
    flat = flat_of(psf, field.parameters)
    return system_of(flat, field.parameters, Coordinates(proteins.position), origin, vacuum=True)
