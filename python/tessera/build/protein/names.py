"""Names of amino acids and of their atoms: those of the PDB, of AMBER and of CHARMM."""

from __future__ import annotations

#: CHARMM's residues by the letters of sequences
RESIDUES = {
    "A": "ALA", "R": "ARG", "N": "ASN", "D": "ASP", "C": "CYS", "Q": "GLN", "E": "GLU", "G": "GLY", "H": "HIS",
    "I": "ILE", "L": "LEU", "K": "LYS", "M": "MET", "F": "PHE", "P": "PRO", "S": "SER", "T": "THR", "W": "TRP",
    "Y": "TYR", "V": "VAL",
}  # fmt: skip
#: forms of histidine by the names that ask for them
HISTIDINES = {"HSD": "HSD", "HSE": "HSE", "HSP": "HSP", "HID": "HSD", "HIE": "HSE", "HIP": "HSP"}
#: letters by names; selenomethionine is built as methionine, and cystine's halves as cysteine
LETTERS = {
    **{name: letter for letter, name in RESIDUES.items()},
    **dict.fromkeys(HISTIDINES, "H"),
    "CYX": "C",
    "MSE": "M",
}
BACKBONE = ("N", "CA", "C", "O", "CB")
_ATOMS = {"ILE": {"CD1": "CD"}, "MSE": {"SE": "SD"}}
_LAST = {"O": "OT1", "OXT": "OT2"}  # of the last residue


def is_hydrogen(name: str) -> bool:
    """Tells whether an atom of an amino acid is a hydrogen or deuterium; some programs put a digit first."""
    return name.lstrip("0123456789")[:1] in ("H", "D")


def charmm_name(name: str, residue: str, is_last: bool) -> str:
    """Returns CHARMM's name of an atom of a residue as the file names both."""
    if is_last and name in _LAST:
        return _LAST[name]
    return _ATOMS.get(residue, {}).get(name, name)
