"""Writes peptide.pdb: the heavy atoms of Ac-Ala-Lys-Ala-NHMe, extended, from standard bond lengths and angles.

python make_peptide.py [SEQUENCE]    such as `A`, or `AKA` (the default): alanines and lysines
"""

import sys
from pathlib import Path

import numpy as np

PHI, PSI = -75.0, 145.0  # degrees: polyproline II
NAMES = {"A": "ALA", "K": "LYS"}
LYSINE = (("CG", -65.0), ("CD", 180.0), ("CE", 180.0), ("NZ", 180.0))


def place(a: np.ndarray, b: np.ndarray, c: np.ndarray, length: float, angle: float, dihedral: float) -> np.ndarray:
    """Returns the atom at this distance (Å) from c, angle b-c-d and dihedral a-b-c-d (degrees)."""
    theta, phi = np.radians([angle, dihedral])
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, along)
    return c + length * (np.sin(theta) * (np.cos(phi) * across + np.sin(phi) * normal) - np.cos(theta) * along)


def atoms_of(sequence: str) -> list[tuple[str, int, str, np.ndarray]]:
    """Returns residue name, number, atom name and position (Å) of each atom."""
    methyl, carbon = np.zeros(3), np.array([1.51, 0.0, 0.0])
    oxygen = place(np.array([0.0, 1.0, 0.0]), methyl, carbon, 1.23, 120.5, 0.0)
    found = [("ACE", 1, "CH3", methyl), ("ACE", 1, "C", carbon), ("ACE", 1, "O", oxygen)]
    before = methyl
    for number, letter in enumerate(sequence, start=2):
        nitrogen = place(oxygen, before, carbon, 1.335, 116.6, 180.0)
        alpha = place(before, carbon, nitrogen, 1.45, 121.9, 180.0)
        beta = place(carbon, nitrogen, alpha, 1.53, 110.0, PHI - 122.5)
        carbon = place(carbon, nitrogen, alpha, 1.52, 111.0, PHI)
        oxygen = place(nitrogen, alpha, carbon, 1.23, 120.5, PSI + 180.0)
        new = {"N": nitrogen, "CA": alpha, "C": carbon, "O": oxygen, "CB": beta}
        side = [nitrogen, alpha, beta]
        for name, dihedral in LYSINE if letter == "K" else ():
            side.append(place(side[-3], side[-2], side[-1], 1.52, 112.0, dihedral))
            new[name] = side[-1]
        found += [(NAMES[letter], number, name, position) for name, position in new.items()]
        before = alpha
    nitrogen = place(oxygen, before, carbon, 1.335, 116.6, 180.0)
    last = place(before, carbon, nitrogen, 1.45, 121.9, 180.0)
    number = len(sequence) + 2
    return [*found, ("NME", number, "N", nitrogen), ("NME", number, "C", last)]


def pdb_of(sequence: str) -> str:
    lines = []
    for serial, (residue, number, name, (x, y, z)) in enumerate(atoms_of(sequence), start=1):
        lines.append(
            f"ATOM  {serial:5d}  {name:<3s} {residue} A{number:4d}    {x:8.3f}{y:8.3f}{z:8.3f}"
            f"  1.00  0.00           {name[0]}"
        )
    return "\n".join([*lines, "TER", "END", ""])


if __name__ == "__main__":
    text = pdb_of(sys.argv[1] if len(sys.argv) > 1 else "AKA")
    (Path(__file__).parent / "peptide.pdb").write_text(text)
