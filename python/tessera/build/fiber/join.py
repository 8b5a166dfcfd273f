"""Joins nucleosomes to a fibre: one template at many frames, and linkers between them.

A linker is the DNA of least elastic energy from the last pair of a nucleosome to the first of the next, both of which
stay (`dna/rods.py`). Its pairs are flat: they have no parameters of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessera.build.charges.tails import A_BEAD
from tessera.build.charmm.places import Places
from tessera.build.dna.frames import Frames, bases_of
from tessera.build.dna.paths import RISE, TIGHTEST, TWISTS, Course
from tessera.build.dna.rods import Rod, rod
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import ForceField, Nucleotides
from tessera.build.fiber.kinds import fiber_system
from tessera.build.fiber.letters import Letters, settled_letters
from tessera.build.fiber.places import Backbones, StrandPlaces, placed_strand
from tessera.build.fiber.poses import Guides, Tails
from tessera.build.fiber.processes import workers
from tessera.build.fiber.settle import FiberResidues, Settler, Strands
from tessera.build.fiber.table import Nucleosomes
from tessera.build.fiber.tails import Beads, matched, octamer
from tessera.build.nucleosome.ready import ready
from tessera.build.nucleosome.template import Template
from tessera.build.nucleosome.wrapped import Wrapped
from tessera.errors import InputError
from tessera.system import System
from tessera.system.model import FloatArray, IdArray
from tessera.system.vacuum import with_positions

_STRETCHED = 0.1  # of the rise between pairs, by which sugars and phosphates still close
_NO_BASE = "-"  # where the template has none


@dataclass(frozen=True)
class Fiber:
    """The moves (n) that put a template's atoms into nucleosomes, the DNA from end to end, and the linkers (n - 1)."""

    moves: list[Frames]
    wrapped: Wrapped
    linkers: list[Rod]

    def dyads(self, each: int) -> list[int]:
        """Returns the pairs at the dyads of nucleosomes of so many pairs, between those at both ends of the DNA."""
        return [0, *(self.begins(each) + each // 2).tolist(), len(self.wrapped.sequence)]

    def begins(self, each: int) -> IdArray:
        """Returns the first pairs (n) of nucleosomes of so many pairs."""
        return np.cumsum([0, *(each + len(linker.pairs) for linker in self.linkers)])

    def notes(self) -> list[str]:
        """Returns what a user wants to know of the linkers."""
        if not self.linkers:
            return []
        excess = [linker.excess for linker in self.linkers]
        energy = [linker.energy for linker in self.linkers]
        return [
            f"the twist of {len(excess)} linker(s) differs from that of free DNA by {min(excess):.2f} to "
            f"{max(excess):.2f} base pairs, and bending and twisting them costs {min(energy):.1f} to "
            f"{max(energy):.1f} kT"
        ]


def build_fiber(
    template: Template,
    table: Nucleosomes,
    sequence: str,
    field: ForceField,
    source: str,
    report: Callable[[str], None] = lambda _: None,
    beads: list[list[Beads]] | None = None,
) -> System:
    """Builds a fibre without a box from a template at the frames of a table. The first strand has the sequence from its
    5' end; tails of proteins are posed along beads if there are any. Raises `InputError` for a sequence of another
    length, and for linkers that DNA can't follow."""
    count, each = len(table.frames), len(template.wrapped.sequence)
    needed = each * count + sum(table.linkers)
    if len(sequence) != needed:
        raise InputError(
            f"the sequence has {len(sequence):,} base pairs and the fibre of {table.file} {needed:,}: "
            f"{count:,} nucleosomes of {each} and {sum(table.linkers):,} between them"
        )
    nucleotides = Nucleotides(field)
    settled = ready(template, field, nucleotides, report)
    report("laying linkers")
    fiber = joined(settled, table)
    letters = settled_letters(settled, field, nucleotides, count, report)
    guides = None if beads is None else guides_of(settled, fiber.moves, beads)
    report("placing bases")
    system = fiber_system(settled.proteins, nucleotides, sequence, count, source, [*settled.notes, *fiber.notes()])
    position, right, tails, turned = _placed(settled, fiber, letters, nucleotides, sequence, guides)
    if turned and guides is None:
        system.notes.append(f"{turned:,} tail(s) of proteins were turned away from linkers and other nucleosomes")
    elif guides is not None:
        away = guides.distance(position, len(settled.proteins.position))
        system.notes.append(f"tails of proteins lie {away:.1f} Å from their beads (root of the mean square)")
    is_new = np.array([letter != own for letter, own in zip(sequence, fiber.wrapped.sequence)])
    is_linker = np.array([own == _NO_BASE for own in fiber.wrapped.sequence])
    strands = Strands(sequence, is_new, is_linker, fiber.dyads(each), fiber.wrapped.course.pairs.origin)
    residues = FiberResidues(settled.proteins, nucleotides, sequence, count)
    settler = Settler(system, position, right, strands, residues, nucleotides, tails)
    system.notes += settler.settle(report)
    return with_positions(system, settler.position)


def joined(template: Template, table: Nucleosomes) -> Fiber:
    """Returns the DNA of a template at all frames of a table, and linkers. Raises `InputError` that names lines of the
    table."""
    moves = [template.shift_to(table.frames[at]) for at in range(len(table.frames))]
    placed = [template.wrapped.moved(move) for move in moves]

    def laid(at: int) -> Rod:
        found = rod(placed[at].course.pairs[-1], placed[at + 1].course.pairs[0], table.linkers[at])
        check_linker(found, table.linkers[at], f"{table.file}, lines {table.lines[at]} and {table.lines[at + 1]}")
        return found

    with workers(laid, len(table.linkers)) as laid_linkers:
        linkers = list(laid_linkers(range(len(table.linkers))))
    return Fiber(moves, _dna(placed, linkers), linkers)


def guides_of(template: Template, moves: list[Frames], beads: list[list[Beads]]) -> Guides:
    """Returns the beads of tails as places of the template's atoms in each nucleosome. Raises `InputError` for beads
    that are not those of its tails."""
    tails, strands = octamer(template.proteins, "the octamer")
    names = np.array([name for chain in template.proteins.chains for own in chain.residues for name in own.atoms])
    alpha = np.flatnonzero(names == "CA")
    first = np.cumsum([0, *(len(strand.letters) for strand in strands)])
    middles = [np.where(tail.middle >= 0, first[tail.chain] + tail.middle, -1) for tail in tails]
    roots = template.proteins.position[alpha[[middle[0] for middle in middles]]]
    places = np.zeros((len(moves), sum(map(len, middles)), 3))
    for own, move, chains in zip(places, moves, beads, strict=True):
        found = matched(chains, move, roots)
        for chain, at in zip(chains, found):
            if len(chain.places) != len(middles[at]):
                raise InputError(
                    f"{chain.file}, line {chain.line}: the tail {chain.name!r} has {len(chain.places)} beads, and that "
                    f"of the octamer {len(middles[at])}"
                )
        if len(chains) != len(tails):
            raise InputError(f"{chains[0].file}: nucleosomes have {len(chains)} tails, and the octamer {len(tails)}")
        own[:] = np.concatenate([chains[at].places for at in np.argsort(found).tolist()])
    row = np.concatenate(middles)
    turning = np.zeros(first[-1], bool)
    for tail in tails:
        turning[first[tail.chain] + tail.rows[A_BEAD // 2 :]] = True
    return Guides(alpha[row[row >= 0]], places[:, row >= 0], turning)


def _placed(
    template: Template, fiber: Fiber, letters: Letters, nucleotides: Nucleotides, sequence: str, guides: Guides | None
) -> tuple[FloatArray, FloatArray, Tails, int]:
    """Returns where all atoms are and where they have the right handedness, (n,3) Å, proteins, then both strands; the
    tails, and how many of them were turned."""
    proteins, wrapped = template.proteins, fiber.wrapped
    first, second = bases_of(wrapped.course.pairs, wrapped.course.parameters)
    strands = [
        placed_strand(nucleotides, text, frames, Backbones.of(backbones))
        for text, frames, backbones in zip(
            (sequence, complement(sequence)), (first, second[::-1]), _worn(fiber, letters, sequence)
        )
    ]
    is_linker = np.array([own == _NO_BASE for own in wrapped.sequence])
    linkers = [strand.position[strand.of(is_in)] for strand, is_in in zip(strands, (is_linker, is_linker[::-1]))]
    tails = Tails(proteins, _beside(template, strands, fiber.moves[0]), fiber.moves, guides=guides)
    placed, turned = tails.posed(np.concatenate(linkers))
    position = [placed.reshape(-1, 3), *(strand.position for strand in strands)]
    right = [proteins.alone] * len(fiber.moves) + [strand.alone for strand in strands]
    return np.concatenate(position), np.concatenate(right), tails, turned


def _beside(template: Template, strands: list[StrandPlaces], move: Frames) -> FloatArray:
    """Returns the atoms (k,3) Å of the DNA of the first nucleosome, beside the template's proteins."""
    each = len(template.wrapped.sequence)
    rows = np.arange(len(strands[0].first))
    inside = [strand.position[strand.of(own)] for strand, own in zip(strands, (rows < each, rows[::-1] < each))]
    return (np.concatenate(inside) - move.origin) @ move.rotation


def _worn(fiber: Fiber, letters: Letters, sequence: str) -> tuple[list[Places], list[Places]]:
    """Returns sugars and phosphates of both strands from end to end, by the letters of the sequence."""
    n, each = len(sequence), len(letters.sequences[0])
    first, second = (list(backbones) for backbones in fiber.wrapped.backbones)
    for begin in fiber.begins(each).tolist():
        own = letters.worn(sequence[begin : begin + each])
        first[begin : begin + each], second[n - begin - each : n - begin] = own
    return first, second


def check_linker(linker: Rod, n: int, where: str) -> None:
    """Raises `InputError` for a linker of n base pairs that DNA can't follow."""
    rise, twist = linker.steps[:, 2], linker.steps[:, 5]
    bend = np.hypot(linker.steps[:, 3], linker.steps[:, 4]).max()
    found = ""
    if abs(rise - RISE).max() > _STRETCHED * RISE:
        is_long = rise.mean() > RISE
        found = f"be {'stretched' if is_long else 'pressed'} to {(rise.max() if is_long else rise.min()):.1f} Å a pair"
        found += f", expected {RISE:g} within {_STRETCHED:.0%}"
    elif np.radians(bend) * TIGHTEST > RISE:
        found = f"bend about a radius of {RISE / np.radians(bend):.0f} Å, expected at least {TIGHTEST:g}"
    elif twist.min() < TWISTS[0] or twist.max() > TWISTS[1]:
        found = f"have a twist of {twist.mean():.1f}°, expected {TWISTS[0]:g} to {TWISTS[1]:g}"
    if found:
        raise InputError(
            f"{where}: the linker of {n} base pairs would {found}: give it another length, or move the nucleosomes"
        )


def _dna(placed: list[Wrapped], linkers: list[Rod]) -> Wrapped:
    """Returns the DNA from end to end."""
    pairs, parameters, letters = [], [], []
    backbones: tuple[list[Places], list[Places]] = ([], [])
    second_parts: list[list[Places]] = []
    for at, wrapped in enumerate(placed):
        pieces = [(wrapped.course.pairs, wrapped.course.parameters, wrapped.sequence, wrapped.backbones)]
        if at < len(linkers):
            n = len(linkers[at].pairs)
            bare: list[Places] = [{} for _ in range(n)]
            pieces.append((linkers[at].pairs, np.zeros((n, 6)), _NO_BASE * n, (bare, bare)))
        for own, values, text, (first, second) in pieces:
            pairs.append(own)
            parameters.append(values)
            letters.append(text)
            backbones[0].extend(first)
            second_parts.append(second)
    for part in reversed(second_parts):  # the second strand begins at the other end
        backbones[1].extend(part)
    frames = Frames(*(np.concatenate([getattr(own, name) for own in pairs]) for name in ("origin", "rotation")))
    return Wrapped("".join(letters), Course(frames, np.concatenate(parameters)), backbones)
