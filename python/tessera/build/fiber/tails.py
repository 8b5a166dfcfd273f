"""Tails of histones as chains of beads, each of which stands for five residues.

There are 50 in a nucleosome, as Arya, Zhang and Schlick (2006) have them. The first bead of a tail, next to the
globular part, is fixed to the core. A bead is where Cα of the residue in the middle of its five is, and has the charge
of their side chains, and of the chain's end, times the part in which a charge on DNA is seen (`salt.renormalised`): a
bead that comes to DNA takes the place of ions, which the effective charge of DNA has in it. With all of their charge,
tails would leave a nucleosome in 0.01 mol/L none. The published models scale it by the salt, too (Collepardo-Guevara
and Schlick 2014).

Springs are those of a disordered peptide. Backbones with φ and ψ about the basins of polyproline (45 %), sheet (25 %),
helix (25 %) and left-handed helix (5 %), which scatter by 20° about each, have 12.2 ± 2.8 Å from one Cα to the fifth
next and a mean cosine of -0.246 at every fifth Cα; 40 residues are 43.5 Å from end to end (root mean square), as
denatured proteins are by their radii of gyration (Kohn et al. 2004: 42.9 Å). Springs have the same mean, deviation and
cosine; at rest a tail is straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.build.atoms import FURTHEST
from tessera.build.charges.tails import A_BEAD, BEADS, histones
from tessera.build.dna.frames import Frames
from tessera.build.fiber.columns import read_columns
from tessera.build.nucleosome.settle import residues_of
from tessera.build.protein.model import Proteins
from tessera.build.protein.names import LETTERS
from tessera.build.protein.structure import Strand
from tessera.errors import InputError
from tessera.files import write_text
from tessera.system.model import FloatArray, IdArray

#: length of a bond in Å, kT/Å² of stretching, the angle between bonds in radians, kT/rad² of bending
SPRINGS = (10.64, 0.1128, float(np.pi), 0.459)
#: Å: where the soft spheres of Arya, Zhang and Schlick (2006) repel each other with 1 kT
DIAMETER = 12.0
COLUMNS = ("nucleosome", "tail", "bead", "x", "y", "z")
_CHARGES = {"K": 1, "R": 1, "D": -1, "E": -1}
_ASTRAY = 8.0  # Å by which first beads may be away from where tails of another octamer begin


@dataclass(frozen=True)
class Tail:
    """A tail: its name, the place (3,) Å of its first bead in the nucleosome's frame, the charges of its beads in e."""

    name: str
    place: FloatArray
    charges: tuple[float, ...]


@dataclass(frozen=True)
class Residues:
    """The residues of a tail: the row of its chain, and for each bead from the globular part on the rows of its
    residues in that chain, those in the middle of five (beads,), or −1 where it is not there, and the charge in e."""

    name: str
    chain: int
    rows: IdArray
    middle: IdArray
    charges: tuple[float, ...]


def residues_of_tails(strands: Sequence[Strand], file: str) -> list[Residues]:
    """Returns the tails of an octamer. Raises `InputError` for a chain that is no histone."""
    found = []
    for chain, (name, thread) in enumerate(histones(strands, file)):
        n = len(thread.letters)
        letters = [
            strands[chain].letters[row] if row >= 0 else letter for row, letter in zip(thread.found, thread.letters)
        ]
        charge = np.array([_CHARGES.get(letter, 0) for letter in letters])
        charge[0] += 1
        charge[-1] -= 1
        for beads, is_first in zip(BEADS[name], (True, False)):
            if not beads:
                continue
            length = A_BEAD * beads
            own = np.arange(length)[::-1] if is_first else np.arange(n - length, n)
            groups = own.reshape(beads, A_BEAD)
            rows = thread.found[own]
            found.append(
                Residues(
                    f"{name}-{strands[chain].chain}" + ("" if is_first else "-end"),
                    chain,
                    rows[rows >= 0],
                    thread.found[groups[:, A_BEAD // 2]],
                    tuple(charge[groups].sum(axis=1).astype(float).tolist()),
                )
            )
    return found


@dataclass(frozen=True)
class Beads:
    """The places (k,3) Å of the beads of a tail of a nucleosome, the line of the first, and the file."""

    name: str
    places: FloatArray
    line: int
    file: str


def octamer(proteins: Proteins, file: str) -> tuple[list[Residues], list[Strand]]:
    """Returns the tails of the proteins of a template, and their chains. Raises `InputError` for a chain that is no
    histone."""
    strands = []
    first = 0
    for chain in proteins.chains:
        strand = Strand(chain.segment.removeprefix("PRO"))
        for residue in chain.residues:
            strand.letters += LETTERS[residue.name]
            strand.places.append(dict(zip(residue.atoms, proteins.position[first:])))
            first += len(residue.atoms)
        strands.append(strand)
    return residues_of_tails(strands, file), strands


def tails_of(proteins: Proteins, file: str) -> tuple[tuple[Tail, ...], FloatArray]:
    """Returns the tails of the proteins of a template in its own frame, and the atoms (n,3) Å that are not theirs.
    Raises `InputError` for a chain that is no histone, and a tail without the residues next to the globular part."""
    found, strands = octamer(proteins, file)
    tails = []
    for tail in found:
        if tail.middle[0] < 0:
            raise InputError(f"{file}: the tail {tail.name} lacks the residues next to the globular part")
        place = np.asarray(strands[tail.chain].places[tail.middle[0]]["CA"])
        tails.append(Tail(tail.name, place, tail.charges))
    own = [np.isin(np.arange(len(strand.letters)), _rows(found, chain)) for chain, strand in enumerate(strands)]
    return tuple(tails), proteins.position[~np.concatenate(own)[residues_of(proteins.chains)]]


def _rows(tails: Sequence[Residues], chain: int) -> IdArray:
    return np.concatenate([np.zeros(0, np.int64), *(tail.rows for tail in tails if tail.chain == chain)])


def beads_of(tails: Sequence[Tail], places: FloatArray, file: str) -> list[list[Beads]]:
    """Returns the beads (nucleosomes,beads,3) Å of tails by tails."""
    ends = np.cumsum([len(tail.charges) for tail in tails])
    return [
        [Beads(tail.name, own, 0, file) for tail, own in zip(tails, np.split(nucleosome, ends[:-1]))]
        for nucleosome in places
    ]


def write_beads(path: Path, beads: Sequence[Sequence[Beads]], comments: Sequence[str]) -> None:
    """Writes the places of the beads of tails of each nucleosome, so that `read_beads` reads them."""
    lines = [*(f"# {line}" for line in comments), ",".join(COLUMNS)]
    for nucleosome, tails in enumerate(beads, start=1):
        for tail in tails:
            for bead, place in enumerate(tail.places, start=1):
                lines.append(f"{nucleosome},{tail.name},{bead}," + ",".join(f"{x:.3f}" for x in place))
    write_text(path, "\n".join(lines) + "\n")


def read_beads(path: Path, count: int) -> list[list[Beads]]:
    """Reads the beads of the tails of each of so many nucleosomes, all of which have the same tails. Raises
    `InputError` that names the line."""
    found: list[dict[str, tuple[int, list[list[float]]]]] = [{} for _ in range(count)]
    for row in read_columns(path, COLUMNS, "file of beads of tails", "bead").rows:
        nucleosome = _whole(row.cells["nucleosome"])
        if not 1 <= nucleosome <= count:
            raise InputError(
                f"{row.where}: nucleosome is {row.cells['nucleosome'][:60]!r}, expected 1 to {count:,}, those of the "
                "table"
            )
        _, places = found[nucleosome - 1].setdefault(row.cells["tail"], (row.line, []))
        if _whole(row.cells["bead"]) != len(places) + 1:
            raise InputError(
                f"{row.where}: bead is {row.cells['bead'][:60]!r}, expected {len(places) + 1}, the next of the tail "
                f"{row.cells['tail'][:60]!r} of nucleosome {nucleosome}"
            )
        places.append([row.number(axis, FURTHEST) for axis in COLUMNS[3:]])
    sizes = [{name: len(places) for name, (_, places) in own.items()} for own in found]
    for nucleosome, own in enumerate(sizes, start=1):
        if own != sizes[0]:
            raise InputError(
                f"{path.name}: nucleosome {nucleosome} has {_described(own)}, and nucleosome 1 {_described(sizes[0])}"
            )
    return [[Beads(name, np.array(places), line, path.name) for name, (line, places) in own.items()] for own in found]


def _described(sizes: dict[str, int]) -> str:
    return f"{sum(sizes.values())} beads in {len(sizes)} tails"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def matched(beads: Sequence[Beads], frame: Frames, roots: FloatArray) -> list[int]:
    """Returns which of the tails of a nucleosome that begin at places (t,3) Å in its frame each chain of beads is.
    Raises `InputError` that names the line of one that hangs at none, or where another one does."""
    found: list[int] = []
    for own in beads:
        away = np.linalg.norm(roots - (own.places[0] - frame.origin) @ frame.rotation, axis=1)
        nearest = int(np.argmin(away))
        if away[nearest] > _ASTRAY or nearest in found:
            raise InputError(
                f"{own.file}, line {own.line}: bead 1 of the tail {own.name!r} is {away.min():.1f} Å from where a tail "
                "of its nucleosome begins, expected another tail each: is the file that of another table?"
            )
        found.append(nearest)
    return found
