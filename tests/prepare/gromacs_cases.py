"""Small topologies, one for each rule of GROMACS that a reader easily misses, and GROMACS' energies of them.

`FIGURES` are energies in kJ/mol of GROMACS 2022.5 in double precision (`python -m prepare.gromacs_cases` in this
folder's parent computes and prints them where `gmx_d` is on the path).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.prepare.gromacs_peer import gromacs_energies

N_ATOMS = 8
#: Tessera's terms that add up to each figure
TERMS = {
    "springs": (("bond", "angle", "urey_bradley"), ("Bond", "G96Bond", "Harmonic Pot.", "Angle", "G96Angle", "U-B")),
    "dihedral": (("dihedral",), ("Proper Dih.", "Ryckaert-Bell.", "Fourier Dih.")),
    "improper": (("improper",), ("Improper Dih.", "Per. Imp. Dih.")),
    "cmap": (("cmap",), ("CMAP Dih.",)),
    "lj": (("lj",), ("LJ (SR)",)),
    "lj_14": (("lj_14",), ("LJ-14",)),
    "coulomb": (("coulomb",), ("Coulomb (SR)",)),
    "coulomb_14": (("coulomb_14",), ("Coulomb-14",)),
}


_LJ = {"A": (0.25, 0.3), "B": (0.28, 0.5), "C": (0.22, 0.7), "H": (0.12, 0.1)}
_NUMBER = {"A": (6, 12.011), "B": (6, 14.027), "C": (7, 14.007), "H": (1, 1.008)}
SIGMA_TYPES = "".join(f"{t} {_NUMBER[t][0]} {_NUMBER[t][1]} 0.0 A {s} {e}\n" for t, (s, e) in _LJ.items())
C6_TYPES = "".join(
    f"{t} {_NUMBER[t][0]} {_NUMBER[t][1]} 0.0 A {4 * e * s**6!r} {4 * e * s**12!r}\n" for t, (s, e) in _LJ.items()
)
_KINDS = "ABBCABCH"
_CHARGES = (0.2, -0.2, -0.3, 0.3, 0.25, -0.35, -0.1, 0.2)
ATOMS = "".join(f"{i + 1} {t} 1 CHN {t}{i + 1} 1 {q}\n" for i, (t, q) in enumerate(zip(_KINDS, _CHARGES)))


@dataclass
class Case:
    """The lines of sections in which a topology differs from the plain chain of eight atoms."""

    defaults: str = "1 2 yes 0.5 0.8333"
    types: str = ""
    molecule: str = ""
    nrexcl: int = 3
    bonds: str = "\n".join(f"{i} {i + 1} 1 0.15 200000" for i in range(1, N_ATOMS))
    define: str = ""
    atoms: str = ATOMS
    files: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        atom_types = C6_TYPES if self.defaults.startswith("1 1") else SIGMA_TYPES
        text = f"[ defaults ]\n{self.defaults}\n[ atomtypes ]\n{atom_types}{self.types}\n"
        text += (
            f"[ moleculetype ]\nCHAIN {self.nrexcl}\n[ atoms ]\n{self.atoms}[ bonds ]\n{self.bonds}\n{self.molecule}\n"
        )
        text += "[ system ]\nsmall\n[ molecules ]\nCHAIN 1\n"
        (folder / "case.top").write_text(text)
        for name, content in self.files.items():
            (folder / name).write_text(content)
        write_gro(folder / "case.gro")


def write_gro(path: Path) -> None:
    """Writes a bent chain with 1.5 Å between neighbours, in which no other two atoms are closer."""
    generator = np.random.default_rng(11)
    place = [np.full(3, 2.5)]
    while len(place) < N_ATOMS:
        step = generator.normal(size=3)
        new = place[-1] + 0.155 * step / np.linalg.norm(step)
        if min(np.linalg.norm(new - old) for old in place) > 0.15:
            place.append(new)
    lines = [
        f"{1:5d}{'CHN':<5s}{t + str(i + 1):>5s}{i + 1:5d}" + "".join(f"{x:8.3f}" for x in p)
        for i, (t, p) in enumerate(zip(_KINDS, place))
    ]
    path.write_text(f"small\n{N_ATOMS}\n" + "\n".join(lines) + "\n   6.00000   6.00000   6.00000\n")


NBFIX = "[ nonbond_params ]\n{}\n"
DIHEDRALS = "[ dihedrals ]\n1 2 3 4 9\n2 3 4 5 9\n3 4 5 6 9\n"
PAIRS = "[ pairs ]\n1 4\n2 5 1\n3 6 1\n"


def _map(factor: float) -> str:
    """Returns 24 × 24 points of a smooth map, because programs interpolate a coarse map differently."""
    angle = np.radians(np.arange(24) * 15.0)
    energy = factor * (np.sin(angle[:, None]) + 0.5 * np.cos(2 * angle[:, None] - angle))
    return "\\\n".join(" ".join(f"{value:.5f}" for value in row) for row in energy)


CASES = {
    "plain": Case(molecule=PAIRS),
    "nrexcl 0": Case(nrexcl=0),
    "nrexcl 1": Case(nrexcl=1, molecule=PAIRS),
    "nrexcl 2": Case(nrexcl=2, molecule=PAIRS),
    "nrexcl 5": Case(nrexcl=5, molecule=PAIRS),
    "four ways to write an atom type": Case(
        types="A 0 12.011 0 A 0.25 0.3\nB BB 14.027 0 A 0.28 0.5\nC CC 7 14.007 0 A 0.22 0.7\nH 1.008 0 A 0.12 0.1\n"
        "[ bondtypes ]\nA BB 1 0.14 1e5\nBB BB 1 0.13 1e5\nBB CC 1 0.16 1e5\nCC A 1 0.17 1e5\nCC H 1 0.1 1e5\n",
        bonds="\n".join(f"{i} {i + 1}" for i in range(1, N_ATOMS)),
    ),
    "exclusions": Case(nrexcl=1, molecule="[ exclusions ]\n1 4 5 6\n7 2\n8 8 1\n"),
    "pairs further apart, twice": Case(molecule="[ pairs ]\n1 5 1\n1 5 1\n1 2 1\n2 8 1\n"),
    "pairs with their own": Case(molecule="[ pairs ]\n1 4 1 0.3 0.6\n2 5 1 0.31 0.5 0.31 0.5\n"),
    "pairs of function 2": Case(
        molecule="[ pairs ]\n1 4 2 0.7 0.3 -0.2 0.3 0.6\n2 5 2 1 -0.2 0.25 0.2 0.4\n3 6 2 0 0 0 0.31 0.5\n"
    ),
    "pairtypes": Case(types="[ pairtypes ]\nC A 1 0.2 0.9\n", molecule=PAIRS),
    "pairs are not generated": Case(
        defaults="1 2 no 0.5 0.8333",
        types="[ pairtypes ]\nC A 1 0.2 0.9\nA B 1 0.21 0.8\nB B 1 0.2 0.7\n",
        molecule=PAIRS,
    ),
    "nbfix, rule 1": Case("1 1 yes 0.5 0.8333", NBFIX.format("C A 1 0.0003 2e-7\nB A 1 0.0002 3e-7"), PAIRS),
    "nbfix, rule 2": Case("1 2 yes 0.5 0.8333", NBFIX.format("C A 1 0.2 0.9\nB A 1 0.3 0.7"), PAIRS),
    "nbfix, rule 3": Case("1 3 yes 0.5 0.8333", NBFIX.format("C A 1 0.2 0.9\nB A 1 0.3 0.7"), PAIRS),
    "rule 1": Case("1 1 yes 0.5 0.8333", molecule=PAIRS),
    "rule 3": Case("1 3 yes 0.5 0.8333", molecule=PAIRS),
    "attraction or repulsion alone, rule 1": Case(
        "1 1 yes 0.5 0.8333",
        NBFIX.format("C A 1 0.0003 0\nB A 1 0 3e-7"),
        "[ pairs ]\n1 4\n2 5\n3 6 1 0 1e-7\n1 5 1 1e-3 0\n1 6 1 0 0\n",
    ),
    "a negative sigma repels": Case(types="C 7 14.007 0.0 A -0.22 0.7\n", molecule=PAIRS),
    "bonds of functions 5 and 6": Case(
        bonds="1 2 1 0.15 200000\n2 3 5\n3 4 1 0.15 200000\n4 5 6 0.15 200000\n5 6\n6 7\n7 8\n",
        types="[ bondtypes ]\nB A 1 0.14 1e5\nB C 1 0.151 1.5e5\nH C 1 0.1 3e5\n",
        molecule=PAIRS,
    ),
    "angles": Case(
        types="[ angletypes ]\nB B A 1 110 400\nC B B 5 115 300 0.24 9000\n",
        molecule="[ angles ]\n1 2 3\n2 3 4 5\n3 4 5 1 100 350 100 350\n4 5 6 5 101 320 0.23 8000\n",
    ),
    "GROMOS' bonds and angles": Case(
        bonds="1 2 2 0.15 7.1e6\n2 3 2 gb_2\n3 4 2 0.15 5e6\n4 5 2 0.14 5e6\n5 6 2 0.15 5e6\n6 7 2 0.15 5e6\n7 8 2\n",
        types="#define gb_2 0.1530 7.1500e+06\n[ bondtypes ]\nH C 2 0.1 1.87e7\n[ angletypes ]\nB B A 2 109.5 520\n",
        molecule="[ angles ]\n1 2 3 2\n2 3 4 2 120 560\n3 4 5 2 180 91350\n" + PAIRS,
    ),
    "a later type takes the place": Case(
        types="[ angletypes ]\nB B A 1 110 400\nA B B 1 120 500\n"
        "[ dihedraltypes ]\nA B B C 1 180 5 2\nC B B A 1 90 6 1\n",
        molecule="[ angles ]\n1 2 3\n[ dihedrals ]\n1 2 3 4 1\n",
    ),
    "the first of equal wildcards": Case(
        types="[ dihedraltypes ]\nX B C X 9 0 1 1\nX B B X 9 180 5 2\nA B B X 9 90 6 1\nX B B C 9 30 7 3\n"
        "X X C A 9 0 8 1\nX C A X 9 0 9 1\n",
        molecule=DIHEDRALS,
    ),
    "cosines of one block": Case(
        types="[ dihedraltypes ]\nC B B A 9 180 5 2\nC B B A 9 0 3 1\nC B B A 9 0 -2 3\nX B C X 9 0 1 1\n"
        "X C A X 9 0 2 2\nX C A X 9 0 2 -3\n",
        molecule=DIHEDRALS,
    ),
    "a line that two files repeat": Case(
        types='#include "one.itp"\n#include "two.itp"\n',
        molecule=DIHEDRALS,
        files={
            "one.itp": "[ dihedraltypes ]\nA B B C 9 180 5 2\nB B C A 9 0 3 1\n",
            "two.itp": "[ dihedraltypes ]\nC A B B 9 60 2 1\nA B B C 9 180 5 2\nX C A X 9 0 4 2\nA C B B 9 0 3 1\n",
        },
    ),
    "two types for a dihedral": Case(
        types="[ dihedraltypes ]\nB B 1 180 5 2\nA B 2 10 50\n",
        molecule="[ dihedrals ]\n1 2 3 4 1\n5 4 3 2 2\n",
    ),
    "all dihedrals": Case(
        molecule="[ dihedrals ]\n1 2 3 4 3 9.28 12.16 -13.12 -3.06 26.24 -31.5\n2 3 4 5 5 3 -4 5 6\n3 4 5 6 2 40 90\n"
        "4 5 6 7 4 180 4 2\n5 6 7 8 1 -170 3 3\n1 2 3 4 9 0 3 1\n2 3 4 5 3 0 0 0 0 0 0\n",
    ),
    "maps": Case(
        types=f"[ cmaptypes ]\nA B B C A 1 24 24\\\n{_map(4)}\n"
        f"B B C A B 1 24 24 {_map(3)}\nA B B C A 1 24 24 {_map(2)}\n",
        molecule="[ cmap ]\n1 2 3 4 5 1\n2 3 4 5 6 1\n",
    ),
    "macros": Case(
        types="#define bb 0.16 1.5e5 ; a bond\n#define outer inner inner2\n#define inner 110\n#define inner2 400\n"
        "#undef CHAIN\n#ifdef SOFT\n#ifndef HARD\n#define bb 0.17 bb_k\n#else\n#error\n#endif\n"
        "#define bb_k 1e5\n#endif\n",
        bonds="1 2 1 bb\n2 3 1 bb ; c\n\n#ifdef SOFT\n3 4 1 bb\n# ifdef NEVER\n#define bb 1 1\n# else\n4 5 1 0.1 K\n"
        "#endif\n#endif",
        molecule="[Angles]\n1 2 3 1 \\\n outer\n",
        define="-DSOFT -DK=3e4",
    ),
    "constraints": Case(
        bonds="1 2 1 0.15 200000\n2 3 1 0.15 200000\n3 4 1 0.15 200000\n4 5 1 0.15 200000\n5 6 1 0.15 200000\n"
        "6 7 1 0.15 200000\n",
        types="[ constrainttypes ]\nH C 1 0.155\n",
        molecule="[ constraints ]\n7 8 1\n" + PAIRS + "5 8\n",
    ),
    "constraints that are no bonds": Case(
        bonds="1 2 1 0.15 200000\n2 3 1 0.15 200000\n3 4 1 0.15 200000\n4 5 1 0.15 200000\n5 6 1 0.15 200000\n"
        "6 7 1 0.15 200000\n",
        molecule="[ constraints ]\n7 8 2 0.155 0.155\n" + PAIRS,
    ),
}

# Energies that are not named are 0.
FIGURES: dict[str, dict[str, float]] = {
    "plain": {"springs": 17.303804, "lj": -0.909536, "lj_14": 0.542998, "coulomb": 39.562253, "coulomb_14": 32.035137},
    "GROMOS' bonds and angles": {
        "springs": 30870.820370,
        "lj": -0.909536,
        "lj_14": 0.542998,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "nrexcl 0": {"springs": 17.303804, "lj": 6828.768727, "coulomb": -203.935242},
    "nrexcl 1": {
        "springs": 17.303804,
        "lj": 1024.662072,
        "lj_14": 0.542998,
        "coulomb": -143.427136,
        "coulomb_14": 32.035137,
    },
    "nrexcl 2": {
        "springs": 17.303804,
        "lj": 0.004925,
        "lj_14": 0.542998,
        "coulomb": 84.654906,
        "coulomb_14": 32.035137,
    },
    "nrexcl 5": {
        "springs": 17.303804,
        "lj": -0.039347,
        "lj_14": 0.542998,
        "coulomb": -7.814446,
        "coulomb_14": 32.035137,
    },
    "four ways to write an atom type": {"springs": 217.294038, "lj": -0.909536, "coulomb": 39.562253},
    "exclusions": {"springs": 17.303804, "lj": 1025.293797, "coulomb": -185.479385},
    "pairs further apart, twice": {
        "springs": 17.303804,
        "lj": -0.909536,
        "lj_14": 460.736689,
        "coulomb": 39.562253,
        "coulomb_14": -11.581892,
    },
    "pairs with their own": {
        "springs": 17.303804,
        "lj": -0.909536,
        "lj_14": 27.639242,
        "coulomb": 39.562253,
        "coulomb_14": -0.837441,
    },
    "pairs of function 2": {
        "springs": 17.303804,
        "lj": -0.909536,
        "lj_14": -0.91874,
        "coulomb": 39.562253,
        "coulomb_14": -47.798517,
    },
    "pairtypes": {
        "springs": 17.303804,
        "lj": -0.909536,
        "lj_14": 0.425545,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "pairs are not generated": {
        "springs": 17.303804,
        "lj": -0.909536,
        "lj_14": -1.11716,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "nbfix, rule 1": {
        "springs": 17.303804,
        "lj": -0.84153,
        "lj_14": 2.795533,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "nbfix, rule 2": {
        "springs": 17.303804,
        "lj": -1.087545,
        "lj_14": 11.948316,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "nbfix, rule 3": {
        "springs": 17.303804,
        "lj": -1.070231,
        "lj_14": 11.948316,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "rule 1": {"springs": 17.303804, "lj": -0.891279, "lj_14": 0.515906, "coulomb": 39.562253, "coulomb_14": 32.035137},
    "rule 3": {"springs": 17.303804, "lj": -0.891279, "lj_14": 0.515906, "coulomb": 39.562253, "coulomb_14": 32.035137},
    "attraction or repulsion alone, rule 1": {
        "springs": 17.303804,
        "lj": -0.815019,
        "lj_14": 2.993136,
        "coulomb": 39.562253,
        "coulomb_14": 28.416355,
    },
    "a negative sigma repels": {
        "springs": 17.303804,
        "lj": -0.641921,
        "lj_14": 0.743069,
        "coulomb": 39.562253,
        "coulomb_14": 32.035137,
    },
    "bonds of functions 5 and 6": {
        "springs": 466.817499,
        "lj": 252.620324,
        "lj_14": 0.542998,
        "coulomb": 10.100419,
        "coulomb_14": 32.035137,
    },
    "angles": {"springs": 255.144392, "lj": -0.909536, "coulomb": 39.562253},
    "a later type takes the place": {"springs": 17.303933, "dihedral": 4.300404, "lj": -0.909536, "coulomb": 39.562253},
    "the first of equal wildcards": {"springs": 17.303804, "dihedral": 9.312834, "lj": -0.909536, "coulomb": 39.562253},
    "cosines of one block": {"springs": 17.303804, "dihedral": 6.133674, "lj": -0.909536, "coulomb": 39.562253},
    "a line that two files repeat": {"springs": 17.303804, "dihedral": 5.427938, "lj": -0.909536, "coulomb": 39.562253},
    "two types for a dihedral": {
        "springs": 17.303804,
        "dihedral": 0.802397,
        "improper": 95.70632,
        "lj": -0.909536,
        "coulomb": 39.562253,
    },
    "all dihedrals": {
        "springs": 17.303804,
        "dihedral": 9.838846,
        "improper": 95.528574,
        "lj": -0.909536,
        "coulomb": 39.562253,
    },
    "maps": {"springs": 17.303804, "cmap": 4.233391, "lj": -0.909536, "coulomb": 39.562253},
    "macros": {"springs": 85.171221, "lj": 1592.771928, "coulomb": -77.263323},
    "constraints": {
        "springs": 15.217929,
        "lj": -0.909536,
        "lj_14": 0.538033,
        "coulomb": 39.562253,
        "coulomb_14": 47.494455,
    },
    "constraints that are no bonds": {
        "springs": 15.217929,
        "lj": 0.442375,
        "lj_14": 0.542998,
        "coulomb": 6.991308,
        "coulomb_14": 32.035137,
    },
}


def measured(case: Case, folder: Path) -> dict[str, float]:
    """Returns GROMACS' energies in kJ/mol by Tessera's names."""
    case.write(folder)
    found = gromacs_energies(folder, "case.top", "case.gro", case.define)
    return {name: sum(found.get(theirs, 0.0) for theirs in terms) for name, (_, terms) in TERMS.items()}


if __name__ == "__main__":
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            figures = measured(case, Path(folder))
        print(f"    {name!r}: { ({k: round(v, 6) for k, v in figures.items() if v})!r},")
