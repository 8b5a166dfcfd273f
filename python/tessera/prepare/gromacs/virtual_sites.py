"""Reads GROMACS' virtual sites (reference manual, "Virtual interaction sites"), in nm and degrees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tessera.constants import NM
from tessera.errors import InputError
from tessera.prepare.gromacs.topology import SITE_SECTIONS, Lines, Molecule, Topology
from tessera.prepare.gromacs.types import Numbers, integer_of, numbers_of
from tessera.prepare.virtual_sites import ORTHONORMAL, Site, along, average, in_plane, out_of_plane, site


def _two(atoms: Sequence[int], a: float) -> Site:
    return average(atoms, (1 - a, a))


def _two_fd(atoms: Sequence[int], a: float) -> Site:
    i, j = atoms
    return along(i, (j,), (1,), a * NM)


def _three(atoms: Sequence[int], a: float, b: float) -> Site:
    return average(atoms, (1 - a - b, a, b))


def _three_fd(atoms: Sequence[int], a: float, distance: float) -> Site:
    i, j, k = atoms
    return along(i, (j, k), (1 - a, a), distance * NM)


def _three_fad(atoms: Sequence[int], theta: float, distance: float) -> Site:
    i, j, k = atoms
    angle, length = math.radians(theta), distance * NM
    return in_plane(i, j, k, length * math.cos(angle), length * math.sin(angle))


def _three_out(atoms: Sequence[int], a: float, b: float, c: float) -> Site:
    i, j, k = atoms
    return out_of_plane(i, j, k, a, b, c / NM)


def _four_fdn(atoms: Sequence[int], a: float, b: float, c: float) -> Site:
    return site(ORTHONORMAL, atoms, (1, 0, 0, 0), (1 - a, -1, a, 0), (1 - b, -1, 0, b), (0.0, 0.0, c * NM))


#: atoms of a line, and for each function how many parameters it has and what it places
_KINDS: dict[str, tuple[int, dict[int, tuple[int, Callable[..., Site]]]]] = {
    "1": (1, {1: (0, lambda atoms: average(atoms, (1,)))}),
    "2": (2, {1: (1, _two), 2: (1, _two_fd)}),
    "3": (3, {1: (2, _three), 2: (2, _three_fd), 3: (2, _three_fad), 4: (3, _three_out)}),
    "4": (4, {2: (3, _four_fdn)}),
}
#: for topologies whose hydrogens are virtual sites
WITHOUT_VSITE = (
    "; if pdb2gmx -vsite wrote this topology, make it without -vsite: dynamics.hydrogen_mass = 3 allows steps of 4 fs "
    "as well"
)
_OBSOLETE = {("4", 1): " (4fd, which GROMACS has replaced by function 2)"}


def read_virtual_sites(read: Topology, molecule: Molecule) -> dict[int, Site]:
    """Returns the virtual sites of a molecule, with atoms from 0. Raises `InputError` with file and line."""
    sites: dict[int, Site] = {}
    for section in SITE_SECTIONS:
        lines = molecule.sections.get(section, Lines())
        for text, place in zip(lines.texts, lines.places):
            where = f"{read.at(place)}: [ {section} ]"
            atom, found = _line(molecule, section[-1], text.split(), where)
            if atom in sites:
                raise InputError(f"{where} of molecule {molecule.name} makes atom {atom + 1} a virtual site again")
            sites[atom] = found
    return sites


def _line(molecule: Molecule, kind: str, words: list[str], where: str) -> tuple[int, Site]:
    try:
        if kind == "n":
            return _any_number(molecule, words, where)
        size, functions = _KINDS[kind]
        if len(words) < size + 2:
            raise InputError(f"{where} needs a site, {size} atom(s) and a function, found {' '.join(words)[:60]!r}")
        atom, *parents = _atoms(molecule, words[: size + 1], where)
        function = integer_of(words[size + 1], "a function", where)
        if function not in functions:
            raise InputError(f"{where}: function {function}{_OBSOLETE.get((kind, function), '')} is not supported")
        n, place = functions[function]
        numbers: Numbers = numbers_of(words[size + 2 :], where)
        if len(numbers) != n:
            raise InputError(
                f"{where}: function {function} needs {n} parameter(s), found {len(numbers)}; give those that grompp "
                "would derive from bonds and angles" + ("" if numbers else WITHOUT_VSITE)
            )
        return atom, place(parents, *numbers)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: the site {error}") from None


def _any_number(molecule: Molecule, words: list[str], where: str) -> tuple[int, Site]:
    """Reads a site, a function (1: centre of the atoms, 2: of their masses, 3: of weights given) and atoms."""
    if len(words) < 3:
        raise InputError(f"{where} needs a site, a function and atoms, found {' '.join(words)[:60]!r}")
    function = integer_of(words[1], "a function", where)
    (atom,), rest = _atoms(molecule, words[:1], where), words[2:]
    if function not in (1, 2, 3):
        raise InputError(f"{where}: function {function} is not supported")
    if function == 3:
        if len(rest) % 2:
            raise InputError(f"{where}: function 3 needs a weight for each atom")
        parents, weights = _atoms(molecule, rest[::2], where), np.array(numbers_of(rest[1::2], where))
    else:
        parents = _atoms(molecule, rest, where)
        weights = np.ones(len(parents)) if function == 1 else np.array([molecule.atoms.mass[p] for p in parents])
    if not weights.sum() > 0:
        raise ValueError(f"has weights that sum to {weights.sum():g}, expected more than 0")
    return atom, average(parents, weights / weights.sum())


def _atoms(molecule: Molecule, words: Sequence[str], where: str) -> list[int]:
    atoms = [integer_of(word, "an atom", where) for word in words]
    for atom in atoms:
        if not 1 <= atom <= molecule.n_atoms:
            raise InputError(
                f"{where} of molecule {molecule.name} names atom {atom}, but it has {molecule.n_atoms} atoms"
            )
    return [atom - 1 for atom in atoms]
