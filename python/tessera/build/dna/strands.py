"""Finds the nucleotides of a structure (PDB, mmCIF or a system file), their frames, and the pairs that they form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.dna.frames import Frames, fitted
from tessera.build.dna.nucleotides import FURTHEST, NUCLEOTIDES
from tessera.errors import InputError
from tessera.prepare.coordinates.pdb import atom_sites, first_model, unquoted
from tessera.prepare.text import Source, read_source
from tessera.system.model import FloatArray, IdArray

#: names of residues in files of the PDB, of CHARMM and of AMBER, which marks the ends of strands
LETTERS = {
    name: letter
    for letter, long in zip("ACGT", ("ADE", "CYT", "GUA", "THY"))
    for name in (letter, f"D{letter}", f"D{letter}5", f"D{letter}3", long)
}
_OTHER_NAMES = {"C5M": "C7", "O1P": "OP1", "O2P": "OP2"}  # CHARMM's, and those of old PDB files
_LONGEST_BOND = 2.5  # Å between O3' and P, which are 1.6 Å apart
_FURTHEST = 2.5  # Å between the frames of a pair; the next pair is 3.3 Å away


@dataclass(frozen=True)
class Atoms:
    """The atoms of a file (n,), with the line of each, or −1."""

    file: str
    name: NDArray[Any]
    residue_name: NDArray[Any]
    residue: NDArray[Any]  # numbers with insertion codes, as texts
    chain: NDArray[Any]
    piece: IdArray  # a number for each molecule, or for each stretch up to TER
    position: FloatArray  # (n,3) Å
    line: IdArray


@dataclass(frozen=True)
class Nucleotides:
    """The nucleotides of a file (n,) in its order."""

    letters: str
    frames: Frames
    labels: list[str]  # such as `DA -73 of chain I`
    follows: NDArray[np.bool_]  # whether each is bonded to the one before


@dataclass(frozen=True)
class Duplex:
    """A double helix of n pairs: the bases of the first strand, and the partner of each."""

    sequence: str
    first: Frames
    second: Frames


def read_duplex(path: Path) -> Duplex:
    """Returns the double helix of a file. Raises `InputError` where there is none, or more than one, or where it is
    broken."""
    return duplex_of(nucleotides_of(read_atoms(path)), path.name)


def read_atoms(path: Path) -> Atoms:
    """Reads the first model of a PDB or mmCIF file, or a system file. Raises `InputError`."""
    if path.suffix.lower() == ".tsr":
        return _of_system(path)
    source = read_source(path, "structure")
    if source.suffix in (".cif", ".mmcif"):
        return _of_mmcif(source)
    if source.suffix in (".pdb", ".ent"):
        return _of_pdb(source)
    raise InputError(f"{path.name}: expected a structure as .pdb, .ent, .cif or .mmcif, or a system file (.tsr)")


def _of_pdb(source: Source) -> Atoms:
    text = source.text
    head = text.columns(np.arange(len(text)), 0, 6)
    lines = first_model(head, source.name)

    def column(begin: int, end: int) -> NDArray[Any]:
        return np.char.strip(text.columns(lines, begin, end).astype(f"U{end - begin}"))

    name, residue_name, chain, residue = column(12, 16), column(17, 20), column(21, 22), column(22, 27)
    piece = np.searchsorted(np.flatnonzero(np.char.startswith(head, b"TER")), lines)
    return Atoms(source.name, name, residue_name, residue, chain, piece, text.numbers(lines, 30, 8, 3), lines + 1)


def _of_mmcif(source: Source) -> Atoms:
    columns, rows = atom_sites(source.data.decode("latin-1").replace("\r\n", "\n").split("\n"), source.name)
    table = np.array(rows, object)

    def column(*names: str, default: str | None = None) -> NDArray[Any]:
        found = next((name for name in names if name in columns), None)
        if found is None and default is None:
            raise InputError(f"{source.name} has no {names[-1]} in its _atom_site loop")
        if found is None:
            return np.full(len(table), default)
        return np.char.strip(np.array(unquoted(table[:, columns.index(found)].tolist())), "?")

    model = column("pdbx_PDB_model_num", default="1")
    table = table[model == model[0]]
    try:
        position = np.stack([column(f"Cartn_{axis}").astype(np.float64) for axis in "xyz"], axis=1)
    except ValueError as error:
        raise InputError(f"{source.name}: a coordinate of its _atom_site loop is no number: {error}") from None
    residue = np.char.add(column("auth_seq_id", "label_seq_id"), column("pdbx_PDB_ins_code", default=""))
    names = (column("auth_atom_id", "label_atom_id"), column("auth_comp_id", "label_comp_id"))
    chain = column("auth_asym_id", "label_asym_id")
    none = np.zeros(len(table), np.int64)
    return Atoms(source.name, *names, residue, chain, none, position, none - 1)


def _of_system(path: Path) -> Atoms:
    from tessera.export.structure import structure_of
    from tessera.system import read

    system = read(path)
    found = structure_of(system, path.name)
    residue_name, residue, chain = (
        texts[found.residue].astype(str) for texts in (found.residue_name, found.residue_labels(), found.chain)
    )
    piece = np.searchsorted(system.instances()[1], np.arange(found.n_atoms), side="right")
    name, line = found.name.astype(str), np.full(found.n_atoms, -1)
    return Atoms(path.name, name, residue_name, residue, chain, piece, found.position, line)


def nucleotides_of(atoms: Atoms) -> Nucleotides:
    """Returns all nucleotides with their frames. Raises `InputError` for one that is unknown or lacks atoms of its
    base, and for numbers that are not finite."""
    name = np.char.replace(atoms.name, "*", "'")
    for other, usual in _OTHER_NAMES.items():
        name[name == other] = usual
    begins = np.ones(len(name), bool)
    begins[1:] = np.any(
        [column[1:] != column[:-1] for column in (atoms.residue_name, atoms.residue, atoms.chain, atoms.piece)], axis=0
    )
    residue = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    place = np.full((len(first), len(_WANTED)), -1)  # the row of each atom that is looked for
    for index, wanted in enumerate(_WANTED):
        rows = np.flatnonzero(name == wanted)[::-1]  # the first of several counts
        place[residue[rows], index] = rows
    has = place >= 0
    known = np.array([text in LETTERS for text in atoms.residue_name[first].tolist()])
    is_one = has[:, _WANTED.index("C1'")] & (has[:, _WANTED.index("N1")] | known)
    labels = [
        f"{atoms.residue_name[row]} {atoms.residue[row]} of chain {atoms.chain[row] or '(blank)'}" for row in first
    ]
    where = [f"{atoms.file}, line {atoms.line[row]}" if atoms.line[row] > 0 else atoms.file for row in first]
    for index in np.flatnonzero(is_one & ~known)[:1]:
        raise InputError(
            f"{where[index]}: the residue {labels[index]} is not known; expected the nucleotides DA, DC, DG and DT, or "
            "ADE, CYT, GUA and THY"
        )
    for index in np.flatnonzero(is_one & (has[:, _WANTED.index("O2'")]))[:1]:
        raise InputError(f"{where[index]}: {labels[index]} has O2' and is RNA, expected DNA")
    chosen = np.flatnonzero(is_one)
    if not len(chosen):
        raise InputError(f"{atoms.file} holds no nucleotides: expected residues such as DA, DC, DG and DT")
    letters = "".join(LETTERS[atoms.residue_name[first[index]]] for index in chosen)
    frames = Frames(np.zeros((len(chosen), 3)), np.zeros((len(chosen), 3, 3)))
    for letter, standard in NUCLEOTIDES.items():
        rows = np.flatnonzero(np.array(list(letters)) == letter)
        ring = place[chosen[rows]][:, [_WANTED.index(atom) for atom in standard.ring]]
        for row, column in np.argwhere(ring < 0)[:1]:
            index = chosen[rows[row]]
            raise InputError(f"{where[index]}: {labels[index]} lacks {standard.ring[column]}, an atom of its base")
        position = atoms.position[ring]
        for row, _ in np.argwhere(~(np.abs(position) < FURTHEST).all(axis=-1))[:1]:
            index = chosen[rows[row]]
            raise InputError(f"{where[index]}: {labels[index]} has coordinates that are not finite or beyond 10⁷ Å")
        if len(rows):
            found = fitted(position, standard.places(standard.ring))
            frames.origin[rows], frames.rotation[rows] = found.origin, found.rotation
    follows = _follow(atoms, place[chosen], first[chosen], [labels[i] for i in chosen], [where[i] for i in chosen])
    return Nucleotides(letters, frames, [labels[index] for index in chosen], follows)


_WANTED = ("N1", "C2", "N3", "C4", "C5", "C6", "N7", "C8", "N9", "C1'", "O2'", "O3'", "P")


def _follow(atoms: Atoms, place: IdArray, first: IdArray, labels: list[str], where: list[str]) -> NDArray[np.bool_]:
    """Tells which nucleotides follow the one before in their chain. Raises `InputError` where a chain is broken."""
    follows = np.zeros(len(place), bool)
    follows[1:] = (atoms.chain[first[1:]] == atoms.chain[first[:-1]]) & (
        atoms.piece[first[1:]] == atoms.piece[first[:-1]]
    )
    oxygen, phosphorus = place[:-1, _WANTED.index("O3'")], place[1:, _WANTED.index("P")]
    # A strand of a file without names of chains begins with a nucleotide without phosphate.
    follows[1:] &= phosphorus >= 0
    distance = np.linalg.norm(atoms.position[phosphorus] - atoms.position[oxygen], axis=1)
    distance[oxygen < 0] = np.inf
    for index in np.flatnonzero(follows[1:] & ~(distance <= _LONGEST_BOND))[:1]:
        found = "its O3' is missing" if oxygen[index] < 0 else f"O3' and P are {distance[index]:.2f} Å apart"
        raise InputError(
            f"{where[index + 1]}: the chain is broken between {labels[index]} and {labels[index + 1]}: {found}, "
            f"expected 1.6"
        )
    return follows


def duplex_of(found: Nucleotides, file: str) -> Duplex:
    """Returns the double helix in which nucleotides are. Raises `InputError` where there is none or more than one, and
    for a nucleotide inside that has no partner."""
    partner = _partners(found.frames)
    strand = np.cumsum(~found.follows)
    paired = np.flatnonzero(partner >= 0)
    if not len(paired):
        raise InputError(f"{file}: no two of its {len(partner)} nucleotides form a pair")
    rows = paired[strand[paired] == strand[paired[0]]]
    rows = rows[strand[partner[rows]] == strand[partner[rows[0]]]]
    others = np.setdiff1d(paired, np.concatenate([rows, partner[rows]]))
    if len(others) or strand[rows[0]] == strand[partner[rows[0]]]:
        at = found.labels[others[0] if len(others) else partner[rows[0]]]
        raise InputError(
            f"{file} holds more than one double helix of two strands: one begins with {found.labels[rows[0]]}, another "
            f"holds {at}; keep one of them in the file"
        )
    gaps = np.flatnonzero((np.diff(rows) != 1) | (np.diff(partner[rows]) != -1))
    for gap in gaps[:1]:
        raise InputError(
            f"{file}: the pair of {found.labels[rows[gap]]} and {found.labels[partner[rows[gap]]]} is not followed by "
            "a pair of their neighbours: a base inside has no partner"
        )
    sequence = "".join(found.letters[row] for row in rows)
    return Duplex(sequence, found.frames[rows], found.frames[partner[rows]])


def _partners(frames: Frames) -> IdArray:
    """Returns the partner (n,) of each base, or −1: each is nearest to the other, and their z axes are opposite."""
    partner = np.full(len(frames), -1)
    near = cKDTree(frames.origin).query_pairs(_FURTHEST, output_type="ndarray")
    opposite = np.einsum("ni,ni->n", frames.rotation[near[:, 0], :, 2], frames.rotation[near[:, 1], :, 2]) < 0
    near = near[opposite]
    distance = np.linalg.norm(frames.origin[near[:, 0]] - frames.origin[near[:, 1]], axis=1)
    for first, second in near[np.argsort(distance, kind="stable")].tolist():
        if partner[first] < 0 and partner[second] < 0:
            partner[first], partner[second] = second, first
    return partner
