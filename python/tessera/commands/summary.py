"""Describes a new system for the user of a command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.commands.peaks import memory_text
from tessera.printing import counted
from tessera.system import System
from tessera.system.box import describe_box
from tessera.system.layout import unit_templates
from tessera.system.model import BOND_KINDS, IdArray


def summary(system: System, path: Path, seconds: float) -> dict[str, Any]:
    """Returns a dictionary for `--json`, with lengths in Å, charge in e and time in s."""
    count = np.zeros(len(system.templates), np.int64)
    np.add.at(count, system.runs[:, 0], system.runs[:, 1])
    templates = [
        {
            "name": t.name,
            "atoms": t.n_atoms,
            "instances": int(c),
            "unit": bool(is_unit),
            "virtual_sites": len(t.virtual_sites),
            "rigid_water": t.rigid_water,
            "always_rigid": t.always_rigid,
            "flexible": t.flexible,
        }
        for t, c, is_unit in zip(system.templates, count, unit_templates(system), strict=True)
    ]
    return {
        "system": str(path),
        "atoms": system.n_atoms,
        "molecules": system.n_molecules,
        "templates": templates,
        "chains": dict(Counter(map(str, system.chain_name))),
        "box": system.box.tolist(),
        "periodic": system.periodic,
        "net_charge": round(system.net_charge(), 6) + 0.0,
        "rigid": _rigid(system, count),
        "terms": {k: v for k, v in system.term_counts().items() if v},
        "types": len(system.force_field.type_name),
        "nbfix": len(system.force_field.nbfix_types),
        "pair_potentials": {
            kind: system.force_field.pair_kind.count(kind) for kind in dict.fromkeys(system.force_field.pair_kind)
        },
        "lj_rule": system.lj_rule,
        "lj_modifier": system.lennard_jones.modifier,
        "lj_cutoff": system.lennard_jones.cutoff,
        "lj_switch": system.lennard_jones.switch,
        "lj_tail": system.lennard_jones.tail,
        "coulomb_source": system.coulomb_source,
        "velocities": system.velocity is not None,
        "notes": system.notes,
        "warnings": system.warnings,
        "seconds": round(seconds, 2),
    }


def describe(facts: dict[str, Any]) -> str:
    """Returns a few lines of text from the dictionary."""
    templates = facts["templates"]
    kinds = [(t["name"], t["instances"]) for t in templates if not t["unit"]] + list(facts["chains"].items())
    parts = [f"{name.strip() or '(blank)'} × {count:,}" for name, count in kinds[:6]]
    if len(kinds) > 6:
        parts.append(f"… {len(kinds) - 6} more")
    units = sum(t["unit"] for t in templates)
    terms = ", ".join(f"{name} {count:,}" for name, count in facts["terms"].items())
    return "\n".join(
        [
            f"{facts['system']}: {counted(facts['atoms'], 'atom')} in {counted(facts['molecules'], 'molecule')} "
            f"of {counted(len(kinds), 'kind')}",
            f"  kinds   {', '.join(parts)}",
            *([f"  units   {counted(units, 'kind')}, of which chains consist"] if units else []),
            f"  box     {_box_text(facts)}",
            f"  charge  {facts['net_charge']:+.4f} e",
            *([f"  rigid   {_rigid_text(facts['rigid'])}"] if not facts["terms"].keys().isdisjoint(BOND_KINDS) else []),
            f"  terms   {terms or 'none'}",
            *([f"  pairs   {_pairs_text(facts['pair_potentials'])}"] if facts["pair_potentials"] else []),
            f"  time    {facts['seconds']:.1f} s",
            *([f"  memory  {memory_text(facts['memory'])}"] if "memory" in facts else []),
            *(f"  note    {note}" for note in facts["notes"]),
            *(f"  WARNING {warning}" for warning in facts["warnings"]),
        ]
    )


def _rigid(system: System, count: IdArray) -> dict[str, int]:
    """Returns what a run holds rigid whose run file does not give `constraints` (h-bonds), and how much of it every run
    holds."""
    waters = bonds = flexible = always = 0
    for template, n in zip(system.templates, count.tolist()):
        waters += n * template.rigid_water
        always += n * (template.rigid_water and template.always_rigid)
        is_hydrogen = (template.atomic_number == 1) & (template.mass > 0)
        for kind in () if template.rigid_water else BOND_KINDS:
            terms = template.term(kind)
            # A bond of a unit with another one is none of a hydrogen.
            is_within: NDArray[np.bool_] = np.all((terms.atoms >= 0) & (terms.atoms < template.n_atoms), axis=1)
            terms = terms.chosen(is_within)
            held = is_hydrogen[terms.atoms].any(axis=1) & (template.mass[terms.atoms] > 0).all(axis=1)
            without_force = held & (system.force_field.table(kind)[terms.parameter, 0] == 0)
            held = without_force if template.flexible else held
            always += n * int(without_force.sum()) * template.always_rigid
            bonds += n * int(held.sum())
        flexible += n * template.flexible
    return {
        "waters": int(waters),
        "hydrogen_bonds": int(bonds),
        "flexible_molecules": int(flexible),
        "in_every_run": int(always),
    }


def _rigid_text(rigid: dict[str, int]) -> str:
    names = {"waters": "water", "hydrogen_bonds": "bond"}
    parts = [counted(n, names[kind]) for kind, n in rigid.items() if kind in names and n]
    if rigid["hydrogen_bonds"]:
        parts[-1] += " to hydrogen"
    others = rigid["waters"] + rigid["hydrogen_bonds"] - rigid["in_every_run"]
    when = f"{others:,} of them unless the run file gives constraints" if others else "in every run"
    when = "unless the run file gives constraints" if not rigid["in_every_run"] else when
    text = f"{', '.join(parts)}, {when}" if parts else "nothing"
    flexible = rigid["flexible_molecules"]
    return f"{text}; {counted(flexible, 'flexible molecule')} as in the input" if flexible else text


def _pairs_text(counts: dict[str, int]) -> str:
    parts = [f"{kind} for {counted(count, 'pair')} of types" for kind, count in counts.items()]
    return f"{', '.join(parts)}, in place of Lennard-Jones"


def _box_text(facts: dict[str, Any]) -> str:
    return describe_box(np.array(facts["box"])) if facts["periodic"] else "none: a vacuum, in which nothing repeats"
