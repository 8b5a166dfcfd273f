"""Joins nucleosomes to a fibre: one template at many frames, and linkers between them.

A linker is the DNA of least elastic energy from the last pair of a nucleosome to the first of the next, both of which
stay (`dna/rods.py`). Its pairs are flat: they have no parameters of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tessera.build.charmm.chain import Chain, Link
from tessera.build.charmm.places import Places
from tessera.build.dna.frames import Frames
from tessera.build.dna.paths import RISE, TIGHTEST, TWISTS, Course
from tessera.build.dna.rods import Rod, rod
from tessera.build.dna.strand import ForceField
from tessera.build.fiber.table import Nucleosomes
from tessera.build.nucleosome.assemble import assembled
from tessera.build.nucleosome.template import Template
from tessera.build.nucleosome.wrapped import Wrapped
from tessera.build.protein.model import Proteins
from tessera.errors import InputError
from tessera.system import System

_STRETCHED = 0.1  # of the rise between pairs, by which sugars and phosphates still close
_NO_BASE = "-"  # where the template has none


@dataclass(frozen=True)
class Fiber:
    """All proteins, the DNA from end to end, and the linkers (n - 1)."""

    proteins: Proteins
    wrapped: Wrapped
    linkers: list[Rod]

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
    each = len(template.wrapped.sequence)
    needed = each * len(table.frames) + sum(table.linkers)
    if len(sequence) != needed:
        raise InputError(
            f"the sequence has {len(sequence):,} base pairs and the fibre of {table.file} {needed:,}: "
            f"{len(table.frames):,} nucleosomes of {each} and {sum(table.linkers):,} between them"
        )
    report("laying linkers")
    fiber = joined(template, table)
    notes = [*template.notes, *fiber.notes()]
    return assembled(fiber.proteins, fiber.wrapped, sequence, field, source, notes, report=report)


def joined(template: Template, table: Nucleosomes) -> Fiber:
    """Returns a template at all frames of a table, and linkers. Raises `InputError` that names lines of the table."""
    placed = [template.moved(table.frames[at]) for at in range(len(table.frames))]
    linkers = []
    for at, n in enumerate(table.linkers):
        before, after = (placed[at + step].wrapped.course.pairs for step in (0, 1))
        found = rod(before[-1], after[0], n)
        check_linker(found, n, f"{table.file}, lines {table.lines[at]} and {table.lines[at + 1]}")
        linkers.append(found)
    return Fiber(_proteins([nucleosome.proteins for nucleosome in placed]), _dna(placed, linkers), linkers)


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


def _proteins(parts: list[Proteins]) -> Proteins:
    """Returns the proteins of all nucleosomes; chain A of the second is the segment P2A."""
    chains: list[Chain] = []
    links: list[Link] = []
    for number, part in enumerate(parts, start=1):
        links += [
            Link((len(chains) + link.one[0], *link.one[1:]), (len(chains) + link.other[0], *link.other[1:]))
            for link in part.links
        ]
        chains += [replace(chain, segment=f"P{number}{chain.segment.removeprefix('PRO')}") for chain in part.chains]
    position, is_built, alone = (
        np.concatenate(arrays)
        for arrays in zip(*((part.position, part.is_built, part.alone) for part in parts), strict=True)
    )
    return Proteins(chains, links, position, is_built, alone, [])


def _dna(placed: list[Template], linkers: list[Rod]) -> Wrapped:
    """Returns the DNA from end to end."""
    pairs, parameters, letters = [], [], []
    backbones: tuple[list[Places], list[Places]] = ([], [])
    for at, nucleosome in enumerate(placed):
        wrapped = nucleosome.wrapped
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
            backbones[1][:0] = second  # which begins at the other end
    frames = Frames(*(np.concatenate([getattr(part, name) for part in pairs]) for name in ("origin", "rotation")))
    return Wrapped("".join(letters), Course(frames, np.concatenate(parameters)), backbones)
