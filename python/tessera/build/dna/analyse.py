"""Measures a double helix: the parameters of its steps and pairs, and the superhelix of its path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tessera.build.dna.frames import PAIR, STEP, pairs_of, parameters
from tessera.build.dna.strands import Duplex, read_duplex
from tessera.build.dna.superhelix import Superhelix, superhelix_of
from tessera.errors import InputError
from tessera.system.model import FloatArray


@dataclass(frozen=True)
class Analysis:
    """Parameters of n pairs in Å and degrees, in the order of `STEP` and `PAIR`."""

    sequence: str
    steps: FloatArray  # (n − 1,6)
    pairs: FloatArray  # (n,6)
    superhelix: Superhelix | None

    @property
    def turns(self) -> float:
        """The twist of all steps in turns."""
        return float(self.steps[:, 5].sum() / 360)

    def facts(self) -> dict[str, Any]:
        """Returns what the command prints as JSON."""
        found = self.superhelix
        return {
            "steps": self.steps.tolist(),
            "pairs": self.pairs.tolist(),
            "superhelix": found
            and {"diameter": found.diameter, "pitch": found.pitch, "turns": found.turns, "hand": found.hand},
        }

    def text(self) -> str:
        """Returns means and deviations, line by line."""
        lines = [f"{len(self.pairs):,} base pairs, {self.turns:.2f} turns of twist"]
        for names, values, what in ((STEP, self.steps, "step"), (PAIR, self.pairs, "pair")):
            lines.append(f"  {what + 's':<12}{'mean':>9}{'deviation':>11}")
            for index, name in enumerate(names):
                unit = "Å" if index < 3 else "°"
                mean = round(float(values[:, index].mean()), 2) + 0.0  # no −0.00
                lines.append(f"    {name:<10}{mean:9.2f}{values[:, index].std():11.2f} {unit}")
        if self.superhelix is None:
            return "\n".join([*lines, "  superhelix  none"])
        found = self.superhelix
        kind = f"{found.hand}-handed, pitch {found.pitch:.1f} Å" if found.hand else "a circle"
        lines.append(
            f"  superhelix  {kind}, diameter {found.diameter:.1f} Å, {found.turns:.2f} turns; the path is "
            f"{found.deviation:.1f} Å from it (root mean square)"
        )
        return "\n".join(lines)


def analyse(path: Path) -> Analysis:
    """Measures the double helix of a PDB, mmCIF or system file. Raises `InputError`."""
    return analysis_of(read_duplex(path), path.name)


def analysis_of(duplex: Duplex, file: str) -> Analysis:
    """Measures a double helix. Raises `InputError` for a single pair."""
    if len(duplex.sequence) < 2:
        raise InputError(f"{file} holds one base pair; steps are between two")
    pairs, frames = pairs_of(duplex.first, duplex.second)
    steps, _ = parameters(frames[:-1], frames[1:])
    return Analysis(duplex.sequence, np.asarray(steps), np.asarray(pairs), superhelix_of(frames.origin))
