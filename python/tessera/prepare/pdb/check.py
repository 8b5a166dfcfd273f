"""Finds what a PDB lacks for a simulation, and names it: residues, atoms, links of a chain, and space."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from tessera.errors import InputError
from tessera.prepare.pdb.force_fields import AMINO_ACIDS, CAPS, NUCLEOTIDES, Parameters
from tessera.system.model import FloatArray

_LONGEST_BOND = 2.5  # Å: the longest usual bond, of a disulfide, is 2.05 Å; the next atoms of a chain are at 2.4 Å
_NEAREST = 0.8  # Å: the shortest bond between heavy atoms is 1.1 Å
_SHOWN = 6  # residues that a message names
_PHOSPHATE = {"P", "OP1", "OP2"}


def describe(residue: Any) -> str:
    """Returns a text such as `SER 45 in chain A`."""
    code = residue.insertionCode.strip()
    return f"{residue.name} {residue.id}{code} in chain {residue.chain.id.strip() or '(blank)'}"


def check_names(topology: Any, parameters: Parameters) -> None:
    """Raises `InputError` that names the residues which the force field does not have."""
    known = parameters.residues | AMINO_ACIDS | NUCLEOTIDES | CAPS | {"HOH"}
    unknown = [r for r in topology.residues() if r.name not in known and sum(1 for _ in r.atoms()) > 1]
    if not unknown:
        return
    listed = _some(f"{describe(r)} ({sum(1 for _ in r.atoms())} atoms)" for r in unknown)
    raise InputError(
        f"{len(unknown)} residue(s) are not in {' '.join(parameters.files)}: {listed}; give their parameters with "
        "--extra-force-field FILE.xml (OpenMM's format; openmmforcefields writes it for ligands), and their hydrogens "
        "in the PDB, or take them out of the PDB"
    )


@dataclass(frozen=True)
class Missing:
    residue: Any
    atoms: tuple[str, ...]

    def text(self) -> str:
        return f"{describe(self.residue)}: {' '.join(self.atoms)}"


def missing_atoms(topology: Any) -> list[Missing]:
    """Returns the heavy atoms that standard residues lack, with OXT at the end of a protein chain."""
    expected = _heavy_atoms()
    found = []
    for chain in topology.chains():
        residues = list(chain.residues())
        for index, residue in enumerate(residues):
            wanted = expected.get(residue.name, set()) - {"OXT", "OP3"}
            present = {atom.name for atom in residue.atoms()}
            following = residues[index + 1 :]
            if residue.name in AMINO_ACIDS and not any(r.name in AMINO_ACIDS | CAPS for r in following):
                wanted = wanted | {"OXT"}
            if residue.name in NUCLEOTIDES and index == 0 and not present & _PHOSPHATE:
                wanted = wanted - _PHOSPHATE
            lacking = tuple(sorted(wanted - present))
            if lacking:
                found.append(Missing(residue, lacking))
    return found


def _heavy_atoms() -> dict[str, set[str]]:
    """Returns the names of the heavy atoms of amino acids, nucleotides and caps."""
    from openmm import app

    root = ElementTree.parse(Path(app.__file__).parent / "data" / "residues.xml").getroot()
    out: dict[str, set[str]] = {}
    for residue in root:
        if residue.get("name") in AMINO_ACIDS | NUCLEOTIDES | CAPS:
            names = {bond.get(end, "") for bond in residue for end in ("from", "to")}
            out[residue.get("name", "")] = {
                n for n in names if n[0] not in "-+" and not n.lstrip("123").startswith("H")
            }
    return out


def advice_on(residue: Any) -> str:
    """Says what to do about a residue that no force field has as it is: a strand that begins with a phosphate, as where
    it was cut."""
    names = {atom.name for atom in residue.atoms()}
    if residue.name in NUCLEOTIDES and next(iter(residue.chain.residues())) is residue and names & _PHOSPHATE:
        return "; its strand begins with a phosphate: take P, OP1 and OP2 of this residue out of the PDB"
    return ""


def refuse_missing(missing: list[Missing]) -> None:
    """Raises `InputError` that names the atoms, and says how to add them."""
    if missing:
        count = sum(len(m.atoms) for m in missing)
        raise InputError(
            f"{count} heavy atom(s) are missing from {len(missing)} residue(s): "
            f"{_some((m.text() for m in missing), '; ')}; PDBFixer builds them (pip install pdbfixer)"
        )


def check_chains(topology: Any, position: FloatArray) -> None:
    """Raises `InputError` that names the residues between which a chain is broken. `position` is (n,3) Å."""
    bonds = np.array([(a.index, b.index) for a, b in topology.bonds()], np.int64).reshape(-1, 2)
    length = np.linalg.norm(position[bonds[:, 0]] - position[bonds[:, 1]], axis=1)
    atoms = list(topology.atoms())
    for row in np.flatnonzero(length > _LONGEST_BOND)[:1]:
        one, other = (atoms[i] for i in bonds[row])
        raise InputError(
            f"{one.name} of {describe(one.residue)} and {other.name} of {describe(other.residue)} are bonded and "
            f"{length[row]:.1f} Å apart: if residues between them are missing, PDBFixer builds those that SEQRES lists "
            "(pip install pdbfixer); if the chain ends there, put a TER record between them"
        )


def check_space(topology: Any, position: FloatArray) -> None:
    """Raises `InputError` that names two heavy atoms where some are in the same space. `position` is (n,3) Å."""
    heavy = [atom for atom in topology.atoms() if atom.element is None or atom.element.symbol != "H"]
    pairs = cKDTree(position[[atom.index for atom in heavy]]).query_pairs(_NEAREST, output_type="ndarray")
    if not len(pairs):
        return
    one, other = (heavy[i] for i in pairs[np.lexsort(pairs.T[::-1])[0]])
    distance = float(np.linalg.norm(position[one.index] - position[other.index]))
    chains = {one.residue.chain, other.residue.chain}
    what = "chains overlap" if len(chains) > 1 else "atoms overlap"
    raise InputError(
        f"{len(pairs)} pair(s) of heavy atoms are closer than {_NEAREST} Å ({what}): {one.name} of "
        f"{describe(one.residue)} and {other.name} of {describe(other.residue)} are {distance:.2f} Å apart; keep one "
        "of the two in the PDB"
    )


def _some(texts: Iterable[str], separator: str = ", ") -> str:
    listed = list(texts)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return separator.join(listed[:_SHOWN]) + more
