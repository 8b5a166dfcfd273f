"""Builds all atoms of a nucleosome from its template."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.charmm.chain import Chain, labels_of, psf_of
from tessera.build.dna.strand import ForceField, Nucleotides, is_held
from tessera.build.nucleosome.kept import kept_of
from tessera.build.nucleosome.settle import InChains, residues_of, settled
from tessera.build.nucleosome.template import Template
from tessera.build.nucleosome.wrapped import Wrapped, strands_with
from tessera.build.protein.model import Proteins
from tessera.build.protein.names import BACKBONE
from tessera.build.protein.residues import is_heavy
from tessera.build.relax import check_closed
from tessera.errors import InputError
from tessera.prepare.psf import Psf
from tessera.system import System
from tessera.system.model import FloatArray
from tessera.system.vacuum import with_positions

_NEAR = 3.0  # Å between heavy atoms: a side chain of the file that is nearer to a new atom moves
_HINT = "what is built there has no room beside the atoms of the file"


def build_nucleosome(
    template: Template,
    field: ForceField,
    source: str,
    sequence: str | None = None,
    keep: Sequence[str] = (),
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Builds a nucleosome without a box: the proteins of a template around DNA with this sequence, or its own, and the
    ions and water that are kept. Raises `InputError` for a sequence of another length, for what the force field lacks,
    and for what can't be closed."""
    wrapped, proteins = template.wrapped, template.proteins
    letters = wrapped.sequence if sequence is None else sequence
    if len(letters) != len(wrapped.sequence):
        raise InputError(
            f"the sequence has {len(letters)} base pairs and the DNA of {template.atoms.file} "
            f"{len(wrapped.sequence)}: give as many"
        )
    random = np.random.default_rng(seed)

    def others(around: FloatArray) -> tuple[list[tuple[Chain, FloatArray]], list[str]]:
        return kept_of(template.atoms, template.rest, keep, field, around, random)

    return assembled(proteins, wrapped, letters, field, source, template.notes, others, report)


def assembled(
    proteins: Proteins,
    wrapped: Wrapped,
    sequence: str,
    field: ForceField,
    source: str,
    notes: Sequence[str],
    others: Callable[[FloatArray], tuple[list[tuple[Chain, FloatArray]], list[str]]] = lambda _: ([], []),
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Returns proteins and DNA with a sequence as a system without a box, after what is built has settled. `others`
    gives the chains besides and notes, from the places (n,3) Å of all these atoms."""
    report("placing bases")
    nucleotides = Nucleotides(field)
    strands = strands_with(nucleotides, wrapped, sequence)
    around = np.concatenate([proteins.position, *(strand.position for strand in strands)])
    besides, more = others(around)
    chains = [*proteins.chains, *(strand.chain for strand in strands), *(chain for chain, _ in besides)]
    position = np.concatenate([around, *(places for _, places in besides)])
    psf = psf_of(chains, field.parameters, proteins.links)
    system = nucleotides.system(psf, position, source, [*notes, *more])
    report("closing chains")
    is_dna = np.zeros(len(position), bool)
    is_dna[len(proteins.position) : len(around)] = True
    is_new = _resized([proteins.is_built, *(strand.is_exchanged for strand in strands)], len(position))
    is_fixed = _fixed(psf, position, is_dna, is_new)
    right = position.copy()
    right[: len(around)] = np.concatenate([proteins.alone, *(strand.alone for strand in strands)])
    residue = residues_of(chains)
    after, stayed = settled(system, InChains(chains), residue, field.parameters, right, is_fixed, ~is_dna, is_dna)
    is_moved = is_fixed & ~stayed
    if is_moved.any():
        count = len(np.unique(residue[is_moved]))
        system.notes.append(f"{count} residue(s) of the structure left no room for hydrogens and were moved")
    system.notes += check_closed(system, right, after, labels_of(psf).__getitem__, _HINT, ~stayed | is_dna)
    return with_positions(system, after)


def _resized(parts: Sequence[NDArray[np.bool_]], n: int) -> NDArray[np.bool_]:
    """Returns parts in a row, and False (n,) behind them."""
    whole = np.concatenate(parts)
    return np.concatenate([whole, np.zeros(n - len(whole), bool)])


def _fixed(psf: Psf, position: FloatArray, is_dna: NDArray[np.bool_], is_new: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tells which atoms stay where they are: the heavy atoms of bases, and those that the file has of all else. Side
    chains that are too near to a heavy atom that is not the file's are let go."""
    names = psf.name.astype(str).tolist()
    is_heavy_atom = np.array([is_heavy(name) for name in names])
    is_held_base = np.array([is_held(name) for name in names])
    is_fixed = np.where(is_dna, is_held_base, ~is_new & is_heavy_atom)
    fresh = np.flatnonzero(is_new & is_heavy_atom & (~is_dna | is_held_base))
    if not len(fresh):
        return is_fixed
    begins = np.ones(len(names), bool)
    begins[1:] = (psf.residue_number[1:] != psf.residue_number[:-1]) | (psf.segment[1:] != psf.segment[:-1])
    residue = np.cumsum(begins) - 1
    is_side = is_fixed & ~is_dna & ~np.isin(names, (*BACKBONE, "OT1", "OT2"))
    near = cKDTree(position[fresh]).query_ball_point(position[is_side], _NEAR)
    own = residue[is_side]
    crowded = [row for row, found in zip(own.tolist(), near) if any(residue[fresh[at]] != row for at in found)]
    return is_fixed & ~(np.isin(residue, crowded) & is_side)
