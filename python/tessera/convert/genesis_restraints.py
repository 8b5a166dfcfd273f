"""Translates [SELECTION] and [RESTRAINTS] of GENESIS, and its files of local restraints.

GENESIS' energies are k·d² without a factor ½ (user guide, Restraints section), as ours are. Atoms are counted from 1.
"""

from __future__ import annotations

import re
from pathlib import Path

from tessera.convert.model import Option, Setting, Translation, Value
from tessera.convert.shared import MOST_ROWS, bonded_restraints
from tessera.prepare.text import read_text
from tessera.select.grammar import Grammar, NoCounterpartError

_WHOLE = {
    "hydrogen": "name H*", "hydrogenatom": "name H*", "heavy": "not name H*", "heavyatom": "not name H*",
    "backbone": "name N CA C O", "backboneatom": "name N CA C O", "all": "all", "*": "all",
}  # fmt: skip
#: words of GENESIS with an argument, and ours; those of numbers take a range
_NAMES = {
    "an": "name", "atomname": "name", "atom_name": "name", "rnam": "resname", "resname": "resname",
    "residuename": "resname", "sid": "segid", "segid": "segid", "segmentid": "segid",
}  # fmt: skip
_NUMBERS = {
    "ai": "bynum", "atomidx": "bynum", "atomindex": "bynum", "ano": "bynum", "atomno": "bynum", "rno": "resid",
    "resno": "resid", "residueno": "resid",
}  # fmt: skip
_LOCAL = {"bond": ("distance", 2), "angl": ("angle", 3), "dihe": ("dihedral", 4)}


class _Selections(Grammar):
    either, both, negations = ("or", "|"), ("and", "&"), ("not", "!")

    def term(self, word: str) -> str:
        if word.lower() in _WHOLE:
            found = _WHOLE[word.lower()]
            return f"({found})" if found.startswith("not") else found
        name, separator, argument = word.partition(":")
        if separator and name.lower() in _NAMES and re.fullmatch(r"[\w*'+-]+", argument):
            return f"{_NAMES[name.lower()]} {argument}"
        if separator and name.lower() in _NUMBERS and (match := re.fullmatch(r"(\d+)(?:-(\d+))?", argument)):
            return f"{_NUMBERS[name.lower()]} {match[1]}:{match[2] or match[1]}"
        raise NoCounterpartError(word)


def selection_of(text: str) -> str:
    """Returns a selection in the language of MDAnalysis. Raises `NoCounterpartError` with the word that has none."""
    words = re.findall(r"[()&|!]|[^\s()&|!]+", re.sub(r":\s+", ":", text))
    found, rest = _Selections().parsed(words)
    if rest:
        raise NoCounterpartError(rest[0])
    return found


def translate(t: Translation, places: Value | None, coordinates: str) -> None:
    """Translates restraints. `places` is the file of their reference, `coordinates` that of the run."""
    held = _of_functions(t, places, coordinates)
    if places is not None and not held:
        t.ignore(places, "nothing is restrained to it")
    for value in t.values("input.localresfile"):
        _local(t, value)


def _of_functions(t: Translation, places: Value | None, coordinates: str) -> bool:
    """Returns whether atoms are held at places."""
    options: dict[int, dict[str, Value]] = {}
    for option in t.options:
        section, _, name = option.name.partition(".")
        if section != "restraints":
            continue
        value = t.value_of(option)
        match = re.fullmatch(r"([a-z_]+?)(\d+)", name)
        if match:
            options.setdefault(int(match[2]), {})[match[1]] = value
        elif name in ("pressure_position", "pressure_rmsd") and not value.flag():
            t.agree(value)
        elif name == "nfunctions":
            t.follow("restraint", value) if value.count() else t.agree(value)
        else:
            t.refuse(value, "restraints whose forces count in the pressure are not supported")
    functions = t.value("restraints.nfunctions")
    count, held = functions.count(), False
    if absent := [number for number in range(1, min(count, MOST_ROWS) + 1) if number not in options]:
        t.refuse(functions, f"function {absent[0]} is not given")
    for number, found in sorted(options.items()):
        if not 1 <= number <= count:
            for value in found.values():
                t.ignore(value, f"nfunctions is {count}")
        else:
            held |= _function(t, found, places, coordinates)
            for value in found.values():
                if value.option is not None and not t.is_known(value.option):
                    t.refuse(value, "belongs to a restraint that is refused")
    return held


def _function(t: Translation, found: dict[str, Value], places: Value | None, coordinates: str) -> bool:
    kind = found.get("function")
    word = kind.text.upper() if kind else "POSI"
    if word != "POSI":
        for value in found.values():
            t.refuse(value, "known here: POSI; write [[restraint]] for others, and remove them here")
        return False
    missing = [name for name in ("constant", "select_index") if name not in found]
    given = list(found.values())
    if missing:
        t.refuse(given[0], f"{missing[0]} of this function is not given")
        return False
    group = _group(t, found["select_index"])
    strength, direction = found["constant"], found.get("direction")
    axes = direction.text.lower() if direction else "all"
    other = [value for name, value in found.items() if name == "exponent" and value.number() != 2]
    if axes not in ("all", "x", "y", "z"):
        raise direction.wrong("ALL, X, Y or Z")  # type: ignore[union-attr]
    if len(strength.text.split()) > 1:
        t.refuse(strength, "a constant for each replica: expected one number")
    elif other:
        t.refuse(other[0], "expected 2")
    elif not strength.number():
        t.agree(*given, note="no force")
    elif strength.number() < 0:
        raise strength.wrong("a number of at least 0")
    elif group:
        text, option = group
        origins = [value for name, value in found.items() if name != "reference"]
        comment = t.follow("restraint", *origins, t.value_of(option))
        row = {"kind": Setting("position", comment), "select": Setting(text, ""), "k": Setting(strength.number(), "")}
        if axes != "all":
            row["axes"] = Setting(axes, "")
        own = places is None or places.text == coordinates
        row["reference"] = Setting(t.system if own else places.text, "")  # type: ignore[union-attr]
        if places is not None:
            t.follow("restraint.reference", places)
        t.tables.append(("restraint", row))
        if "reference" in found:
            t.ignore(found["reference"], "the places are those of reffile")
        return True
    return False


def _group(t: Translation, index: Value) -> tuple[str, Option] | None:
    """Returns the selection of a group and its option; none where it has no counterpart, which is refused."""
    name = f"selection.group{index.count()}" if len(index.text.split()) == 1 else ""
    if not t.has(name):
        t.refuse(index, "expected the number of a group in [SELECTION]")
        return None
    option = next(option for option in t.options if option.name == name)
    try:
        return selection_of(option.text), option
    except NoCounterpartError as error:
        t.refuse(t.value_of(option), f"{error} has no counterpart: write [[restraint]], and remove it here")
        t.refuse(index, f"the group is not understood, since {error} has no counterpart")
        return None


def _local(t: Translation, value: Value) -> None:
    """Makes rows of a file with lines such as DIHEDRAL 36 25 28 30 250 120.0."""
    path = (t.folder or Path()) / value.text
    if not path.is_file():
        t.refuse(value, "restraints are in this file: put it beside, or remove the line")
        return
    rows = bonded_restraints(
        path.name, read_text(path), t.program, lambda word: _LOCAL.get(word[:4], ("", 0)), 1,
        words="BOND, ANGLE or DIHEDRAL", what="restraints",
    )  # fmt: skip
    if rows:
        comment = t.follow("restraint", value)
        rows[0]["kind"] = Setting(rows[0]["kind"].value, comment)
        t.tables += [("restraint", row) for row in rows]
    else:
        t.agree(value, note="no force")
