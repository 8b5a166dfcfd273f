"""The force fields and water models of `tessera prepare pdb`, from the files that come with OpenMM."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.errors import InputError
from tessera.system import USUAL_LENNARD_JONES, LennardJones

# fmt: off
AMINO_ACIDS = {
    "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE",
    "LEU", "LYS", "MET", "PHE", "PRO", "SER", "THR", "TRP", "TYR", "VAL",
}
# fmt: on
NUCLEOTIDES = {"A", "C", "G", "U", "DA", "DC", "DG", "DT"}
CAPS = {"ACE", "NME", "NH2"}
#: sites of the water models that have more than three, some of them virtual
_SITES = {"opc": 4, "tip4pew": 4, "tip4pfb": 4, "tip5p": 5}
#: names in charmm36 of the residues that a protein or a nucleic acid is made of
_CHARMM_CORE = (AMINO_ACIDS - {"HIS"}) | {"HSD", "HSE", "HSP", "ADE", "GUA", "CYT", "THY", "URA"}


@dataclass(frozen=True)
class ForceFieldChoice:
    """The files of a force field, its waters by name, with the usual one first, and how it ends Lennard-Jones
    interactions."""

    name: str
    files: tuple[str, ...]
    waters: dict[str, str]
    lennard_jones: LennardJones
    caps_are_patches: bool = False  # whether ACE, NME and NH2 belong to their neighbours

    def water(self, name: str | None) -> str:
        """Returns the name of the water model. Raises `InputError` where it does not suit."""
        found = (name or next(iter(self.waters))).lower().replace("-", "").replace("/", "")
        if found in self.waters:
            return found
        usable = ", ".join(sorted(self.waters))
        if self.name == "charmm36":
            raise InputError(
                f"--water {name}: CHARMM36 was made with its own TIP3P, and other waters change its balance; OpenMM "
                f"has its parameters with {usable}"
            )
        raise InputError(f"--water {name} is not a water model of {self.name}; these are {usable}")


def sites_of(water: str) -> int:
    """Returns how many sites a molecule of this model has."""
    return _SITES.get(water, 3)


def _amber(version: str, waters: Sequence[str]) -> ForceFieldChoice:
    files = {name: f"amber{version}/{name}.xml" for name in waters}
    return ForceFieldChoice(f"amber{version}", (f"amber{version}-all.xml",), files, USUAL_LENNARD_JONES["amber"])


FORCE_FIELDS = {
    "amber19": _amber("19", ("opc3", "opc", "tip3p", "tip3pfb", "tip4pew", "tip4pfb", "spce")),
    "amber14": _amber("14", ("tip3p", "tip3pfb", "tip4pew", "tip4pfb", "spce", "opc3", "opc")),
    "charmm36": ForceFieldChoice(
        "charmm36",
        ("charmm36_2024.xml",),
        {
            "tip3p": "charmm36_2024/water.xml",
            "tip4pew": "charmm36_2024/tip4pew.xml",
            "tip5p": "charmm36_2024/tip5p.xml",
        },
        USUAL_LENNARD_JONES["charmm"],
        caps_are_patches=True,
    ),
}


class Parameters:
    """The parameters of one system: OpenMM's `ForceField`, and the names of the residues that it has."""

    def __init__(self, choice: ForceFieldChoice, water: str, extra: Sequence[Path], present: Iterable[str]) -> None:
        """Reads the force field's files; `present` are the names of the PDB's residues. Raises `InputError` where a
        file cannot be read."""
        self.choice = choice
        self.files = [*choice.files, choice.waters[water], *(path.name for path in extra)]
        self._own = [*choice.files, choice.waters[water]]
        self._extra = [str(path) for path in extra]
        self._present = set(present)
        trees = {name: _tree(_path_of(name)) for name in self._own}
        self.residues = _residues_of(trees.values()) | {
            residue.get("name", "") for path in extra for residue in _tree(path).iterfind("Residues/Residue")
        }
        if choice.caps_are_patches:
            for name in choice.files:
                _leave_one_thymine(trees[name])
            self.force_field = self._load([_pruned(trees[name], self._present) for name in choice.files])
        else:
            self.force_field = self._load(list(choice.files))

    def load_all(self) -> None:
        """Loads the residues that were left out to save time."""
        trees = [_tree(_path_of(name)) for name in self.choice.files]
        for tree in trees:
            _leave_one_thymine(tree)
        self.force_field = self._load([io.StringIO(_text(tree)) for tree in trees])

    def _load(self, first: list[Any]) -> Any:
        from openmm import app

        try:
            return app.ForceField(*first, *self._own[len(first) :], *self._extra)
        except Exception as error:  # OpenMM raises many kinds of exceptions
            names = f"{' '.join(self.files)}"
            raise InputError(f"OpenMM cannot read the force field {names}: {error}") from error


def _path_of(name: str) -> Path:
    from openmm import app

    path = Path(app.__file__).parent / "data" / name
    if not path.is_file():
        raise InputError(f"this OpenMM has no force field {name}: pip install --upgrade openmm")
    return path


def _tree(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise InputError(f"cannot read the force field {path.name}: {error}") from None


def _residues_of(trees: Iterable[ElementTree.Element]) -> set[str]:
    names: set[str] = set()
    for tree in trees:
        names |= {residue.get("name", "") for residue in tree.iterfind("Residues/Residue")}
        names |= _residues_of(_tree(_path_of(include.get("file", ""))) for include in tree.iterfind("Include"))
    return names


def _pruned(tree: ElementTree.Element, present: set[str]) -> io.StringIO:
    """Returns the file without residues that the PDB cannot have: OpenMM applies every combination of patches to every
    residue of the file, which takes ten times as long."""
    residues = tree.find("Residues")
    if residues is not None:
        for residue in list(residues):
            if residue.get("name") not in _CHARMM_CORE | present:
                residues.remove(residue)
    return io.StringIO(_text(tree))


def _leave_one_thymine(tree: ElementTree.Element) -> None:
    """Takes from uracil the patch that adds a methyl group. It makes a second thymine, with other parameters than those
    of the residue THY, and OpenMM chooses none of two that match."""
    for residue in tree.iterfind("Residues/Residue[@name='URA']"):
        for patch in residue.findall("AllowPatch"):
            if patch.get("name", "").startswith("5MC"):
                residue.remove(patch)


def _text(tree: ElementTree.Element) -> str:
    return ElementTree.tostring(tree, encoding="unicode")


def bond_definitions(extra: Sequence[Path]) -> io.StringIO:
    """Returns the bonds of the residues in force-field files, in the form of OpenMM's residues.xml, so that a PDB need
    not list them."""
    out = ElementTree.Element("Residues")
    for path in extra:
        for residue in _tree(path).iterfind("Residues/Residue"):
            names = [atom.get("name", "") for atom in residue.iterfind("Atom")]
            entry = ElementTree.SubElement(out, "Residue", name=residue.get("name", ""))
            for bond in residue.iterfind("Bond"):
                if "from" in bond.attrib:
                    one, other = (names[int(bond.attrib[key])] for key in ("from", "to"))
                else:
                    one, other = bond.get("atomName1", ""), bond.get("atomName2", "")
                entry.append(ElementTree.Element("Bond", {"from": one, "to": other}))
    return io.StringIO(_text(out))
