"""Joins nucleosomes to a fibre: one template at many frames, and linkers between them.

A linker is the DNA of least elastic energy from the last pair of a nucleosome to the first of the next, both of which
stay (`dna/rods.py`). Its pairs are flat: they have no parameters of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessera.build.charmm.places import Places
from tessera.build.dna.frames import Frames, bases_of
from tessera.build.dna.paths import RISE, TIGHTEST, TWISTS, Course
from tessera.build.dna.rods import Rod, rod
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import ForceField, Nucleotides
from tessera.build.fiber.kinds import fiber_system
from tessera.build.fiber.places import Backbones, placed_strand
from tessera.build.fiber.settle import FiberResidues, Settler, Strands
from tessera.build.fiber.table import Nucleosomes
from tessera.build.nucleosome.ready import ready
from tessera.build.nucleosome.template import Template
from tessera.build.nucleosome.wrapped import Wrapped
from tessera.errors import InputError
from tessera.system import System
from tessera.system.model import FloatArray
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
        begins = np.cumsum([0, *(each + len(linker.pairs) for linker in self.linkers)])
        return [0, *(begins + each // 2).tolist(), len(self.wrapped.sequence)]

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
) -> System:
    """Builds a fibre without a box from a template at the frames of a table. The first strand has the sequence from its
    5' end. Raises `InputError` for a sequence of another length, and for linkers that DNA can't follow."""
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
    report("placing bases")
    system = fiber_system(settled.proteins, nucleotides, sequence, count, source, [*settled.notes, *fiber.notes()])
    position, right = _placed(settled, fiber, nucleotides, sequence)
    is_new = np.array([letter != own for letter, own in zip(sequence, fiber.wrapped.sequence)])
    strands = Strands(sequence, is_new, fiber.dyads(each))
    residues = FiberResidues(settled.proteins, nucleotides, sequence, count)
    system.notes += Settler(system, position, right, strands, residues, nucleotides).settle(report)
    return with_positions(system, position)


def joined(template: Template, table: Nucleosomes) -> Fiber:
    """Returns the DNA of a template at all frames of a table, and linkers. Raises `InputError` that names lines of the
    table."""
    moves = [template.shift_to(table.frames[at]) for at in range(len(table.frames))]
    placed = [template.wrapped.moved(move) for move in moves]
    linkers = []
    for at, n in enumerate(table.linkers):
        before, after = (placed[at + step].course.pairs for step in (0, 1))
        found = rod(before[-1], after[0], n)
        check_linker(found, n, f"{table.file}, lines {table.lines[at]} and {table.lines[at + 1]}")
        linkers.append(found)
    return Fiber(moves, _dna(placed, linkers), linkers)


def _placed(template: Template, fiber: Fiber, nucleotides: Nucleotides, sequence: str) -> tuple[FloatArray, FloatArray]:
    """Returns where all atoms are and where they have the right handedness, (n,3) Å: proteins, then both strands."""
    proteins, wrapped = template.proteins, fiber.wrapped
    first, second = bases_of(wrapped.course.pairs, wrapped.course.parameters)
    strands = [
        placed_strand(nucleotides, letters, frames, Backbones.of(backbones))
        for letters, frames, backbones in zip(
            (sequence, complement(sequence)), (first, second[::-1]), wrapped.backbones
        )
    ]
    position = [move.placed(proteins.position) for move in fiber.moves] + [strand.position for strand in strands]
    right = [proteins.alone] * len(fiber.moves) + [strand.alone for strand in strands]
    return np.concatenate(position), np.concatenate(right)


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
