"""Writes a PSF: CHARMM's extended columns with names of types (EXT XPLOR), or NAMD's words where a name is wider.

MDAnalysis writes no PSF. ParmEd builds an object for each atom and term, which takes minutes and gigabytes for a
million atoms, and renumbers residues that begin below 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.export.structure import Structure, terms
from tessera.export.text import check_words, write_rows
from tessera.system import System

NAME = "PSF"
#: section, what it holds, rows on a line
_SECTIONS = (
    ("NBOND: bonds", "bond", 4),
    ("NTHETA: angles", "angle", 3),
    ("NPHI: dihedrals", "dihedral", 2),
    ("NIMPHI: impropers", "improper", 2),
)


def write_psf(structure: Structure, system: System, path: Path) -> list[str]:
    """Writes bonds, angles, dihedrals, impropers and cross-terms among the atoms of the structure."""
    residue = structure.residue
    columns = {
        "segment": (structure.segment, 8),
        "residue name": (structure.residue_name, 8),
        "atom name": (structure.name, 8),
        "type name": (structure.type, 6),
    }
    is_wide = False
    for what, (values, width) in columns.items():
        check_words(NAME, what, values)
        is_wide |= max(map(len, set(values.tolist()))) > width
    marked = next((text for text in structure.segment.tolist() if text.startswith("!")), None)
    if marked is not None:
        raise InputError(f"{NAME} can't hold the segment {marked!r}: readers take ! for the name of a section")
    if not np.abs(structure.charge).max() < 100:
        raise InputError("PSF has no columns for charges of 100 e and more")
    found = terms(system, structure.ids)
    with path.open("w") as file:
        file.write(f"PSF {'NAMD' if is_wide else 'EXT'} CMAP XPLOR\n\n{2:10d} !NTITLE\n")
        file.write(f" REMARKS {structure.title}\n REMARKS written by tessera export\n\n")
        file.write(f"{structure.n_atoms:10d} !NATOM\n")
        # Mass is far to the right: MDAnalysis reads X-PLOR's columns by words only where its own columns are blank.
        write_rows(
            file,
            "%10d %-8s %-8s %-8s %-8s %-6s %12.8f  %14.6f%8d\n",
            np.arange(1, structure.n_atoms + 1),
            structure.segment[residue],
            structure.residue_labels()[residue],
            structure.residue_name[residue],
            structure.name,
            structure.type,
            structure.charge,
            structure.mass,
            np.zeros(structure.n_atoms, np.int32),
        )
        file.write("\n")
        for section, kind, on_a_line in _SECTIONS:
            _section(file, f"{len(found[kind]):10d} !{section}", found[kind] + 1, on_a_line)
        none = np.zeros((0, 2), np.int64)
        _section(file, f"{0:10d} !NDON: donors", none, 4)
        _section(file, f"{0:10d} !NACC: acceptors", none, 4)
        _section(file, f"{0:10d} !NNB\n", np.zeros((structure.n_atoms, 1), np.int64), 8)
        _section(file, f"{1:10d}{0:10d} !NGRP NST2", np.zeros((1, 3), np.int64), 3)
        _section(file, f"{len(found['cmap']):10d} !NCRTERM: cross-terms", found["cmap"] + 1, 1)
    return [f"{NAME} has names wider than CHARMM's columns and is written in NAMD's words"] if is_wide else []


def _section(file: IO[str], head: str, rows: NDArray[Any], on_a_line: int) -> None:
    """Writes a head, the numbers of so many rows on a line, and a blank line."""
    width = rows.shape[1]
    whole = len(rows) // on_a_line * on_a_line
    file.write(head + "\n")
    lines = rows[:whole].reshape(-1, on_a_line * width)
    write_rows(file, "%10d" * (on_a_line * width) + "\n", *lines.T)
    if whole < len(rows):
        file.write("".join(f"{number:10d}" for number in rows[whole:].reshape(-1).tolist()) + "\n")
    elif not whole:
        file.write("\n")
    file.write("\n")
