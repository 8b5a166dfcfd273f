"""Joins templates, parameters, box and coordinates into a `System`, and checks that they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from tessera.prepare.constants import COULOMB
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.prepare.molecule import complete
from tessera.prepare.numbering import number_residues
from tessera.system import USUAL_LENNARD_JONES, ForceField, LennardJones, System, Template
from tessera.system.blocks import to_fraction
from tessera.system.model import BOND_KINDS, FloatArray, IdArray

OVERLAP = 0.1  # Å: two atoms that are closer are a mistake in the input
_SITE_ROUNDING = 0.01  # Å: how far files with few digits may have a virtual site from its place
_RECTANGULAR = 1e-6  # Å: off-axis parts of a rectangular box that rounding may leave


@dataclass(frozen=True)
class Origin:
    """The conventions of the source program: its Coulomb constant and how it ends Lennard-Jones interactions."""

    program: str
    lj_rule: str
    line: str  # the command and the files' names
    lennard_jones: LennardJones | None = None  # from the input; None: the program's default
    coordinates: str = "the coordinate file"  # its name, for messages


def assemble(
    flat: FlatTopology,
    templates: list[Template],
    runs: IdArray,
    field: ForceField,
    coordinates: Coordinates,
    origin: Origin,
    box: FloatArray | None = None,
    vacuum: bool = False,
    notes: Sequence[str] = (),
) -> System:
    """Makes the system. `box` (3,3) Å overrides the file's; `vacuum` asks for none. `notes` are for the summary.

    Raises `InputError` for counts that differ, numbers that are not finite, a box that is missing,
    none or not rectangular, and atoms on top of each other.
    """
    check_coordinates(flat, coordinates)
    box, periodic, position = choose_box(coordinates, box, vacuum, origin.coordinates)
    complete(templates, field)
    residue_numbers = number_residues(flat, coordinates, templates, runs)
    system = System(
        box=box,
        periodic=periodic,
        coulomb_constant=COULOMB[origin.program],
        coulomb_source=origin.program,
        lj_rule=origin.lj_rule,
        lennard_jones=origin.lennard_jones or USUAL_LENNARD_JONES[origin.program],
        source=origin.line,
        force_field=field,
        templates=templates,
        runs=runs,
        fraction=to_fraction(position, box),
        velocity=coordinates.velocity,
        residue_numbers=residue_numbers,
        notes=list(notes),
    )
    place_virtual_sites(flat, system)
    check_overlaps(flat, system)
    return system


def place_virtual_sites(flat: FlatTopology, system: System) -> None:
    """Puts virtual sites in their places, and adds a note where the input had them elsewhere.

    Raises `InputError` that names a site whose direction is undetermined.
    """
    moved = system.place_virtual_sites()
    if not len(moved):
        return
    ids = system.virtual_site_ids()
    for atom in ids[np.isnan(moved)][:1]:
        raise InputError(
            f"the virtual site {flat.describe(int(atom))} has no direction: the atoms that it follows lie in one place "
            "or on one line"
        )
    if system.velocity is not None:
        system.velocity[ids] = 0.0
    if moved.max() > _SITE_ROUNDING:
        far = int((moved > _SITE_ROUNDING).sum())
        system.notes.append(
            f"{far:,} virtual site(s) were elsewhere in the input and are put in their places, "
            f"{flat.describe(int(ids[moved.argmax()]))} by {moved.max():.3f} Å"
        )


def check_coordinates(flat: FlatTopology, coordinates: Coordinates) -> None:
    """Raises `InputError` where counts differ or a coordinate is not finite."""
    position = coordinates.position
    if len(position) != flat.n_atoms:
        raise InputError(f"the topology has {flat.n_atoms} atoms but the coordinate file has {len(position)}")
    for what, values in (("coordinates", position), ("velocity", coordinates.velocity)):
        if values is None:
            continue
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            atom = flat.describe(int(bad[0]))
            raise InputError(
                f"{what} of {len(bad)} atom(s) are not finite; the first is {atom}: {values[bad[0]].tolist()}"
            )


def choose_box(
    coordinates: Coordinates, box: FloatArray | None, vacuum: bool, file: str = "the coordinate file"
) -> tuple[FloatArray, bool, FloatArray]:
    """Returns the box (3,3) Å, whether it is periodic, and positions (moved to the middle of a vacuum box).

    Raises `InputError` where no box is known and none was asked for: vacuum is never assumed.
    """
    if vacuum and box is not None:
        raise InputError("--vacuum and --box exclude each other")
    chosen = coordinates.box if box is None else box
    if not vacuum:
        if chosen is None:
            raise InputError(f"{file} has no box: give --box or --vacuum")
        return check_box(chosen), True, coordinates.position
    low, high = coordinates.position.min(axis=0), coordinates.position.max(axis=0)
    edges = 3.0 * (high - low) + 40.0
    position = coordinates.position
    if (np.abs(position) > edges / 4).any():
        position = position - (low + high) / 2
    return np.diag(edges), False, position


def check_box(box: FloatArray) -> FloatArray:
    """Returns the box if it is rectangular and can be periodic; else raises `InputError`."""
    edges = np.diag(box)
    if not np.isfinite(box).all() or (edges <= 0).any():
        raise InputError(f"box edges must be positive lengths in Å, found {edges.tolist()}")
    if not (np.abs(box - np.diag(edges)) > _RECTANGULAR).any():
        return np.diag(edges)
    a, b, c = box / np.linalg.norm(box, axis=1)[:, None]
    angles = ", ".join(f"{np.degrees(np.arccos(np.clip(cosine, -1, 1))):.2f}°" for cosine in (b @ c, a @ c, a @ b))
    lengths = " × ".join(f"{length:.3f}" for length in np.linalg.norm(box, axis=1))
    raise InputError(
        f"the box is triclinic ({lengths} Å, angles {angles}): only boxes with right angles are supported; solvate "
        "the molecules in a rectangular box, or name one of the same crystal with --box"
    )


def check_overlaps(flat: FlatTopology, system: System) -> None:
    """Raises `InputError` that names the nearest two atoms where any are closer than `OVERLAP`."""
    _check_coincident(flat, system)
    edges = np.diag(system.box)
    position = np.mod(system.positions(), edges)
    position[position >= edges] = 0.0
    pairs = cKDTree(position, boxsize=edges).query_pairs(OVERLAP, output_type="ndarray")
    if not len(pairs):
        return
    difference = position[pairs[:, 0]] - position[pairs[:, 1]]
    difference -= edges * np.rint(difference / edges)
    distance = np.linalg.norm(difference, axis=1)
    excluded = _excluded(system, pairs)
    if excluded.all():
        return
    distance[excluded] = np.inf
    worst = int(np.argmin(distance))
    first, second = sorted(int(i) for i in pairs[worst])
    raise InputError(
        f"{int((~excluded).sum())} pair(s) of atoms are closer than {OVERLAP} Å; the nearest are "
        f"{distance[worst]:.4f} Å apart: {flat.describe(first)} and {flat.describe(second)}"
    )


def _check_coincident(flat: FlatTopology, system: System) -> None:
    """Raises `InputError` where two atoms are in one place. Excluded pairs may be, unless they are bonded.

    This comes before any search for neighbours, because in a file of zeros all pairs of atoms are within reach.
    """
    order = np.lexsort(system.fraction.T)
    same = (np.diff(system.fraction[order], axis=0) == 0).all(axis=1)
    pairs = np.sort(np.stack([order[:-1], order[1:]], axis=1)[same], axis=1)
    if not len(pairs):
        return
    n = system.n_atoms
    bonds = np.sort(np.concatenate([system.expand(kind)[0] for kind in BOND_KINDS]), axis=1)
    bonded = np.isin(pairs[:, 0] * n + pairs[:, 1], bonds[:, 0] * n + bonds[:, 1])
    bad = pairs[bonded | ~_excluded(system, pairs)]
    if len(bad):
        first, second = (flat.describe(int(atom)) for atom in bad[np.lexsort(bad.T[::-1])[0]])
        raise InputError(
            f"{len(bad)} atom(s) are in the same place as another; the first two are {first} and {second}: are "
            "coordinates missing from the file?"
        )


def _excluded(system: System, pairs: IdArray) -> np.ndarray:
    excluded = system.expand_exclusions()
    n = system.n_atoms
    codes = np.sort(pairs, axis=1)
    return np.isin(codes[:, 0].astype(np.int64) * n + codes[:, 1], excluded[:, 0] * n + excluded[:, 1])
