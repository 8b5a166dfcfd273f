"""Reads sequences of proteins: from FASTA files, and those that structures declare (SEQRES, _pdbx_poly_seq_scheme)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.build.protein.alignment import aligned
from tessera.build.protein.names import LETTERS, RESIDUES
from tessera.build.protein.structure import Strand
from tessera.errors import InputError
from tessera.prepare.coordinates.mmcif import lines_of, loop_of
from tessera.prepare.text import Source, read_source, read_text, require_file
from tessera.system.model import IdArray

_LEAST_EQUAL = 0.3  # of the shorter one's letters: less is another protein


@dataclass(frozen=True)
class Protein:
    name: str
    letters: str


@dataclass(frozen=True)
class Threaded:
    """The sequence of a chain, and for each letter the index (n,) of its residue in the structure, or −1."""

    letters: str
    found: IdArray


def read_proteins(path: Path) -> list[Protein]:
    """Returns the sequences of a FASTA file. Raises `InputError` that names the line of what is none of the 20 amino
    acids."""
    records: list[Protein] = []
    name, letters = "", ""
    lines = read_text(require_file(path, "sequence")).split("\n")
    for number, line in enumerate([*lines, ">"], start=1):
        text = line.strip()
        if text.startswith(">"):
            if letters:
                records.append(Protein(name, letters))
            elif name:
                raise InputError(f"{path.name}, line {number}: the sequence {name!r} before has no letters")
            name, letters = text[1:].strip(), ""
            continue
        for letter in text.upper().removesuffix("*"):
            if letter not in RESIDUES:
                raise InputError(
                    f"{path.name}, line {number}: residue {len(letters) + 1} is {letter!r}, expected one of the 20 "
                    "amino acids"
                )
            letters += letter
    if not records:
        raise InputError(f"{path.name} holds no sequence: expected letters of amino acids after lines with >")
    return records


def declared(path: Path) -> dict[str, tuple[str, ...]]:
    """Returns the names of the residues of each chain that a PDB or mmCIF file declares, with those that have no
    coordinates; a system file declares none."""
    if path.suffix.lower() == ".tsr":
        return {}
    source = read_source(path, "structure")
    return _of_mmcif(source) if source.suffix in (".cif", ".mmcif") else _of_pdb(source)


def _of_pdb(source: Source) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in source.data.decode("latin-1").split("\n"):
        if line.startswith("SEQRES"):
            chain = line[11:12].strip()
            found[chain] = found.get(chain, ()) + tuple(line[19:].split())
    return found


def _of_mmcif(source: Source) -> dict[str, tuple[str, ...]]:
    columns, rows, _ = loop_of(lines_of(source), "_pdbx_poly_seq_scheme", "a residue", source.name)
    if not {"pdb_strand_id", "mon_id"} <= set(columns):
        return {}
    chain, name = columns.index("pdb_strand_id"), columns.index("mon_id")
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        found[row[chain]] = (*found.get(row[chain], ()), row[name])
    return found


def threaded(
    strands: Sequence[Strand], declared: dict[str, tuple[str, ...]], given: Sequence[Protein], file: str
) -> tuple[list[Threaded], list[str]]:
    """Returns the sequence of each chain, and notes: that of the given ones that fits it best, else what the file
    declares, else that of its residues. Raises `InputError` where none fits."""
    out, notes = [], []
    used = set()
    for strand in strands:
        is_break = strand.is_break()
        if given:
            fits = [aligned(sequence.letters, strand.letters, is_break) for sequence in given]
            best = int(np.argmax([score for score, _ in fits]))
            used.add(best)
            found = Threaded(given[best].letters, fits[best][1])
            _check_fit(strand, found, given[best].name, file)
        else:
            letters = _declared_letters(strand, declared.get(strand.chain, ()), file)
            found = Threaded(letters, aligned(letters, strand.letters, is_break)[1])
            _check_fit(strand, found, "that the file declares", file)
        out.append(found)
    for index, sequence in enumerate(given):
        if index not in used:
            notes.append(f"the sequence {sequence.name!r} fits no chain best and is not used")
    return out, notes


def _declared_letters(strand: Strand, names: tuple[str, ...], file: str) -> str:
    unknown = next((name for name in names if name not in LETTERS), None)
    if unknown is not None:
        raise InputError(
            f"{file} declares {unknown} in chain {strand.chain or '(blank)'}, expected the 20 amino acids or MSE: give "
            "the sequence with --octamer-sequence"
        )
    return "".join(LETTERS[name] for name in names) or strand.letters


def _check_fit(strand: Strand, threaded: Threaded, name: str, file: str) -> None:
    rows = np.flatnonzero(threaded.found >= 0)
    equal = sum(threaded.letters[row] == strand.letters[threaded.found[row]] for row in rows)
    least = min(len(threaded.letters), len(strand.letters))
    if equal < _LEAST_EQUAL * least:
        raise InputError(
            f"{file}: {equal} of {least} residues of chain {strand.chain or '(blank)'} are those of the sequence "
            f"{name!r}, expected {_LEAST_EQUAL:.0%} or more: is it of another protein?"
        )
