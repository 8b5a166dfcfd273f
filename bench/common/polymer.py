"""Makes polymers: chains of residues of a few kinds in random order, with all terms between neighbours, and ions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.system import ForceField, LennardJones, System, Template, Terms
from tessera.system.blocks import to_fraction

SIDE_CHAINS = (1, 2, 3, 4)  # heavy atoms, each with a hydrogen, by kind of residue
BACKBONE = 5  # N, HN, CA, C, O
LATTICE = np.array([4.5, 6.0, 7.5])  # Å, of residues; a chain goes to and fro along x
TYPES = {"C": (2.1, 0.1), "H": (1.2, 0.02), "O": (2.2, 0.15), "ION": (2.4, 0.1)}  # σ Å, ε kcal/mol

Ints = NDArray[np.int64]


def _residue(side: int) -> tuple[list[str], list[tuple[int, int]], NDArray[np.float64]]:
    """Returns names, bonds and places Å of a residue with a side chain of some heavy atoms."""
    names, bonds = ["N", "HN", "CA", "C", "O"], [(0, 1), (0, 2), (2, 3), (3, 4)]
    places = [[0, 0, 0], [0, -1.0, 0], [1.5, 0, 0], [3.0, 0, 0], [3.0, -1.2, 0]]
    for i in range(side):
        names += [f"S{i}", f"HS{i}"]
        bonds += [(2 if i == 0 else BACKBONE + 2 * i - 2, BACKBONE + 2 * i), (BACKBONE + 2 * i, BACKBONE + 2 * i + 1)]
        y = 0.5 * (-1) ** i
        places += [[1.5, y, 1.4 * (i + 1)], [1.5, y + np.sign(y) * 1.0, 1.4 * (i + 1)]]
    return names, bonds, np.array(places, float)


def _valid(rows: Sequence[Ints]) -> Ints:
    """Joins columns of atoms to rows, without those where an atom is missing (−1)."""
    table = np.stack(rows, axis=1)
    return table[(table >= 0).all(axis=1)]


def _unique(pairs: Ints) -> Ints:
    """Returns pairs in order, each once, i < j."""
    low, high = np.sort(pairs, axis=1).T
    keys = np.sort(low << 32 | high)
    keys = keys[np.append(True, np.diff(keys) > 0)]
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)


def chain(kinds: Ints, name: str = "CHAIN", first_number: int = 1) -> Template:
    """Returns a chain of residues of these kinds (rows of `SIDE_CHAINS`) as one molecule."""
    made = [_residue(side) for side in SIDE_CHAINS]
    size = np.array([len(names) for names, _, _ in made])
    first = np.append(0, np.cumsum(size[kinds]))
    n, residue = int(first[-1]), np.repeat(np.arange(len(kinds)), size[kinds])
    names = np.concatenate([np.array(made[k][0]) for k in kinds])
    links = np.stack([first[:-2] + 3, first[1:-1]], axis=1)
    bonds = [links, *[(first[:-1][kinds == k, None, None] + np.array(made[k][1])).reshape(-1, 2) for k in set(kinds)]]
    bond = np.concatenate(bonds).astype(np.int64)
    hydrogen = np.char.startswith(names, "H")

    both = np.concatenate([bond, bond[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    begin = np.searchsorted(both[:, 0], np.arange(n))
    neighbours = np.full((n, 4), -1, np.int64)
    neighbours[both[:, 0], np.arange(len(both)) - begin[both[:, 0]]] = both[:, 1]
    centre = np.arange(n)
    angle = np.concatenate(
        [_valid([neighbours[:, a], centre, neighbours[:, b]]) for a, b in itertools.combinations(range(4), 2)]
    )
    i, j = bond.T
    dihedral = np.concatenate(
        [
            _valid([np.where(neighbours[i, a] == j, -1, neighbours[i, a]), i, j, np.where(k == i, -1, k)])
            for a in range(4)
            for k in (neighbours[j, b] for b in range(4))
        ]
    )
    near = _unique(np.concatenate([bond, angle[:, [0, 2]]]))
    ends = _unique(dihedral[:, [0, 3]])
    keys_of_ends, keys_of_near = (pairs[:, 0] << 32 | pairs[:, 1] for pairs in (ends, near))
    far = ends[~np.isin(keys_of_ends, keys_of_near)]

    group = np.arange(n)
    light = hydrogen[bond[:, 1]]
    group[bond[light, 1]] = bond[light, 0]
    charge = np.where(hydrogen, 0.1, np.where(names == "O", -0.3, np.where(names == "C", 0.25, -0.05)))
    charge -= np.repeat(np.add.reduceat(charge, first[:-1]) / size[kinds], size[kinds])

    def terms(atoms: Ints, parameter: NDArray[Any]) -> Terms:
        return Terms(atoms.astype(np.int32), parameter.astype(np.int32))

    twice = np.repeat(np.arange(len(dihedral)), 2)
    return Template(
        name=name,
        atom_name=names,
        type=np.where(hydrogen, 1, np.where(names == "O", 2, 0)).astype(np.int32),
        charge=charge,
        mass=np.where(hydrogen, 1.008, np.where(names == "O", 15.999, 12.011)),
        atomic_number=np.where(hydrogen, 1, np.where(names == "O", 8, 6)).astype(np.int32),
        residue=residue.astype(np.int32),
        residue_name=np.array([f"R{k}" for k in kinds]),
        segment_name=np.full(len(kinds), name),
        residue_number=(first_number + np.arange(len(kinds))).astype(np.int32),
        group=group.astype(np.int32),
        terms={
            "bond": terms(bond, light),
            "angle": terms(angle, hydrogen[angle[:, 0]] & hydrogen[angle[:, 2]]),
            "dihedral": terms(dihedral[twice], np.tile([0, 1], len(dihedral))),
            "pair_14": terms(far, np.zeros(len(far))),
        },
        exclusions=_unique(np.concatenate([near, far])).astype(np.int32),
    )


def _ion() -> Template:
    return Template(
        name="ION",
        atom_name=np.array(["ION"]),
        type=np.array([3], np.int32),
        charge=np.array([0.0]),
        mass=np.array([20.0]),
        atomic_number=np.array([10], np.int32),
        residue=np.zeros(1, np.int32),
        residue_name=np.array(["ION"]),
        segment_name=np.array(["IONS"]),
        residue_number=np.array([1], np.int32),
        group=np.zeros(1, np.int32),
    )


def make_polymer(lengths: Sequence[int], ions: int = 0, seed: int = 1, kinds: int = len(SIDE_CHAINS)) -> System:
    """Makes chains of so many residues each, and ions before and behind every chain."""
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(0, kinds, length) for length in lengths]
    total = sum(lengths) + ions * (len(lengths) + 1)
    edge = np.cbrt(total * np.prod(LATTICE))
    n = np.maximum(2, np.ceil(edge / LATTICE)).astype(int)
    n[2] = max(2, int(np.ceil(total / (n[0] * n[1]))))
    place = np.arange(total)
    x, y, z = place % n[0], place // n[0] % n[1], place // (n[0] * n[1])
    back, down = (place // n[0]) % 2 == 1, z % 2 == 1
    corner = np.stack([np.where(back, n[0] - 1 - x, x), np.where(down, n[1] - 1 - y, y), z], axis=1) * LATTICE

    def positions(places: Ints, of_residue: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        size = [len(p) for p in of_residue]
        offset = np.concatenate(of_residue)
        turned = np.repeat(back[places], size)
        offset[:, 0] = np.where(turned, 3.0 - offset[:, 0], offset[:, 0])
        return np.repeat(corner[places], size, axis=0) + offset

    made = [_residue(side)[2] for side in SIDE_CHAINS]
    templates, runs, found, first = [_ion()], [], [], 0
    for index in range(len(lengths) + 1):
        if ions:
            runs.append((0, ions))
            found.append(positions(np.arange(first, first + ions), [np.full((1, 3), 1.0)] * ions))
            first += ions
        if index < len(lengths):
            templates.append(chain(sequences[index], f"CHAIN{index}", 1 + 10 * index))
            runs.append((index + 1, 1))
            places = np.arange(first, first + lengths[index])
            found.append(positions(places, [made[k] for k in sequences[index]]))
            first += lengths[index]
    box = np.diag(n * LATTICE)
    all_places = np.concatenate(found)
    all_places += rng.normal(scale=0.05, size=all_places.shape)
    return System(
        box=box,
        periodic=True,
        coulomb_constant=332.0637,
        coulomb_source="charmm",
        lj_rule="lorentz-berthelot",
        lennard_jones=LennardJones("cut", 8.0),
        source="polymer",
        force_field=ForceField(
            type_name=list(TYPES),
            type_lj=np.array(list(TYPES.values())),
            tables={
                "bond": np.array([[100.0, 1.5], [200.0, 1.0]]),
                "angle": np.array([[20.0, 1.95], [15.0, 1.9]]),
                "dihedral": np.array([[0.3, 3.0, 0.0], [0.1, 2.0, np.pi]]),
                "pair_14": np.array([[2.0, 0.05, 0.8]]),
            },
        ),
        templates=templates,
        runs=np.array(runs, np.int64),
        fraction=to_fraction(all_places, box),
    )
