"""Joins templates, parameters, box and coordinates into a `System`, and checks that they agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.constants import COULOMB
from tessera.errors import InputError
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.flat import FlatTopology
from tessera.prepare.molecule import complete
from tessera.prepare.numbering import name_segments, number_residues
from tessera.system import USUAL_LENNARD_JONES, ForceField, LennardJones, System, Template
from tessera.system.blocks import FASTEST, times, to_fraction, too_fast
from tessera.system.box import heights, placed, with_images
from tessera.system.model import BOND_KINDS, FloatArray, IdArray, IndexArray
from tessera.system.scratch import give_back, scratch
from tessera.system.vacuum import frame_around

OVERLAP = 0.1  # Å: two atoms that are closer need a minimisation
MOST_IN_ONE_PLACE = 8  # atoms; copies of a molecule may lie on each other, a hundred ions at 0 0 0 have no coordinates
MOST_PAIRS = 1_000_000  # of near atoms in a slab that are all listed; a cloud of n atoms has n²/2
_SITE_ROUNDING = 0.01  # Å: how far files with few digits may have a virtual site from its place


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
    report: Callable[[str], None] = lambda _: None,
    held: Sequence[IndexArray] | None = None,
) -> System:
    """Makes the system. `box` (3,3) Å overrides the file's; `vacuum` asks for none. `notes` are for the summary, and
    `held` are the distances of each template that the input itself holds, where it says so (`complete`). From here on
    memory is bounded (`tessera.system.scratch`): of `flat` only what names atoms is left, of `coordinates` nothing.

    Raises `InputError` for counts that differ, numbers that are not finite, a box that is missing,
    none or flat, and atoms on top of each other.
    """
    check_coordinates(flat, coordinates)
    place = choose_box(coordinates, box, vacuum, origin.coordinates)
    complete(templates, field, held)
    residue_numbers = number_residues(flat, coordinates, templates, runs)
    segments, segment_name = name_segments(flat, templates, runs)
    fraction, velocity = place.put(coordinates)
    coordinates.clear()
    flat.keep_names()
    give_back()
    report("checking atoms")
    system = System(
        box=place.box,
        periodic=place.periodic,
        coulomb_constant=COULOMB[origin.program],
        coulomb_source=origin.program,
        lj_rule=origin.lj_rule,
        lennard_jones=origin.lennard_jones or USUAL_LENNARD_JONES[origin.program],
        source=origin.line,
        force_field=field,
        templates=templates,
        runs=runs,
        fraction=fraction,
        velocity=velocity,
        origin=np.zeros(3) if place.centre is None else place.centre,
        residue_numbers=residue_numbers,
        segments=segments,
        segment_name=segment_name,
        notes=[*notes, *place.notes],
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
        finite = [np.isfinite(values[rows]).all(axis=1) for rows in scratch().ranges(len(values))]
        bad = np.flatnonzero(~np.concatenate([np.zeros(0, bool), *finite]))
        if len(bad):
            atom = flat.describe(int(bad[0]))
            raise InputError(
                f"{what} of {len(bad)} atom(s) are not finite; the first is {atom}: {values[bad[0]].tolist()}"
            )
    if coordinates.velocity is None:
        return
    for rows in scratch().ranges(len(coordinates.velocity)):
        velocity = coordinates.velocity[rows]
        for row in too_fast(velocity)[:1]:
            atom, speed = flat.describe(rows.start + int(row)), np.linalg.norm(velocity[row])
            raise InputError(
                f"{atom} moves at {speed:g} Å/ps, expected less than {FASTEST:,.0f}; give it another velocity, or "
                "leave the velocities out"
            )


@dataclass(frozen=True)
class Place:
    """The box (3,3) Å that a system has, how coordinates come into its frame, and notes on what was changed."""

    box: FloatArray
    periodic: bool
    rotation: FloatArray | None = None  # (3,3), of vectors (n,3) @ rotation
    centre: FloatArray | None = None  # (3,) Å, what comes to be the origin
    notes: tuple[str, ...] = ()

    def put(self, coordinates: Coordinates) -> tuple[NDArray[np.int32], FloatArray | None]:
        """Returns the fractions (n,3) and velocities (n,3) Å/ps in the frame of the box."""
        position, velocity, work = coordinates.position, coordinates.velocity, scratch()
        fraction = work.empty(position.shape, np.int32)
        for rows in work.ranges(len(position)):
            moved = position[rows] if self.centre is None else position[rows] - self.centre
            fraction[rows] = to_fraction(self._turned(moved), self.box)
        if velocity is None:
            return fraction, None
        if self.rotation is None:
            return fraction, work.kept(velocity)
        turned = work.empty(velocity.shape, np.float64)
        for rows in work.ranges(len(velocity)):
            turned[rows] = self._turned(velocity[rows])
        return fraction, turned

    def _turned(self, vectors: FloatArray) -> FloatArray:
        return vectors if self.rotation is None else times(vectors, self.rotation)


def choose_box(
    coordinates: Coordinates, box: FloatArray | None, vacuum: bool, file: str = "the coordinate file"
) -> Place:
    """Returns the box in a system's form, and how coordinates come into its frame (those of a vacuum into its middle,
    where they are far from it).

    Raises `InputError` where no box is known and none was asked for: vacuum is never assumed.
    """
    if vacuum and box is not None:
        raise InputError("--vacuum and --box exclude each other")
    chosen = coordinates.box if box is None else box
    if not vacuum:
        if chosen is None:
            raise InputError(f"{file} has no box: give --box or --vacuum")
        found = placed(chosen)
        notes = ["the box vectors are replaced by shorter ones of the same lattice"] if found.reduced else []
        if found.rotation is not None:
            notes.append("box and coordinates are rotated so that the first box vector lies along x, the second in xy")
        return Place(found.box, True, found.rotation, notes=tuple(notes))
    low, high = coordinates.position.min(axis=0), coordinates.position.max(axis=0)
    edges, middle = frame_around(low, high), (low + high) / 2
    about_middle = frame_around(low - middle, high - middle)
    if (edges > about_middle).any():
        return Place(np.diag(about_middle), False, centre=middle)
    return Place(np.diag(edges), False)


def check_overlaps(flat: FlatTopology, system: System) -> None:
    """Adds a warning that names the nearest two atoms where any are closer than `OVERLAP`: a minimisation parts them.
    Raises `InputError` where they have no places of their own, as of a file without coordinates. Atoms are looked at in
    slabs along the first box vector, so that memory does not grow with the system."""
    slabs = _slabs(system)
    _check_coincident(flat, system, slabs)
    found = [_near_pairs(system, low, high) for low, high in slabs]
    pairs, distance = np.concatenate([p for p, _, _ in found]), np.concatenate([d for _, d, _ in found])
    if not len(pairs):
        return
    pairs, once = np.unique(pairs, axis=0, return_index=True)
    distance = distance[once]
    excluded = _excluded(system, pairs)
    if excluded.all():
        return
    distance[excluded] = np.inf
    worst = int(np.argmin(distance))
    first, second = (int(i) for i in pairs[worst])
    count = f"{'at least ' if any(more for *_, more in found) else ''}{int((~excluded).sum()):,}"
    system.warnings.append(
        f"{count} pair(s) of atoms are closer than {OVERLAP} Å; the nearest are "
        f"{distance[worst]:.4f} Å apart: {flat.describe(first)} and {flat.describe(second)}. `tessera minimize` parts "
        "them; a run as it is blows up"
    )


def _slabs(system: System) -> list[tuple[int, int]]:
    """Returns ranges of the first fraction that together hold all atoms, each about as many as may be looked at
    together."""
    work, counts, edges = scratch(), np.zeros(4096, np.int64), np.zeros(0)
    for rows in work.ranges(system.n_atoms):
        some, edges = np.histogram(system.fraction[rows, 0], len(counts), (-(2**31), 2**31))
        counts += some
    cuts = np.flatnonzero(np.diff(np.cumsum(counts) // work.at_once)) + 1
    bounds = [-(2**31), *(int(edges[cut]) for cut in cuts), 2**31]
    return list(itertools.pairwise(bounds))


def _near_pairs(system: System, low: int, high: int) -> tuple[IdArray, FloatArray, bool]:
    """Returns pairs of atoms (m,2), the lower first, that are closer than `OVERLAP`, and their distances (m,) in Å: all
    pairs with an atom in this slab. Where these are more than `MOST_PAIRS`, they are those of each atom and its
    `MOST_IN_ONE_PLACE` nearest, and the last value says that there may be more."""
    margin = int(np.ceil(2.0**32 * OVERLAP / heights(system.box)[0])) + 1
    ids, fraction = _inside(system, low - margin, high + margin)
    position, row = with_images(fraction, system.box, OVERLAP)
    tree = cKDTree(position)
    is_part = tree.count_neighbors(tree, OVERLAP) - len(position) > 2 * MOST_PAIRS
    if is_part:
        _, near = tree.query(position, MOST_IN_ONE_PLACE + 1, distance_upper_bound=OVERLAP)
        pairs = np.stack([np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()], axis=1)
        pairs = pairs[(pairs[:, 1] < len(position)) & (pairs[:, 0] != pairs[:, 1])]
    else:
        pairs = tree.query_pairs(OVERLAP, output_type="ndarray")
    pairs = pairs[(pairs < len(ids)).any(axis=1)]
    distance = np.linalg.norm(position[pairs[:, 0]] - position[pairs[:, 1]], axis=1)
    return np.sort(ids[row[pairs]], axis=1), distance, is_part


def _check_coincident(flat: FlatTopology, system: System, slabs: list[tuple[int, int]]) -> None:
    """Raises `InputError` where bonded atoms are in one place, or many atoms are: their coordinates are missing.

    This comes before any search for neighbours, because in a file of zeros all pairs of atoms are within reach.
    """
    pairs = np.concatenate([_coincident(system, low, high) for low, high in slabs])
    if not len(pairs):
        return
    bonds = np.sort(np.concatenate([system.expand(kind)[0] for kind in BOND_KINDS]), axis=1)
    bad = bonds[(system.fraction[bonds[:, 0]] == system.fraction[bonds[:, 1]]).all(axis=1)]
    _, place, count = np.unique(system.fraction[pairs[:, 0]], axis=0, return_inverse=True, return_counts=True)
    crowded = pairs[count[place.ravel()] >= MOST_IN_ONE_PLACE]
    bad = np.concatenate([bad, crowded])
    if len(bad):
        first, second = (flat.describe(int(atom)) for atom in bad[np.lexsort(bad.T[::-1])[0]])
        raise InputError(
            f"{len(np.unique(pairs))} atoms are in the same place as another; the first two are {first} and {second}: "
            "are coordinates missing from the file?"
        )


def _coincident(system: System, low: int, high: int) -> IdArray:
    """Returns pairs of atoms (m,2) of a slab that are in one place."""
    ids, fraction = _inside(system, low, high)
    order = np.lexsort(fraction.T)
    same = (np.diff(fraction[order], axis=0) == 0).all(axis=1)
    return np.sort(np.stack([ids[order[:-1]], ids[order[1:]]], axis=1)[same], axis=1)


def _inside(system: System, low: int, high: int) -> tuple[IdArray, NDArray[np.int32]]:
    """Returns the atoms whose first fraction is from `low` to `high`, modulo 2³², and their fractions (n,3)."""
    ids, fractions = [np.zeros(0, np.int64)], [np.zeros((0, 3), np.int32)]
    for rows in scratch().ranges(system.n_atoms):
        some = system.fraction[rows]
        inside = np.flatnonzero((some[:, 0].astype(np.int64) - low) % 2**32 < high - low)
        ids.append(inside + rows.start)
        fractions.append(some[inside])
    return np.concatenate(ids), np.concatenate(fractions)


def _excluded(system: System, pairs: IdArray) -> np.ndarray:
    excluded = system.expand_exclusions()
    n = system.n_atoms
    codes = np.sort(pairs, axis=1)
    return np.isin(codes[:, 0].astype(np.int64) * n + codes[:, 1], excluded[:, 0] * n + excluded[:, 1])
