"""Joins water and ions of a CHARMM force field to a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tessera.build.charmm.chain import Chain, psf_of
from tessera.build.dna.strand import ForceField
from tessera.build.water import HH, OH
from tessera.errors import InputError
from tessera.prepare.assemble import Origin
from tessera.prepare.charmm import flat_of, system_of
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.prepare.coordinates import Coordinates
from tessera.system import ForceField as Tables
from tessera.system import System, Template, Terms
from tessera.system.layout import Layout
from tessera.system.model import FORCE_FIELD_COLUMNS, TERM_ATOMS

#: CHARMM's water, cation and anion, their segments, and how many atoms one has
KINDS = (("TIP3", "WAT", 3), ("SOD", "ION", 1), ("CLA", "ION", 1))
_SPACING = 10.0  # Å between molecules whose places don't count
_EXACT = 1e-3  # Å by which water may differ from that of the tile


def solvent_templates(field: ForceField) -> System:
    """Returns a system of one water, one cation and one anion. Raises `InputError` for what the force field lacks, and
    for another water than TIP3P."""
    residues = [field.topology.residue(name) for name, _, _ in KINDS]
    psf = psf_of([Chain(segment, [own]) for own, (_, segment, _) in zip(residues, KINDS)], field.parameters)
    places = np.zeros((len(psf.name), 3))
    places[:, 0] = _SPACING * np.arange(len(places))
    origin = Origin("charmm", field.parameters.lj_rule, "solvent")
    made = system_of(flat_of(psf, field.parameters), field.parameters, Coordinates(places), origin, vacuum=True)
    water = made.templates[0]
    if not water.rigid_water or water.settle is None or not np.allclose(water.settle, (OH, HH), atol=_EXACT):
        raise InputError(
            f"{residues[0].where}: TIP3 has the distances {water.settle} Å, expected those of TIP3P, {OH} and {HH} Å: "
            "give CHARMM's toppar_water_ions.str with --toppar"
        )
    return made


def with_solvent(system: System, solvent: System, counts: Sequence[int], table: CharmmParameters) -> System:
    """Returns a system with so many of each template of the solvent behind its own molecules; it has no atoms yet."""
    field = _joined(system.force_field, solvent.force_field, table)
    type_row = {name: row for row, name in enumerate(field.type_name)}
    codes = np.array([type_row[name] for name in solvent.force_field.type_name], np.int32)
    rows = {kind: len(system.force_field.table(kind)) for kind in TERM_ATOMS}
    first = len(system.templates)
    layout = Layout()
    layout.add([(first + row, count) for row, count in enumerate(counts) if count])
    behind = layout.of(system, [])
    n = system.n_instances
    numbers, begin = [], n
    for count in counts:
        numbers += [(begin, count, 1, 1)] if count else []
        begin += count
    return replace(
        system,
        force_field=field,
        templates=[*system.templates, *(_renumbered(template, codes, rows) for template in solvent.templates)],
        runs=np.concatenate([system.runs, behind.runs]),
        residue_numbers=np.concatenate([system.residue_numbers, np.array(numbers, np.int64).reshape(-1, 4)]),
        fraction=np.zeros((0, 3), np.int32),
        velocity=None,
    )


def _renumbered(template: Template, codes: np.ndarray, rows: dict[str, int]) -> Template:
    """Returns a template with other rows of types, and rows of terms that begin behind these."""
    terms = {
        kind: Terms(own.atoms, (own.parameter + rows[kind]).astype(np.int32)) for kind, own in template.terms.items()
    }
    return replace(template, type=codes[template.type], terms=terms)


def _joined(one: Tables, other: Tables, table: CharmmParameters) -> Tables:
    """Returns both force fields, the types and rows of the first as they are."""
    new = [row for row, name in enumerate(other.type_name) if name not in one.type_name]
    names = [*one.type_name, *(other.type_name[row] for row in new)]
    found, row_of = table.nbfix(names), {name: row for row, name in enumerate(names)}
    return Tables(
        type_name=names,
        type_lj=np.concatenate([one.type_lj, other.type_lj[new]]),
        nbfix_types=np.array([(row_of[a], row_of[b]) for a, b in found], np.int32).reshape(-1, 2),
        nbfix_lj=np.array([values[:2] for values in found.values()]).reshape(-1, 2),
        tables={kind: np.concatenate([one.table(kind), other.table(kind)]) for kind in FORCE_FIELD_COLUMNS},
        cmap=one.cmap,
    )
