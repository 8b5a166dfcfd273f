"""Turns DL_POLY's FIELD and CONFIG, with TABLE, into a `System`, and its CONTROL into settings of a run.

Read `field` first, then `potentials` and `config`; `control` and `run_file` are about the run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tessera.constants import atomic_numbers
from tessera.errors import InputError
from tessera.prepare.assemble import Origin, assemble, check_coordinates
from tessera.prepare.dlpoly.bonded import add_terms
from tessera.prepare.dlpoly.config import read_config
from tessera.prepare.dlpoly.control import Control
from tessera.prepare.dlpoly.field import Field, read_field
from tessera.prepare.dlpoly.lines import is_name
from tessera.prepare.dlpoly.potentials import make_force_field
from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.molecule import keep_flexible, sorted_pairs, without_force
from tessera.prepare.numbering import selection_of
from tessera.prepare.rows import Tables
from tessera.system import LennardJones, System
from tessera.system.model import FloatArray

_BOLTZMANN = 0.831451115  # amu Å²/ps²/K, of DL_POLY


def prepare_dlpoly(
    field: str | Path,
    config: str | Path,
    control: Control | None = None,
    table: str | Path | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Makes the system. The CONTROL says where potentials end, and whether velocities are scaled.

    Raises `InputError` for what has no counterpart, by its line.
    """
    report("reading FIELD")
    found = read_field(field)
    names = list(dict.fromkeys(site.name for molecule in found.molecules for site in molecule.sites))
    force_field = make_force_field(found, names, Path(table) if table else Path(field).parent / "TABLE")
    report("reading CONFIG")
    coordinates = read_config(config)
    n_atoms = sum(molecule.count * len(molecule.sites) for molecule in found.molecules)
    if n_atoms != len(coordinates.position):  # before anything of this size is made
        raise InputError(
            f"{found.name} has {n_atoms:,} atoms in all, and {Path(config).name} {len(coordinates.position):,}: "
            "correct nummols, or take the files of one system"
        )
    flat = _flat(found, names)
    tables = Tables()
    add_terms(found, flat, tables, force_field)
    check_coordinates(flat, coordinates)
    _check_names(flat, coordinates.name, Path(config).name)
    notes = list(found.notes)
    lennard_jones = LennardJones("cut", control.vdw_cutoff, tail=coordinates.box is not None) if control else None
    if control is None:
        notes.append("no CONTROL is given, so potentials end at 12 Å unless the run file says otherwise")
    elif control.scales_velocities:
        _scale(coordinates.velocity, flat.mass, control)
        notes.append(f"velocities are scaled to {control.temperature:g} K, as CONTROL says")
    report("finding molecules")
    pieces = split(flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    force_field.tables = tables.tables()
    line = f"prepare dlpoly: {Path(field).name} {Path(config).name}"
    origin = Origin("dl_poly", "lorentz-berthelot", line, lennard_jones, coordinates=Path(config).name)
    vacuum = coordinates.box is None
    # Constraints of FIELD are bonds without a force.
    held = [template.term("bond").atoms[without_force(template, force_field)] for template in pieces.templates]
    system = assemble(
        flat, pieces.templates, pieces.runs, force_field, coordinates, origin, None, vacuum, notes, report, held
    )
    keep_flexible(system.templates, force_field, held)
    if control is None and (frozen := frozen_ranges(found)):
        system.warnings.append(f'FIELD freezes atoms: set fixed = "{frozen}" in [dynamics] of the run file')
    return system


def frozen_ranges(found: Field) -> str:
    """Returns the selection of all frozen atoms, such as `bynum 1:100 901:1000`; empty where none is."""
    flags = np.concatenate([np.tile([site.frozen for site in m.sites], m.count) for m in found.molecules])
    return selection_of(np.flatnonzero(flags)) if flags.any() else ""


def _flat(found: Field, names: list[str]) -> FlatTopology:
    index = {name: row for row, name in enumerate(names)}
    keys = ("name", "type", "charge", "mass", "element", "number", "residue")
    columns: dict[str, list[np.ndarray]] = {key: [] for key in keys}
    first = 1
    for molecule in found.molecules:
        sites, count = molecule.sites, molecule.count
        name, mass = np.array([site.name for site in sites], "S8"), np.array([site.mass for site in sites])
        columns["name"].append(np.tile(name, count))
        columns["type"].append(np.tile(np.array([index[site.name] for site in sites], np.int32), count))
        columns["charge"].append(np.tile([site.charge for site in sites], count))
        columns["mass"].append(np.tile(mass, count))
        columns["element"].append(np.tile(atomic_numbers(mass, name), count))
        columns["number"].append(np.repeat(np.arange(first, first + count), len(sites)))
        whole = np.full(len(sites), _residue_name(molecule.name), "S8")
        columns["residue"].append(np.tile(whole if molecule.has_terms else name, count))
        first += count
    joined = {key: np.concatenate(parts) for key, parts in columns.items()}
    return FlatTopology(
        name=joined["name"],
        type=joined["type"].astype(np.int32),
        type_names=names,
        charge=joined["charge"].astype(np.float64),
        mass=joined["mass"].astype(np.float64),
        atomic_number=joined["element"].astype(np.int32),
        residue_name=joined["residue"],
        residue_number=joined["number"].astype(np.int32),
        segment=np.full(len(joined["name"]), b"", "S8"),
    )


def _residue_name(name: str) -> bytes:
    """Returns the first word of a molecule's name, without characters that formats have no room for."""
    word = (name.split() or ["MOL"])[0]
    return "".join(c if is_name(c) else "?" for c in word).encode()[:8]


def _check_names(flat: FlatTopology, name: np.ndarray | None, file: str) -> None:
    bad = np.flatnonzero(flat.name != name)
    if len(bad):
        atom = int(bad[0])
        assert name is not None
        raise InputError(
            f"{file} has {name[atom].decode()} as atom {atom + 1} where FIELD has {flat.describe(atom)}: the order of "
            "molecules and atoms must be the same"
        )


def _scale(velocity: FloatArray | None, mass: FloatArray, control: Control) -> None:
    """Scales velocities (n,3) Å/ps in place, without the motion of the centre of mass."""
    if velocity is None:
        raise InputError(f"{control.name} scales velocities (restart scale), but CONFIG has none")
    velocity -= (mass @ velocity) / mass.sum()
    twice_kinetic = float((mass[:, None] * velocity**2).sum())
    found = twice_kinetic / (_BOLTZMANN * max(1, 3 * len(mass) - 3))
    if found <= 0:
        raise InputError("all velocities of CONFIG are 0, so they can't be scaled")
    velocity *= np.sqrt(control.temperature / found)
