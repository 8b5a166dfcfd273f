"""References of restraints from files of coordinates that are no system files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tessera.errors import InputError
from tessera.export.structure import structure_of
from tessera.prepare.coordinates import read_coordinates
from tessera.prepare.flat import FlatTopology
from tessera.prepare.pairing import pair_by_name
from tessera.system import System
from tessera.system.blocks import to_fraction
from tessera.system.box import placed
from tessera.system.vacuum import with_positions


def with_coordinates(system: System, path: Path) -> System:
    """Returns the system with the coordinates, in its own box, of any file that `tessera prepare` reads; atoms are
    matched by name, as there. Raises `InputError`."""
    found = read_coordinates(path)
    if len(found.position) != system.n_atoms:
        raise InputError(f"{path} has {len(found.position):,} atoms, expected the {system.n_atoms:,} of the system")
    if not np.isfinite(found.position).all():
        raise InputError(f"{path}: some coordinates are not finite")
    pair_by_name(_topology(system), found, path)
    if not system.periodic:  # which has the coordinates of its input
        return replace(with_positions(system, found.position), velocity=None)
    # The file's frame is that of the input, which `prepare` has rotated where its box was.
    rotation = None if found.box is None else placed(found.box).rotation
    position = found.position if rotation is None else found.position @ rotation
    return replace(system, fraction=to_fraction(position, system.box), velocity=None)


def _topology(system: System) -> FlatTopology:
    """Returns the atoms with their names, without terms."""
    structure = structure_of(system, "references", whole=False)
    residue = structure.residue

    def texts(values: np.ndarray) -> np.ndarray:
        return np.array([str(value).encode() for value in values])

    return FlatTopology(
        name=texts(structure.name),
        type=np.zeros(structure.n_atoms, np.int32),
        type_names=[""],
        charge=structure.charge,
        mass=structure.mass,
        atomic_number=structure.atomic_number,
        residue_name=texts(structure.residue_name)[residue],
        residue_number=structure.residue_number[residue].astype(np.int32),
        segment=texts(structure.segment)[residue],
        insertion=texts(structure.insertion)[residue].astype("S1"),
    )
