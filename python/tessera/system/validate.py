"""Checks a system before it is written."""

from __future__ import annotations

import numpy as np

from tessera.errors import InputError
from tessera.system.arrays import FloatArray, IdArray
from tessera.system.blocks import FASTEST, too_fast
from tessera.system.chain_rules import check_chains, in_order
from tessera.system.model import (
    FORCE_FIELD_COLUMNS,
    LJ_MODIFIERS,
    PAIR_PARAMETERS,
    PAIR_POTENTIALS,
    TERM_ATOMS,
    ForceField,
    System,
    Template,
)
from tessera.system.scratch import scratch
from tessera.system.virtual_sites import FRAMES


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)


def check_velocities(velocity: FloatArray, ids: IdArray) -> None:
    """Raises `InputError` where the velocity (n,3) Å/ps of one of these atoms is out of the engine's range."""
    for row in too_fast(velocity)[:1]:
        speed = np.linalg.norm(velocity[row])
        raise InputError(f"atom {int(ids[row]) + 1:,} moves at {speed:g} Å/ps, expected less than {FASTEST:,.0f}")


def _check_template(system: System, index: int, template: Template, is_unit: bool) -> None:
    n = template.n_atoms
    where = f"template {index} ({template.name})"
    _check(n > 0, f"{where} has no atoms")
    for name in ("atom_name", "charge", "mass", "atomic_number", "residue", "group"):
        length = len(getattr(template, name))
        _check(length == n, f"{where}: {name} has {length} rows, expected {n}")
    types = len(system.force_field.type_name)
    _check(_within(template.type, types), f"{where}: a type is not in the table of {types}")
    _check(_within(template.residue, len(template.residue_name)), f"{where}: residue out of range")
    _check(_within(template.group, n), f"{where}: group key out of range")
    _check(
        bool((template.group[template.group] == template.group).all()),
        f"{where}: the key of a hydrogen group must be its own key",
    )
    _check(bool(np.isfinite(template.charge).all()), f"{where}: a charge is not finite")
    _check_virtual_sites(where, template)
    massive = np.isfinite(template.mass) & (template.mass > 0)
    massive[template.virtual_sites.atom] = template.mass[template.virtual_sites.atom] == 0
    _check(bool(massive.all()), f"{where}: every mass must be finite and positive, and 0 for virtual sites alone")
    for kind, size in TERM_ATOMS.items():
        terms = template.term(kind)
        rows = len(system.force_field.table(kind))
        _check(terms.atoms.shape == (len(terms), size), f"{where}: {kind} needs {size} atoms")
        _check(is_unit or _within(terms.atoms, n), f"{where}: an atom of a {kind} is out of range")
        _check(_within(terms.parameter, rows), f"{where}: a {kind} names a row beyond {rows}")
    pairs = template.exclusions
    _check(is_unit or _within(pairs, n), f"{where}: an excluded atom is out of range")
    _check(bool((pairs[:, 0] < pairs[:, 1]).all()), f"{where}: exclusions need i < j")
    _check(
        not template.rigid_water or (n >= 3 and template.settle is not None),
        f"{where}: rigid water needs three atoms and its two distances",
    )


def _check_virtual_sites(where: str, template: Template) -> None:
    sites, n = template.virtual_sites, template.n_atoms
    rows = (len(sites.frame), len(sites.position), len(sites.parents))
    _check(rows == (len(sites), len(sites), len(sites.weights)), f"{where}: virtual sites have columns of {rows} rows")
    _check(_within(sites.atom, n) and bool((np.diff(sites.atom) > 0).all()), f"{where}: virtual sites must be in order")
    _check(_within(sites.frame, len(FRAMES)), f"{where}: a virtual site has a frame that is not known")
    _check(_within(sites.parents[:, 0], len(sites)), f"{where}: a parent belongs to no virtual site")
    _check(_within(sites.parents[:, 1], n), f"{where}: a parent of a virtual site is out of range")
    _check(
        bool(np.isfinite(sites.position).all() and np.isfinite(sites.weights).all()),
        f"{where}: a number of a virtual site is not finite",
    )
    _check(not np.isin(sites.parents[:, 1], sites.atom).any(), f"{where}: a parent of a virtual site is one itself")
    sums = np.zeros((len(sites), 3))
    np.add.at(sums, sites.parents[:, 0], sites.weights)
    _check(
        bool(np.allclose(sums, [1, 0, 0], rtol=0, atol=1e-9)),
        f"{where}: the weights of a virtual site's parents must sum to 1, 0 and 0",
    )
    group = template.group
    _check(
        bool((group[sites.parents[:, 1]] == group[sites.atom[sites.parents[:, 0]]]).all()),
        f"{where}: a virtual site and its parents must be in one hydrogen group",
    )


def _check_pair_potentials(field: ForceField) -> None:
    n = len(field.pair_types)
    _check(field.pair_types.shape == (n, 2) and len(field.pair_kind) == n, "pair potentials need two types and a kind")
    _check(field.pair_parameter.shape == (n, PAIR_PARAMETERS), f"pair potentials need {PAIR_PARAMETERS} parameters")
    _check(bool(np.isfinite(field.pair_parameter).all()), "a parameter of a pair potential is not finite")
    _check(bool(np.isfinite(field.pair_tables).all()), "a table of a pair potential is not finite")
    _check(_within(field.pair_types, len(field.type_name)), "a type of a pair potential is out of range")
    _check(len(np.unique(np.sort(field.pair_types, axis=1), axis=0)) == n, "a pair of types has two potentials")
    for kind, parameter in zip(field.pair_kind, field.pair_parameter):
        _check(kind in PAIR_POTENTIALS, f"unknown pair potential {kind!r}")
        _check(kind != "table" or 0 <= parameter[0] < len(field.pair_tables), f"there is no table {parameter[0]:g}")


def _within(values: np.ndarray, size: int) -> bool:
    return values.size == 0 or (int(values.min()) >= 0 and int(values.max()) < size)


def check_system(system: System, has_atoms: bool = True) -> None:
    """Raises `InputError` at the first error. Without `has_atoms` coordinates and velocities are elsewhere."""
    box = system.box
    _check(box.shape == (3, 3) and bool(np.isfinite(box).all()), "the box is not three vectors")
    _check(bool((np.diag(box) > 0).all()), f"box edges must be positive, found {np.diag(box)}")
    _check(np.count_nonzero(np.triu(box, 1)) == 0, "the box must be lower triangular")
    _check(system.origin.shape == (3,) and bool(np.isfinite(system.origin).all()), f"origin {system.origin}")
    _check(not (system.periodic and system.origin.any()), "a box that repeats has no origin")
    _check(system.periodic or np.count_nonzero(np.tril(box, -1)) == 0, "the frame of a vacuum lies along the axes")
    _check(system.lj_rule in ("lorentz-berthelot", "geometric"), f"lj_rule {system.lj_rule!r}")
    lj = system.lennard_jones
    _check(
        lj.modifier in LJ_MODIFIERS and 0 < lj.cutoff < np.inf and (lj.modifier == "cut" or 0 <= lj.switch < lj.cutoff),
        f"Lennard-Jones {lj}",
    )
    field = system.force_field
    _check(field.type_lj.shape == (len(field.type_name), 2), "type_lj must be (types, 2)")
    _check(bool(np.isfinite(field.type_lj).all()), "type_lj is not finite")
    _check(_within(field.nbfix_types, len(field.type_name)), "an nbfix type is out of range")
    _check_pair_potentials(field)
    for kind, columns in FORCE_FIELD_COLUMNS.items():
        table = field.table(kind)
        _check(table.ndim == 2 and table.shape[1] == columns, f"{kind} needs {columns} columns")
        _check(bool(np.isfinite(table).all()), f"a {kind} parameter is not finite")
    _check(bool(np.isfinite(field.cmap).all()), "a CMAP energy is not finite")
    _check(_within(system.runs[:, 0], len(system.templates)), "a run names an unknown template")
    _check(bool((system.runs[:, 1] > 0).all()), "a run must have at least one instance")
    is_unit = check_chains(system)
    for index, template in enumerate(system.templates):
        _check_template(system, index, template, bool(is_unit[index]))
    _check(
        not has_atoms or len(system.fraction) == system.n_atoms,
        f"the runs hold {system.n_atoms} atoms but there are {len(system.fraction)} coordinates",
    )
    for name, columns in (("residue_numbers", 4), ("segments", 3)):
        rows = getattr(system, name)
        _check(rows.ndim == 2 and rows.shape[1] == columns, f"{name} must be (rows, {columns})")
        _check(in_order(rows, system.n_instances), f"{name} must be in order within {system.n_instances:,} instances")
    names = len(system.segment_name)
    _check(_within(system.segments[:, 2], names), f"a segment is named by a row beyond {names}")
    if has_atoms and system.velocity is not None:
        _check(system.velocity.shape == system.fraction.shape, "velocities and coordinates differ")
        for rows in scratch().ranges(system.n_atoms):
            check_velocities(system.velocity[rows], np.arange(rows.start, rows.stop))
