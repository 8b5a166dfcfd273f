"""The nucleotides of DNA in the standard reference frame of their base: right-handed, its origin and its axes x and y
in the plane of a base pair, with z along the strand.

Bases: Olson et al. 2001. Sugars and phosphates: B-DNA by fibre diffraction, as 3DNA has it (Lu and Olson 2003). These
places are data of 3DNA, Apache License 2.0. Names of atoms are those of the PDB.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tessera.system.model import FloatArray

#: the base with which each pairs
PARTNER = {"A": "T", "C": "G", "G": "C", "T": "A"}
#: the atoms of rings, by which a frame is fitted
RING = ("N1", "C2", "N3", "C4", "C5", "C6", "N7", "C8", "N9")

#: name, x, y, z in Å
_BASE = {
    "A": """
        C1'   -2.479   5.346   0.000
        N9    -1.291   4.498   0.000
        C8     0.024   4.897   0.000
        N7     0.877   3.902   0.000
        C5     0.071   2.771   0.000
        C6     0.369   1.398   0.000
        N6     1.611   0.909   0.000
        N1    -0.668   0.532   0.000
        C2    -1.912   1.023   0.000
        N3    -2.320   2.290   0.000
        C4    -1.267   3.124   0.000
    """,
    "C": """
        C1'   -2.477   5.402   0.000
        N1    -1.285   4.542   0.000
        C2    -1.472   3.158   0.000
        O2    -2.628   2.709   0.001
        N3    -0.391   2.344   0.000
        C4     0.837   2.868   0.000
        N4     1.875   2.027   0.001
        C5     1.056   4.275   0.000
        C6    -0.023   5.068   0.000
    """,
    "G": """
        C1'   -2.477   5.399   0.000
        N9    -1.289   4.551   0.000
        C8     0.023   4.962   0.000
        N7     0.870   3.969   0.000
        C5     0.071   2.833   0.000
        C6     0.424   1.460   0.000
        O6     1.554   0.955   0.000
        N1    -0.700   0.641   0.000
        C2    -1.999   1.087   0.000
        N2    -2.949   0.139  -0.001
        N3    -2.342   2.364   0.001
        C4    -1.265   3.177   0.000
    """,
    "T": """
        C1'   -2.481   5.354   0.000
        N1    -1.284   4.500   0.000
        C2    -1.462   3.135   0.000
        O2    -2.562   2.608   0.000
        N3    -0.298   2.407   0.000
        C4     0.994   2.897   0.000
        O4     1.944   2.119   0.000
        C5     1.106   4.338   0.000
        C7     2.466   4.961   0.001
        C6    -0.024   5.057   0.000
    """,
}
_BACKBONE = {
    "A": """
        P     -0.299   9.399  -1.529
        OP1   -0.377  10.734  -2.162
        OP2    0.714   9.245  -0.460
        O5'   -1.738   8.985  -0.968
        C5'   -2.674   8.343  -1.855
        C4'   -3.346   7.182  -1.148
        O4'   -2.596   5.941  -1.284
        C3'   -3.530   7.338   0.361
        O3'   -4.771   6.752   0.737
        C2'   -2.398   6.514   0.976
    """,
    "C": """
        P     -0.275   9.443  -1.528
        OP1   -0.347  10.779  -2.161
        OP2    0.736   9.284  -0.459
        O5'   -1.717   9.036  -0.967
        C5'   -2.657   8.399  -1.854
        C4'   -3.334   7.242  -1.148
        O4'   -2.590   5.997  -1.284
        C3'   -3.517   7.399   0.362
        O3'   -4.762   6.819   0.737
        C2'   -2.390   6.569   0.977
    """,
    "G": """
        P     -0.296   9.452  -1.527
        OP1   -0.375  10.788  -2.160
        OP2    0.716   9.298  -0.458
        O5'   -1.736   9.038  -0.967
        C5'   -2.672   8.396  -1.854
        C4'   -3.344   7.235  -1.148
        O4'   -2.593   5.994  -1.284
        C3'   -3.528   7.391   0.362
        O3'   -4.769   6.805   0.737
        C2'   -2.396   6.566   0.977
    """,
    "T": """
        P     -0.300   9.407  -1.526
        OP1   -0.379  10.743  -2.159
        OP2    0.712   9.253  -0.458
        O5'   -1.740   8.993  -0.966
        C5'   -2.676   8.351  -1.853
        C4'   -3.348   7.190  -1.147
        O4'   -2.597   5.949  -1.283
        C3'   -3.532   7.346   0.362
        O3'   -4.773   6.760   0.737
        C2'   -2.400   6.521   0.977
    """,
}


@dataclass(frozen=True)
class Nucleotide:
    """The heavy atoms of a nucleotide, and where they are (n,3) Å in the frame of its base."""

    names: tuple[str, ...]
    position: FloatArray

    def places(self, names: tuple[str, ...]) -> FloatArray:
        """Returns where these atoms are, (n,3) Å."""
        return self.position[[self.names.index(name) for name in names]]

    @property
    def ring(self) -> tuple[str, ...]:
        """The atoms of its rings."""
        return tuple(name for name in self.names if name in RING)


def _read(letter: str) -> Nucleotide:
    rows = [line.split() for line in (_BASE[letter] + _BACKBONE[letter]).split("\n") if line.strip()]
    return Nucleotide(tuple(row[0] for row in rows), np.array([[float(x) for x in row[1:]] for row in rows]))


NUCLEOTIDES = {letter: _read(letter) for letter in PARTNER}
