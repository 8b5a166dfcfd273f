"""Converts GROMACS' top and gro to a `System`.

One molecule of each kind is read, and their number is stored with it, so a million waters cost as much as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from tessera.constants import atomic_numbers
from tessera.errors import InputError
from tessera.prepare.assemble import Origin, assemble, check_coordinates
from tessera.prepare.coordinates import read_coordinates
from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.gromacs.mdp import RunParameters, read_mdp
from tessera.prepare.gromacs.terms import TermGatherer, force_field_of_types
from tessera.prepare.gromacs.topology import Molecule, Topology
from tessera.prepare.gromacs.virtual_sites import WITHOUT_VSITE, read_virtual_sites
from tessera.prepare.molecule import (
    has_free_hydrogens,
    keep_flexible,
    set_groups,
    sorted_pairs,
    without_force,
)
from tessera.prepare.pairing import pair_by_name
from tessera.prepare.rows import Tables
from tessera.prepare.text import require_file
from tessera.prepare.virtual_sites import Site, add_sites, check_massless
from tessera.system import ForceField, System, Template
from tessera.system.model import FloatArray, IdArray

#: An nrexcl that excludes more pairs than this is an error in the file, and the pairs would fill the memory.
_MOST_EXCLUSIONS = 50_000_000


def prepare_gromacs(
    top: str | Path,
    coordinates: str | Path,
    include: str | Path | None = None,
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust_order: bool = False,
    defines: Sequence[str] = (),
    mdp: str | Path | None = None,
) -> System:
    """Makes the system of a topology and coordinates. `include` is a folder of files that the topology includes;
    `defines` are macros, NAME or NAME=VALUE; `mdp` adds its own of both.

    `box`: (3,3) Å, rows are its vectors; None: that of the inputs. `vacuum`: no box, even if they have one.
    `trust_order`: rows of the coordinates are in the order of the topology, whatever atoms are called. `report` is
    called with each step of the work. Raises `InputError`.
    """
    report("reading the topology")
    run = RunParameters() if mdp is None else read_mdp(mdp)
    if mdp is not None and not run.repeats and not vacuum:
        raise InputError(f"{Path(mdp).name}: pbc = no: nothing repeats there: add --vacuum, or set pbc = xyz")
    folders = [*([] if include is None else [Path(include)]), *run.include]
    read = Topology(require_file(top, "topology file"), folders, [*defines, *run.defines], run.takes_state_a)
    report("finding parameters")
    tables = Tables()
    flat, force_field, notes = _convert(read, tables)
    pieces = split(flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    force_field.tables, force_field.cmap = tables.tables(), tables.maps()
    notes = [
        *notes,
        *_notes(read, run, top),
        *_check_constraints(flat, pieces.templates, pieces.first_atom, force_field),
    ]
    runs = _runs(read, pieces.runs, pieces.templates)
    report("reading coordinates")
    found = read_coordinates(coordinates)
    _check_count(read, len(found.position))
    atoms = _expand(flat, pieces.runs, pieces.templates, runs)
    check_coordinates(atoms, found)
    molecules = _molecules(pieces.templates, runs)
    notes += pair_by_name(atoms, found, coordinates, molecules, trust_order=trust_order)
    line = f"prepare gromacs: {Path(top).name} {Path(coordinates).name}"
    origin = Origin("gromacs", _rule(read), line, run.lennard_jones, coordinates=Path(coordinates).name)
    system = assemble(
        atoms, pieces.templates, runs, force_field, found, origin, box, vacuum, notes, report, pieces.held()
    )
    if run.is_flexible:
        keep_flexible(system.templates, force_field, pieces.held())
    elif mdp is None and any(
        has_free_hydrogens(template, force_field, pairs) and not template.flexible
        for template, pairs in zip(system.templates, pieces.held(), strict=True)
    ):
        system.notes.append(
            'no --mdp: bonds to hydrogen follow the run file, whose default is "h-bonds", and those '
            "of GROMACS are flexible by default (none)"
        )
    return system


def _check_count(read: Topology, n_found: int) -> None:
    """Checks the numbers of atoms before arrays for all of `[ molecules ]` are made."""
    size = {molecule.name: molecule.n_atoms for molecule in read.molecules}
    n_atoms = sum(size[name] * count for name, count in read.counts if count)
    if n_atoms != n_found:
        raise InputError(f"the topology has {n_atoms} atoms but the coordinate file has {n_found}")


def _rule(read: Topology) -> str:
    assert read.types.defaults is not None
    return "lorentz-berthelot" if read.types.defaults.rule == 2 else "geometric"


def _notes(read: Topology, run: RunParameters, top: str | Path) -> list[str]:
    notes = list(run.notes)
    if run.lennard_jones is None:
        notes.append("no --mdp: Lennard-Jones ends as GROMACS' defaults say, cut-off 10 Å")
    for name in read.unused_defines:
        notes.append(f"macro {name} is defined but {Path(top).name} does not ask for it")
    replaced = read.types.overridden
    if replaced:
        notes.append(
            f"{len(replaced)} line(s) of the force field replace or repeat earlier ones: the first, {replaced[0]}"
        )
    return notes


def _convert(read: Topology, tables: Tables) -> tuple[FlatTopology, ForceField, list[str]]:
    """Returns one molecule of each kind, the types of the force field and notes; the tables come later."""
    atoms = [molecule.atoms for molecule in read.molecules]
    types = [kind for a in atoms for kind in a.type]
    names = list(dict.fromkeys(kind.name for kind in types))
    code = {name: i for i, name in enumerate(names)}
    mass = np.array([mass for a in atoms for mass in a.mass], np.float64)
    atom_name = _texts([name for a in atoms for name in a.name])
    given = np.array([kind.number for kind in types], np.int32)
    flat = FlatTopology(
        name=atom_name,
        type=np.array([code[kind.name] for kind in types], np.int32),
        type_names=names,
        charge=np.array([charge for a in atoms for charge in a.charge], np.float64),
        mass=mass,
        atomic_number=np.where(given > 0, given, atomic_numbers(mass, atom_name)).astype(np.int32),
        residue_name=_texts([name for a in atoms for name in a.residue_name]),
        residue_number=np.array([number for a in atoms for number in a.residue_number], np.int32),
        insertion=np.array([code.encode() for a in atoms for code in a.insertion], "S1"),
        segment=np.repeat(_texts([m.name for m in read.molecules]), [m.n_atoms for m in read.molecules]),
    )
    force_field = force_field_of_types(read.types, names, _rule(read))
    gatherer = TermGatherer(read, flat, tables)
    first = 0
    sites: dict[int, Site] = {}
    for molecule in read.molecules:
        bonds = gatherer.add(molecule, first)
        flat.add("exclusion", first + _exclusions(read, molecule, bonds))
        for atom, site in read_virtual_sites(read, molecule).items():
            sites[first + atom] = replace(site, parents=tuple(first + parent for parent in site.parents))
        first += molecule.n_atoms
    notes = add_sites(flat, sites)
    check_massless(flat)
    return flat, force_field, notes


def _texts(values: list[str]) -> np.ndarray:
    return np.array([value.encode() for value in values])


def _exclusions(read: Topology, molecule: Molecule, bonds: IdArray) -> IdArray:
    """Returns pairs (m,2) that do not interact: those up to nrexcl chemical bonds apart, and those of `[ exclusions
    ]`."""
    n = molecule.n_atoms
    listed = read.exclusions(molecule)
    near = sparse.csr_array((n, n), dtype=np.int32)
    if molecule.n_exclusion and len(bonds):
        ends = np.concatenate([bonds, bonds[:, ::-1]]).T
        one = sparse.csr_array((np.ones(len(ends[0]), np.int32), (ends[0], ends[1])), shape=(n, n))
        one.data[:] = 1
        near = one
        for _ in range(min(molecule.n_exclusion, n) - 1):
            before = near.nnz
            near = (near + near @ one).tocsr()
            near.data[:] = 1
            if near.nnz == before:
                break
            if near.nnz > _MOST_EXCLUSIONS:
                raise InputError(
                    f"{molecule.where}: nrexcl = {molecule.n_exclusion} of molecule {molecule.name} leaves out more "
                    f"than {_MOST_EXCLUSIONS:,} pairs of atoms"
                )
    upper = sparse.triu(near, k=1).tocoo()
    generated = np.stack([upper.row, upper.col], axis=1).astype(np.int32)
    return sorted_pairs(generated, listed.astype(np.int32)).astype(np.int64)


def _check_constraints(
    flat: FlatTopology, templates: list[Template], first_atom: list[int], field: ForceField
) -> list[str]:
    """Returns a note on bonds that every run holds, and refuses constraints that no run supports.

    A bond without a force represents a constraint. A run supports those inside a hydrogen group (a heavy atom and its
    hydrogens) and in rigid waters.
    """
    count, example = 0, ""
    for template, first in zip(templates, first_atom):
        held = template.term("bond").atoms[without_force(template, field)]
        set_groups(template)
        group = template.group
        held = held[(template.mass[held] > 0).all(axis=1)]  # sites need no holding
        apart = held[group[held[:, 0]] != group[held[:, 1]]]
        if len(apart):
            one, other = (flat.describe(first + int(atom)) for atom in apart[0])
            raise InputError(
                f"{one} and {other} are held at a fixed length (section [ constraints ] or [ settles ]): only a heavy "
                "atom and its hydrogens can be held" + (WITHOUT_VSITE if len(template.virtual_sites) else "")
            )
        is_water = (template.mass > 0).sum() == 3 and tuple(template.atomic_number[:3]) == (8, 1, 1) and len(held) == 3
        if len(held) and not is_water:
            count += len(held)
            example = example or " and ".join(flat.describe(first + int(atom)) for atom in held[0])
    if not count:
        return []
    return [f"{count:,} bond(s) of [ constraints ] have no force, the first between {example}: every run holds them"]


def _pieces_of(read: Topology, runs: IdArray, templates: list[Template]) -> dict[str, list[list[int]]]:
    """Returns the runs (template, count) of one molecule of each kind. A kind may be split into several templates."""
    queue = [list(map(int, run)) for run in runs]
    out: dict[str, list[list[int]]] = {}
    for molecule in read.molecules:
        left = molecule.n_atoms
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
        out[molecule.name] = mine
    return out


def _runs(read: Topology, runs: IdArray, templates: list[Template]) -> IdArray:
    """Returns the runs of the whole system; neighbours with the same template are joined."""
    pieces = _pieces_of(read, runs, templates)
    out: list[list[int]] = []
    for name, count in read.counts:
        mine = pieces[name] if count else []
        repeated = [[mine[0][0], mine[0][1] * count]] if len(mine) == 1 else mine * count
        for template, number in repeated:
            if out and out[-1][0] == template:
                out[-1][1] += number
            else:
                out.append([template, number])
    return np.array(out, np.int64).reshape(-1, 2)


def _expand(flat: FlatTopology, runs: IdArray, templates: list[Template], whole: IdArray) -> FlatTopology:
    """Returns the names of all atoms of the whole system for messages, without terms."""
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
        insertion=flat.insertion[rows],
    )


def _molecules(templates: list[Template], runs: IdArray) -> IdArray:
    """Returns the instance (n,) of each atom of the whole system."""
    sizes = np.array([t.n_atoms for t in templates])[np.repeat(runs[:, 0], runs[:, 1])]
    return np.repeat(np.arange(len(sizes)), sizes)
