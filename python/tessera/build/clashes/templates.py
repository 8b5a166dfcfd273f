"""The bonds within amino acids, nucleotides, caps and waters, and their other names, from the tables of OpenMM by which
it reads PDB files."""

from __future__ import annotations

import functools
import importlib.util
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tessera.errors import InputError

#: names of residues in force fields that OpenMM's table of names lacks → the residue
_MORE_NAMES = {
    "HSE": "HIS", "CYM": "CYS", "LYN": "LYS", "LSN": "LYS", "ASPP": "ASP", "GLUP": "GLU", "HIN": "HIS",
    "TIP4": "HOH", "TIP5": "HOH", "SPCE": "HOH", "OPC": "HOH",
}  # fmt: skip
#: names of atoms in CHARMM that it lacks, by residue
_MORE_ATOMS = {"DT": {"H51": "H71", "H52": "H72", "H53": "H73"}}
#: names that RNA and DNA share in CHARMM, where O2' tells which it is → that of DNA
OF_DNA = {"A": "DA", "C": "DC", "G": "DG"}
WATER = "HOH"


@dataclass(frozen=True)
class Residue:
    """One kind of residue."""

    name: str
    kind: str  # Protein, Nucleic or empty
    atoms: dict[str, int]  # name → column
    bonds: list[tuple[int, int]]  # columns
    link: tuple[str, int] | None  # the atom of the residue before to which one of this is bonded
    other_names: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str) -> int:
        """Returns the column of the atom of this name, or −1."""
        found = self.atoms.get(name)
        return self.atoms.get(self.other_names.get(name, ""), -1) if found is None else found


@functools.cache
def residues() -> dict[str, Residue]:
    """Returns all kinds of residues by each of their names. Raises `InputError` without OpenMM."""
    spec = importlib.util.find_spec("openmm")
    if spec is None or spec.origin is None:
        raise InputError(
            "the residues of PDB and mmCIF files are known from OpenMM, which is not installed: "
            "pip install 'tessera-md[formats]'"
        )
    data = Path(spec.origin).parent / "app" / "data"
    names = {entry.get("name", ""): entry for entry in ElementTree.parse(data / "pdbNames.xml").getroot()}
    found: dict[str, Residue] = {}
    for entry in ElementTree.parse(data / "residues.xml").getroot():
        made = _residue(entry, names)
        for name in (made.name, *_others(names.get(made.name, entry))):
            found.setdefault(name, made)
    return found | {name: found[usual] for name, usual in _MORE_NAMES.items()}


def _others(entry: ElementTree.Element) -> list[str]:
    return [word for key, word in entry.attrib.items() if key not in ("name", "type")]


def _residue(entry: ElementTree.Element, names: Mapping[str, ElementTree.Element]) -> Residue:
    name = entry.get("name", "")
    ends = [(bond.get("from", ""), bond.get("to", "")) for bond in entry]
    inside = [pair for pair in ends if not pair[0].startswith("-")]
    atoms = {atom: column for column, atom in enumerate(dict.fromkeys(atom for pair in inside for atom in pair))}
    links = [(one[1:], atoms[other]) for one, other in ends if one.startswith("-")]
    own = names.get(name)
    kind = "" if own is None else own.get("type", "")
    others = {
        word: atom.get("name", "")
        for table in ("All", kind, name)
        if table in names
        for atom in names[table]
        for word in _others(atom)
    } | _MORE_ATOMS.get(name, {})
    bonds = [(atoms[one], atoms[other]) for one, other in inside]
    return Residue(name, kind, atoms, bonds, links[0] if links else None, others)
