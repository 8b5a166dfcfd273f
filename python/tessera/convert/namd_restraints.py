"""Translates what holds atoms in NAMD: constraints by a column of a PDB, extra bonds, and collective variables without
force.

NAMD's energies are k·d² without a factor ½ (user's guide, Harmonic restraints and Extra bond, angle, and dihedral
terms), as ours are. Atoms of extra bonds are counted from 0.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from tessera.convert import namd_script
from tessera.convert.model import Setting, Translation, Value
from tessera.convert.shared import MOST_ROWS, bonded_restraints
from tessera.errors import InputError
from tessera.prepare.numbering import selection_of

OPTIONS = {
    "constraints": "off", "consexp": "2", "consref": "", "conskfile": "", "conskcol": "O", "constraintscaling": "1.0",
    "selectconstraints": "off", "selectconstrx": "off", "selectconstry": "off", "selectconstrz": "off",
    "extrabonds": "off", "extrabondsfile": "", "colvars": "off", "colvarsconfig": "",
}  # fmt: skip
_COLUMNS = {"x": (30, 38), "y": (38, 46), "z": (46, 54), "o": (54, 60), "b": (60, 66)}  # of a PDB
_EXTRA = {"bond": ("distance", 2), "angle": ("angle", 3), "dihedral": ("dihedral", 4), "improper": ("dihedral", 4)}


def translate(t: Translation) -> None:
    """Translates restraints."""
    for switch, act in (("constraints", _constraints), ("extrabonds", _extra_bonds), ("colvars", _variables)):
        on = t.value(switch)
        if on.flag():
            act(t, on)
        elif on.is_given:
            t.agree(on)
    for option in t.options:
        if option.name in OPTIONS and not t.is_known(option):
            t.ignore(t.value_of(option), "belongs to an option that is off or refused")


def _text(t: Translation, value: Value) -> str | None:
    """Returns the text of a file that the script has made, or that is beside; none where there is no such file."""
    return namd_script.file_of(t.folder, t.options[0].file, value.text) if t.folder else None


def _constraints(t: Translation, on: Value) -> None:
    names = ("conskfile", "consref", "conskcol", "constraintscaling", "consexp", "selectconstraints")
    file, places, column, scale, power, select = (t.value(name) for name in names)
    text = _text(t, file) if file.is_given else None
    if power.number() != 2:
        t.refuse(power, "expected 2")
    elif column.plain not in _COLUMNS:
        raise column.wrong("X, Y, Z, O or B")
    elif text is None:
        why = "is not beside" if file.is_given else "(conskfile) is not given"
        t.refuse(on, f"restraints of positions, whose file of constants {why}: put it there, or write [[restraint]]")
    else:
        parts = [t.value(f"selectconstr{axis}") for axis in "xyz"]
        axes = "xyz"
        if select.flag():
            axes = "".join(axis for axis, part in zip("xyz", parts, strict=True) if part.flag())
            if not axes:
                raise select.wrong("selectConstrX, Y or Z")
        held = _constants(file, text, *_COLUMNS[column.plain])
        used = [value for value in (file, places, column, scale, power, select, *parts) if value.is_given]
        if not held or not scale.number():
            t.agree(on, *used, note="no force")
            return
        note = "the places are those of the system file; NAMD's are those of consref"
        comment = t.follow("restraint", on, *used, note=note)
        t.note(f"constraints: {note}")
        for k, atoms in held.items():
            row = {"kind": Setting("position", comment), "select": Setting(selection_of(np.array(atoms)), "")}
            row["k"] = Setting(float(f"{k * scale.positive():.9g}"), "")
            row |= {"axes": Setting(axes, "")} if axes != "xyz" else {}
            t.tables.append(("restraint", row | {"reference": Setting(t.system, "")}))


def _constants(file: Value, text: str, begin: int, end: int) -> Mapping[float, list[int]]:
    """Returns the atoms by their constants, which stand in columns of a PDB, without those that are 0."""
    held: dict[float, list[int]] = defaultdict(list)
    atoms = [line for line in text.splitlines() if line.startswith(("ATOM", "HETATM"))]
    if not atoms:
        raise InputError(f"{file.text}: expected a PDB")
    for n, line in enumerate(atoms):
        where = f"{file.text}: atom {n + 1}"
        k = Value(where, line[begin:end].strip() or "0", None, "NAMD").number()
        if k < 0:
            raise InputError(f"{where}: expected a constant of at least 0, found {k:g}")
        if k:
            held[k].append(n)
    if len(held) > MOST_ROWS:
        raise InputError(f"{file.text}: more than {MOST_ROWS} different constants")
    return held


def _extra_bonds(t: Translation, on: Value) -> None:
    files = t.values("extrabondsfile")
    if not files:
        t.refuse(on, "extra bonds whose file is not given")
    for file in files:
        text = _text(t, file)
        if text is None:
            t.refuse(file, "extra bonds are in this file: put it beside, or write [[restraint]]")
            continue
        rows = bonded_restraints(
            file.text, text, "NAMD", lambda word: _EXTRA.get(word, ("", 0)), 0,
            words="bond, angle, dihedral or improper", what="extra bonds",
        )  # fmt: skip
        if rows:
            rows[0]["kind"] = Setting(rows[0]["kind"].value, t.follow("restraint", file))
        else:
            t.agree(file, note="no force")
        t.tables += [("restraint", row) for row in rows]
    if files:
        t.agree(on)


def _variables(t: Translation, on: Value) -> None:
    """Refuses collective variables, but for harmonic ones whose constants are 0."""
    file = t.value("colvarsconfig")
    text = _text(t, file) if file.is_given else None
    blocks = set(re.findall(r"^(\w+)\s*\{", text or "", re.MULTILINE))
    constants = re.findall(r"forceConstant\s+(\S+)", text or "", re.IGNORECASE)
    is_weak = bool(constants) and all(re.fullmatch(r"0*\.?0*", word) for word in constants)
    if text is not None and blocks <= {"colvar", "harmonic"} and is_weak:
        t.agree(on, file, note="all constants are 0")
    else:
        t.refuse(on, "collective variables: not supported")
