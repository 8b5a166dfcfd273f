"""Decides which atoms of a structure stay where they are, and gives them CHARMM's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tessera.build.charmm.places import Places
from tessera.build.charmm.topology import Residue
from tessera.build.protein.names import BACKBONE, HISTIDINES, LETTERS, RESIDUES, charmm_name
from tessera.build.protein.residues import AminoAcids, is_heavy, neighbours
from tessera.build.protein.sequences import Threaded
from tessera.build.protein.structure import Strand
from tessera.errors import InputError

_FLANK = 2  # residues on each side of others that are put in or left out, which are built anew
_BRIDGE = 2.5  # Å between the sulphurs of a disulfide, which are 2.03 Å apart


@dataclass
class Draft:
    """A chain that is being built: its residues, the places of the atoms of each that are known, and what messages
    call each."""

    chain: str
    residues: list[Residue]
    places: list[Places]
    labels: list[str]
    first: int  # the number of the first residue
    exchanged: int  # residues that are others in the file

    def has_backbone(self, index: int) -> bool:
        return {"N", "CA", "C"} <= set(self.places[index])


Bridge = tuple[int, int, int, int]  # the chain and the residue of each cysteine


def drafts_of(
    strands: Sequence[Strand], threads: Sequence[Threaded], acids: AminoAcids, histidine: str
) -> tuple[list[Draft], list[Bridge], list[str]]:
    """Returns chains with what is known of them, disulfides, and notes. Raises `InputError` for a chain that is broken
    with nothing to fill it, and for an amino acid with the wrong handedness."""
    bridges = _bridges(strands, threads)
    bridged = {(bridge[end], bridge[end + 1]) for bridge in bridges for end in (0, 2)}
    drafts, swapped = [], 0
    for index, (strand, thread) in enumerate(zip(strands, threads)):
        _check_whole(strand, thread)
        lost = _flanks(strand, thread)
        last = len(thread.letters) - 1
        draft = Draft(strand.chain, [], [], _labels(strand, thread), _first_number(strand, thread) or 1, 0)
        for row, letter in enumerate(thread.letters):
            at = int(thread.found[row])
            name = _residue_name(letter, strand.names[at] if at >= 0 else "", histidine)
            residue = acids.residue(name, row == 0, row == last, (index, row) in bridged)
            draft.residues.append(residue)
            known: Places = {}
            if at >= 0 and row not in lost:
                known = _known(residue, strand, at, letter, row == last)
                swapped += _right_handed(residue, known, acids.alone(residue), strand, at)
                draft.exchanged += strand.letters[at] != letter
            draft.places.append(known)
        drafts.append(draft)
    notes = [f"{swapped} pair(s) of equal branches had each other's names and were exchanged"] if swapped else []
    if bridges:
        notes.append(f"{len(bridges)} disulfide(s)")
    return drafts, bridges, notes


def _residue_name(letter: str, name: str, histidine: str) -> str:
    """Returns CHARMM's name of a residue that may be another in the file. Histidines have the form that the file asks
    for by its name."""
    return HISTIDINES.get(name, histidine) if letter == "H" else RESIDUES[letter]


def _known(residue: Residue, strand: Strand, at: int, letter: str, is_last: bool) -> Places:
    places = {charmm_name(name, strand.names[at], is_last): place for name, place in strand.places[at].items()}
    if LETTERS[strand.names[at]] != letter:
        places = {name: place for name, place in places.items() if name in (*BACKBONE, "OT1", "OT2")}
    return {name: place for name, place in places.items() if name in residue.atoms}


def _right_handed(residue: Residue, known: Places, alone: Places, strand: Strand, at: int) -> int:
    """Exchanges equal branches with each other's names, and returns how many. Raises `InputError` for a centre that is
    inside out."""
    near, swapped = neighbours(residue), 0
    for centre in known:
        heavy = [name for name in near[centre] if is_heavy(name) and name in known]
        if len(near[centre]) != 4 or len(heavy) != 3:
            continue
        found, right = (
            float(np.linalg.det([places[name] - places[centre] for name in heavy])) for places in (known, alone)
        )
        if found * right > 0:
            continue
        ends = [name for name in heavy if sum(map(is_heavy, near[name])) == 1]
        equal = [name for name in ends if residue.atoms[name].type == residue.atoms[ends[-1]].type]
        if len(equal) != 2:
            raise InputError(
                f"{strand.where[at]}: {centre} of {strand.labels[at]} is inside out: expected the handedness of an L "
                "amino acid, as the force field has it"
            )
        known[equal[0]], known[equal[1]] = known[equal[1]], known[equal[0]]
        swapped += 1
    return swapped


def _check_whole(strand: Strand, thread: Threaded) -> None:
    row_of = {int(at): row for row, at in enumerate(thread.found) if at >= 0}
    for at, is_break in enumerate(strand.is_break()):
        if is_break and at in row_of and row_of.get(at - 1) == row_of[at] - 1:
            apart = float(np.linalg.norm(strand.places[at]["N"] - strand.places[at - 1]["C"]))
            raise InputError(
                f"{strand.where[at]}: the chain is broken between {strand.labels[at - 1]} and {strand.labels[at]}: C "
                f"and N are {apart:.2f} Å apart, expected 1.33; give the sequence with what is missing by "
                "--octamer-sequence"
            )


def _flanks(strand: Strand, thread: Threaded) -> set[int]:
    """Returns the rows of a sequence that are built anew since others are put in or left out beside them."""
    is_break = strand.is_break()
    rows = np.flatnonzero(thread.found >= 0)
    lost: set[int] = set()
    for before, after in zip(rows[:-1].tolist(), rows[1:].tolist()):
        one, other = int(thread.found[before]), int(thread.found[after])
        is_put_in = after > before + 1 and other == one + 1 and not is_break[other]
        if is_put_in or other > one + 1:
            lost.update(range(before - _FLANK + 1, after + _FLANK))
    return lost


def _first_number(strand: Strand, thread: Threaded) -> int | None:
    """Returns the number of the first residue where the file's numbers go on with the sequence."""
    rows = np.flatnonzero(thread.found >= 0)
    numbers = [strand.numbers[at] for at in thread.found[rows]]
    if not all(number.lstrip("-").isdigit() for number in numbers):
        return None
    firsts = {int(number) - int(row) for number, row in zip(numbers, rows)}
    return firsts.pop() if len(firsts) == 1 else None


def _labels(strand: Strand, thread: Threaded) -> list[str]:
    first, chain = _first_number(strand, thread), strand.chain or "(blank)"
    labels = []
    for row, letter in enumerate(thread.letters):
        at = int(thread.found[row])
        if at >= 0:
            labels.append(strand.labels[at])
        else:
            number = f"{first + row}" if first is not None else f"at place {row + 1}"
            labels.append(f"{RESIDUES[letter]} {number} of chain {chain}")
    return labels


def _bridges(strands: Sequence[Strand], threads: Sequence[Threaded]) -> list[Bridge]:
    """Returns pairs of cysteines whose sulphurs are bonded."""
    sites = [
        (chain, row, strand.places[int(at)]["SG"])
        for chain, (strand, thread) in enumerate(zip(strands, threads))
        for row, at in enumerate(thread.found)
        if at >= 0 and thread.letters[row] == "C" and "SG" in strand.places[int(at)]
    ]
    return [
        (*one[:2], *other[:2])
        for place, one in enumerate(sites)
        for other in sites[place + 1 :]
        if np.linalg.norm(one[2] - other[2]) < _BRIDGE
    ]
