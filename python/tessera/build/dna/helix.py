"""Builds all atoms of a double helix from its sequence and the course of its base pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tessera.build.charmm.chain import labels_of, psf_of
from tessera.build.charmm.topology import Topology
from tessera.build.dna.frames import bases_of
from tessera.build.dna.paths import Course
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import ForceField, Nucleotides, is_held
from tessera.build.relax import check_closed, relaxed
from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.prepare.charmm_stream import read_cards
from tessera.system import System
from tessera.system.vacuum import with_positions

SEGMENTS = ("DNA1", "DNA2")
BENT = "the path is bent or twisted beyond what the helix allows there"


def read_field(files: Sequence[Path]) -> ForceField:
    """Reads topologies, parameters and streams. Raises `InputError`."""
    if not files:
        raise InputError("no force field: give topologies and parameters with --toppar")
    reading = read_cards(files)
    return ForceField(Topology(reading.cards), CharmmParameters(reading))


def build_helix(
    sequence: str,
    course: Course,
    field: ForceField,
    source: str,
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Builds a double helix without a box. The first strand has the sequence from its 5' end, along the course.

    Raises `InputError` for residues or parameters that the force field lacks, and names a residue where sugars and
    phosphates don't close.
    """
    report("placing bases")
    nucleotides = Nucleotides(field)
    first, second = bases_of(course.pairs, course.parameters)
    strands = ((sequence, first), (complement(sequence), second[::-1]))
    built = [
        nucleotides.chain(segment, letters, frames, course.is_closed)
        for segment, (letters, frames) in zip(SEGMENTS, strands)
    ]
    psf = psf_of([chain for chain, _ in built], field.parameters)
    system = nucleotides.system(psf, np.concatenate([position for _, position in built]), source, course.notes)
    report("closing sugars and phosphates")
    before = system.positions()
    after = relaxed(system, np.array([is_held(name) for name in psf.name.astype(str).tolist()]))
    system.notes += check_closed(system, before, after, labels_of(psf).__getitem__, BENT)
    return with_positions(system, after)
