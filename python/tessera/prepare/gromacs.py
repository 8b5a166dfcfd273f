"""GROMACS: top and gro to a `System`.

OpenMM's reader pre-processes and parses the topology. It is given one molecule of each kind, and
how many there are is kept here, so a million waters cost one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tessera.prepare.assemble import Origin, assemble, check_coordinates
from tessera.prepare.coordinates import read_coordinates
from tessera.prepare.errors import InputError, require_file
from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.molecule import sorted_pairs
from tessera.prepare.openmm_forces import AtomNames, Converted, convert
from tessera.prepare.pairing import pair_by_name
from tessera.system import System, Template
from tessera.system.model import FloatArray, IdArray

#: sections that OpenMM's reader passes over though they hold an interaction
_UNREAD = {
    "position_restraints",
    "distance_restraints",
    "dihedral_restraints",
    "angle_restraints",
    "angle_restraints_z",
    "orientation_restraints",
    "polarization",
    "thole_polarization",
    "water_polarization",
    "intermolecular_interactions",
}


def prepare_gromacs(
    top: str | Path,
    coordinates: str | Path,
    include: str | Path | None = None,
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust_order: bool = False,
) -> System:
    """`report` hears what is being done. Raises `InputError`."""
    report("reading the topology")
    read = _read_top(require_file(top, "topology file"), include)
    report("finding parameters")
    one_of_each = _convert(read)
    pieces = split(one_of_each.flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    runs = _runs(read, pieces.runs, pieces.templates)
    report("reading coordinates")
    found = read_coordinates(coordinates)
    atoms = _expand(one_of_each.flat, pieces.runs, pieces.templates, runs)
    check_coordinates(atoms, found)
    molecules = _molecules(pieces.templates, runs)
    notes = pair_by_name(atoms, found, coordinates, molecules, trust_order=trust_order)
    line = f"prepare gromacs: {Path(top).name} {Path(coordinates).name}"
    origin = Origin("gromacs", _rule(read), line, coordinates=Path(coordinates).name)
    report("checking atoms")
    return assemble(atoms, pieces.templates, runs, one_of_each.force_field, found, origin, box, vacuum, notes)


def _read_top(path: Path, include: str | Path | None) -> Any:
    from openmm.app import GromacsTopFile

    class Top(GromacsTopFile):
        """Keeps the counts of `[ molecules ]` apart and parses one molecule of each kind."""

        def __init__(self) -> None:
            self.counts: list[tuple[str, int]] = []
            super().__init__(str(path), includeDir=None if include is None else str(include))

        def _processLine(self, line: str, file: str) -> None:
            super()._processLine(line, file)
            has_content = line.split(";")[0].strip()[:1] not in ("", "[", "#", "*")
            if has_content and all(self._ifStack) and self._currentCategory in _UNREAD:
                raise ValueError(f"section [ {self._currentCategory} ] is not supported")

        def _processMolecule(self, line: str) -> None:
            super()._processMolecule(line)
            name, count = self._molecules.pop()
            if count > 0:
                self.counts.append((name, count))
            if count > 0 and (name, 1) not in self._molecules:
                self._molecules.append((name, 1))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read = Top()
    except Exception as error:  # the reader raises many kinds
        raise InputError(f"cannot read {path.name}: {_reason(error)}") from error
    if not read.counts:
        raise InputError(f"{path.name} has no molecules: section [ molecules ] is empty or missing")
    return read


def _reason(error: Exception) -> str:
    text = str(error).strip()
    if "Could not locate #include" in text:
        text += " (give the folder that holds it with --include, or set GMXDATA)"
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__} {text}"


def _rule(read: Any) -> str:
    return "lorentz-berthelot" if read._defaults[1] == "2" else "geometric"


def _convert(read: Any) -> Converted:
    try:
        system = read.createSystem(rigidWater=False, removeCMMotion=False)
    except Exception as error:  # the reader raises many kinds
        raise InputError(f"topology: {_reason(error)}") from error
    _keep_listed_pairs(read, system)
    fields = [f for name, _ in read._molecules for f in read._moleculeTypes[name].atoms]
    numbers = [read._atomTypes[f[1]][2] for f in fields]
    digits = [str(f[2]).strip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for f in fields]
    known = all(number is not None for number in numbers)
    molecule = [name for name, _ in read._molecules for _ in read._moleculeTypes[name].atoms]
    names = AtomNames(
        name=np.array([f[4] for f in fields], "S8"),
        residue_name=np.array([f[3] for f in fields], "S8"),
        residue_number=np.array([int(d) for d in digits], np.int32),
        segment=np.array(molecule, "S16"),
        atomic_number=np.array([int(n) for n in numbers], np.int32) if known else None,
    )
    converted = convert(system, names, _rule(read))
    _name_types(read, converted, fields)
    return converted


def _name_types(read: Any, converted: Converted, fields: list[Any]) -> None:
    """Equal parameters are one type: the name of the first stands for all."""
    unique, first = np.unique(converted.flat.type, return_index=True)
    for row, atom in zip(unique, first):
        converted.force_field.type_name[row] = str(fields[atom][1])


def _keep_listed_pairs(read: Any, system: Any) -> None:
    """OpenMM scales all pairs three bonds apart, GROMACS those of `[ pairs ]` and no others."""
    import openmm

    listed: set[tuple[int, int]] = set()
    first: dict[int, Any] = {}
    base = 0
    for name, _ in read._molecules:
        molecule = read._moleculeTypes[name]
        for words in molecule.pairs:
            i, j = int(words[0]) - 1 + base, int(words[1]) - 1 + base
            listed.add((min(i, j), max(i, j)))
        first |= {base + i: molecule for i in range(len(molecule.atoms))}
        base += len(molecule.atoms)
    (force,) = (f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    for index in range(force.getNumExceptions()):
        i, j, product, _, epsilon = force.getExceptionParameters(index)
        acts = product._value != 0 or epsilon._value != 0
        if not acts or (min(i, j), max(i, j)) in listed:
            continue
        if int(first[i].nrexcl) < 3:
            raise InputError(
                f"molecule {first[i].name} has nrexcl = {first[i].nrexcl} and unlisted pairs "
                "three bonds apart: not supported"
            )
        force.setExceptionParameters(index, i, j, 0.0, 0.1, 0.0)


def _pieces_of(read: Any, runs: IdArray, templates: list[Template]) -> dict[str, list[list[int]]]:
    """Runs (template, count) of one molecule of each kind: a kind may fall into several pieces."""
    queue = [list(map(int, run)) for run in runs]
    out: dict[str, list[list[int]]] = {}
    for name, _ in read._molecules:
        left = len(read._moleculeTypes[name].atoms)
        mine: list[list[int]] = []
        while left > 0:
            template, count = queue[0]
            size = templates[template].n_atoms
            taken = min(count, left // size)
            mine.append([template, taken])
            left -= taken * size
            queue[0][1] -= taken
            if queue[0][1] == 0:
                queue.pop(0)
        out[name] = mine
    return out


def _runs(read: Any, runs: IdArray, templates: list[Template]) -> IdArray:
    """Runs of the whole system, neighbours of equal template joined."""
    pieces = _pieces_of(read, runs, templates)
    out: list[list[int]] = []
    for name, count in read.counts:
        mine = pieces[name]
        repeated = [[mine[0][0], mine[0][1] * count]] if len(mine) == 1 else mine * count
        for template, number in repeated:
            if out and out[-1][0] == template:
                out[-1][1] += number
            else:
                out.append([template, number])
    return np.array(out, np.int64).reshape(-1, 2)


def _expand(flat: FlatTopology, runs: IdArray, templates: list[Template], whole: IdArray) -> FlatTopology:
    """Names of every atom of the whole system, for messages; no terms."""
    template_of = np.repeat(runs[:, 0], runs[:, 1])
    sizes = np.array([t.n_atoms for t in templates])
    begin = np.concatenate([[0], np.cumsum(sizes[template_of])])
    first = {int(t): int(begin[i]) for i, t in reversed(list(enumerate(template_of)))}
    rows = np.concatenate([np.tile(np.arange(first[int(t)], first[int(t)] + sizes[t]), c) for t, c in whole])
    return FlatTopology(
        name=flat.name[rows],
        type=flat.type[rows],
        type_names=flat.type_names,
        charge=flat.charge[rows],
        mass=flat.mass[rows],
        atomic_number=flat.atomic_number[rows],
        residue_name=flat.residue_name[rows],
        residue_number=flat.residue_number[rows],
        segment=flat.segment[rows],
    )


def _molecules(templates: list[Template], runs: IdArray) -> IdArray:
    """(n,) which instance each atom of the whole system is in."""
    sizes = np.array([t.n_atoms for t in templates])[np.repeat(runs[:, 0], runs[:, 1])]
    return np.repeat(np.arange(len(sizes)), sizes)
