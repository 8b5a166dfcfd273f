"""What is found in a file and what becomes of it, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import NEAREST, Overlaps, overlaps_of
from tessera.build.clashes.knots import Knot, knots_of
from tessera.build.clashes.mend import Outcome, mend
from tessera.build.clashes.molecules import Molecules
from tessera.build.clashes.rings import Piercing, piercings_of
from tessera.printing import counted

_SHOWN = 20  # lines of each kind


@dataclass(frozen=True)
class Report:
    """The clashes of a file before turning, and their outcomes; the piercings and knots after it."""

    molecules: Molecules
    overlaps: Overlaps
    outcomes: list[Outcome]
    piercings: list[Piercing]
    knots: list[Knot]

    @property
    def left(self) -> int:
        """How many clashes, piercings and knots there still are."""
        return sum(not outcome.mended for outcome in self.outcomes) + len(self.piercings) + len(self.knots)

    def facts(self) -> dict[str, Any]:
        """Returns what the command prints as JSON."""
        label = self.molecules.label
        clashes = [
            {"atoms": [label(atom) for atom in pair], "distance": round(distance, 4), **vars(outcome)}
            for pair, distance, outcome in zip(
                self.overlaps.pairs.tolist(), self.overlaps.distance.tolist(), self.outcomes
            )
        ]
        return {
            "clashes": clashes,
            "piercings": [
                {"bond": [label(atom) for atom in found.bond], "ring": [label(atom) for atom in found.ring]}
                for found in self.piercings
            ],
            "knots": [
                {"ends": [label(atom) for atom in found.ends], "determinant": found.determinant} for found in self.knots
            ],
            "left": self.left,
        }

    def text(self) -> str:
        """Returns lines for a reader: what is left first, then what was mended."""
        label = self.molecules.label
        left, mended = [], []
        for (one, other), distance, outcome in zip(
            self.overlaps.pairs.tolist(), self.overlaps.distance.tolist(), self.outcomes
        ):
            line = f"{label(one)} and {label(other)} are {distance:.2f} Å apart"
            if outcome.mended:
                mended.append(f"{line}: {outcome.turned} turned by {outcome.by:g}°")
            else:
                left.append(line)
        through = [
            f"the bond of {label(f.bond[0])} and {label(f.bond[1])} goes through the ring of {label(f.ring[0])}"
            for f in self.piercings
        ]
        knots = [
            f"the chain from {label(f.ends[0])} to {label(f.ends[1])} has a knot of determinant {f.determinant}"
            for f in self.knots
        ]
        head = (
            f"{self.molecules.file}: {counted(self.molecules.n_atoms, 'atom')}, {len(self.overlaps):,} clash(es) below "
            f"{NEAREST} Å, {len(mended):,} of them mended; {len(through):,} bond(s) through rings, "
            f"{len(knots):,} knot(s)"
        )
        lists = [("left:", left), ("mended:", mended), ("through rings:", through), ("knots:", knots)]
        return "\n".join([head, *(line for title, lines in lists for line in _listed(title, lines))])


def _listed(title: str, lines: list[str]) -> list[str]:
    """Returns a title and the first lines below it, nothing without lines."""
    more = [f"  … and {len(lines) - _SHOWN:,} more; --json lists all"] if len(lines) > _SHOWN else []
    return [title, *(f"  {line}" for line in lines[:_SHOWN]), *more] if lines else []


def clashes_of(
    path: Path, output: Path | None = None, report: Callable[[str], None] = lambda _: None, tails: bool = False
) -> Report:
    """Finds what clashes in a PDB, mmCIF or system file, and with an `output` mends it, where nothing else does by
    posing tails anew if these may move, and writes the same file with the new coordinates. Raises `InputError` and
    `OSError`."""
    report("reading")
    structure = read_structure(path)
    molecules = structure.molecules
    report("looking for clashes")
    overlaps = overlaps_of(molecules)
    outcomes = [Outcome(None, None, False)] * len(overlaps)
    if output is not None:
        outcomes = mend(molecules, overlaps, report, tails)
        report("writing")
        structure.write(output)
    report("looking for bonds through rings")
    piercings = piercings_of(molecules)
    report("looking for knots")
    return Report(molecules, overlaps, outcomes, piercings, knots_of(molecules))
