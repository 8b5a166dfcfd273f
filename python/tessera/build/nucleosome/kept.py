"""Takes ions and water of a structure over, where they are asked for by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.atoms import FURTHEST, Atoms
from tessera.build.charmm.chain import Chain
from tessera.build.charmm.places import Places
from tessera.build.charmm.topology import Residue
from tessera.build.dna.strand import ForceField
from tessera.build.protein.structure import Rest
from tessera.errors import InputError
from tessera.system.model import FloatArray

#: CHARMM's names of residues by those of the PDB
_RESIDUES = {
    "HOH": "TIP3", "WAT": "TIP3", "DOD": "TIP3", "CL": "CLA", "NA": "SOD", "K": "POT", "CA": "CAL", "ZN": "ZN2",
    "CD": "CD2", "CS": "CES", "RB": "RUB", "BA": "BAR", "LI": "LIT",
}  # fmt: skip
_WATER, _OXYGEN = "TIP3", "OH2"
_DIRECTIONS = 32  # in which hydrogens of water are tried
_SEGMENTS = {True: "WATR", False: "IONS"}


def kept_of(
    atoms: Atoms, rest: Rest, names: Sequence[str], field: ForceField, around: FloatArray, random: np.random.Generator
) -> tuple[list[tuple[Chain, FloatArray]], list[str]]:
    """Returns chains of the ions and the water with these names and the places (n,3) Å of their atoms, clear of those
    around (k,3), and notes on what is left out. Raises `InputError` for a name that the file lacks, and for what the
    force field lacks."""
    wanted = {name.upper() for name in names}
    for name in sorted(wanted - set(rest.names)):
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(rest.names).items())) or "nothing"
        raise InputError(f"{atoms.file} has no {name} to keep: beside proteins and DNA it has {found}")
    left = Counter(name for name in rest.names if name not in wanted)
    notes = [f"left out: {', '.join(f'{count} {name}' for name, count in sorted(left.items()))}"] if left else []
    groups: dict[bool, list[tuple[Residue, Places]]] = {False: [], True: []}
    for row, name in enumerate(rest.names):
        if name in wanted:
            residue, places = _found(atoms, rest, row, field)
            groups[residue.name == _WATER].append((residue, places))
    taken = np.array([place for _, places in groups[False] + groups[True] for place in places.values()]).reshape(-1, 3)
    tree = cKDTree(np.concatenate([around, taken]))
    axes, _ = np.linalg.qr(random.normal(size=(_DIRECTIONS, 3, 2)))
    chains = []
    for is_water, group in groups.items():
        if group:
            position = [_complete(residue, places, field, tree, axes) for residue, places in group]
            chains.append((Chain(_SEGMENTS[is_water], [residue for residue, _ in group]), np.concatenate(position)))
    return chains, notes


def _found(atoms: Atoms, rest: Rest, row: int, field: ForceField) -> tuple[Residue, Places]:
    """Returns a residue of the force field and the places of its heavy atoms."""
    name = rest.names[row]
    try:
        residue = field.topology.residue(_RESIDUES.get(name, name))
    except InputError as error:
        raise InputError(f"{rest.where[row]}: {rest.labels[row]} can't be kept: {error}") from None
    rows = rest.rows[row]
    if not (np.abs(atoms.position[rows]) < FURTHEST).all():
        raise InputError(f"{rest.where[row]}: {rest.labels[row]} has coordinates that are not finite or beyond 10⁷ Å")
    if residue.name == _WATER:
        names = [_OXYGEN if text == "O" else str(text) for text in atoms.name[rows]]
    else:
        names = list(residue.atoms) if len(residue.atoms) == 1 else atoms.name[rows].tolist()
    places = dict(zip(names, atoms.position[rows]))
    known = {text: place for text, place in places.items() if text in residue.atoms and not text.startswith("H")}
    missing = [text for text in residue.atoms if text not in known and not text.startswith("H")]
    if missing:
        raise InputError(f"{rest.where[row]}: {rest.labels[row]} lacks {missing[0]}, which {residue.name} has")
    return residue, known


def _complete(residue: Residue, places: Places, field: ForceField, tree: cKDTree, axes: FloatArray) -> FloatArray:
    """Returns the atoms of an ion, or of water with its hydrogens where they are furthest from other atoms, of those in
    planes of two axes (m,3,2)."""
    if residue.name != _WATER:
        return np.array([places[name] for name in residue.atoms])
    oxygen, hydrogen = residue.atoms[_OXYGEN].type, residue.atoms["H1"].type
    bond, angle = field.parameters.bond((oxygen, hydrogen)), field.parameters.angle((hydrogen, oxygen, hydrogen))
    if bond is None or angle is None:
        raise InputError(f"{residue.where}: {residue.name} has no bond or angle in the files given")
    half = angle[1] / 2
    ends = np.array([[np.cos(half), np.sin(half)], [np.cos(half), -np.sin(half)]]) * bond[1]
    hydrogens = places[_OXYGEN] + ends @ np.swapaxes(axes, 1, 2)
    distance, _ = tree.query(hydrogens, k=2)  # its own oxygen is the nearest
    best = hydrogens[int(np.argmax(distance[..., 1].min(axis=1)))]
    return np.array([places[_OXYGEN], *best])
