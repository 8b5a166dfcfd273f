"""Where histones end in tails: the residues that are beads of their own in mesoscale models of chromatin.

Sun, Zhang and Schlick (2005) give each half of an octamer 25 beads of five residues: 8 of H3, 5 of H4, 5 of H2B, and of
H2A 4 at its beginning and 3 at its end. What is left is the globular part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tessera.build.protein.sequences import Protein, Threaded, threaded
from tessera.build.protein.structure import Strand

A_BEAD = 5  # residues


#: the histones of the nucleosome 1KX5 (Davey et al. 2002), to which others are aligned
HISTONES = {
    "H3": "ARTKQTARKSTGGKAPRKQLATKAARKSAPATGGVKKPHRYRPGTVALREIRRYQKSTELLIRKLPFQRLVREIAQDFKTDLRFQSSAVMALQEAS"
    "EAYLVALFEDTNLCAIHAKRVTIMPKDIQLARRIRGERA",
    "H4": "SGRGKGGKGLGKGGAKRHRKVLRDNIQGITKPAIRRLARRGGVKRISGLIYEETRGVLKVFLENVIRDAVTYTEHAKRKTVTAMDVVYALKRQGRTLYGFGG",
    "H2A": "SGRGKQGGKTRAKAKTRSSRAGLQFPVGRVHRLLRKGNYAERVGAGAPVYLAAVLEYLTAEILELAGNAARDNKKTRIIPRHLQLAVRNDEELNKL"
    "LGRVTIAQGGVLPNIQSVLLPKKTESSKSKSK",
    "H2B": "PEPAKSAPAPKKGSKKAVTKTQKKDGKKRRKTRKESYAIYVYKVLKQVHPDTGISSKAMSIMNSFVNDVFERIAGEASRLAHYNKRSTITSREIQT"
    "AVRLLLPGELAKHAVSEGTKAVTKYTSAK",
}
#: beads of tails at both ends
BEADS = {"H3": (8, 0), "H4": (5, 0), "H2A": (4, 3), "H2B": (5, 0)}


def histones(strands: Sequence[Strand], file: str) -> list[tuple[str, Threaded]]:
    """Returns for each chain which histone it is, with its sequence. Raises `InputError` for a chain that is no histone
    of an octamer."""
    threads, _ = threaded(strands, {}, [Protein(name, letters) for name, letters in HISTONES.items()], file)
    names = {letters: name for name, letters in HISTONES.items()}
    return [(names[thread.letters], thread) for thread in threads]


def globular(strands: Sequence[Strand], file: str) -> list[tuple[str, slice]]:
    """Returns for each chain which histone it is and which of its residues are globular. Raises `InputError` for a
    chain that is no histone of an octamer."""
    found = []
    for name, thread in histones(strands, file):
        before, behind = (A_BEAD * beads for beads in BEADS[name])
        rows = thread.found[before : len(thread.letters) - behind]
        rows = rows[rows >= 0]
        found.append((name, slice(int(np.min(rows)), int(np.max(rows)) + 1)))
    return found
