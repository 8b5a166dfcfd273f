"""Makes the tables of docs/guide/from: options of other programs, what each becomes in a run file, and the defaults of
both.

They follow from what `tessera convert` and `tessera prepare dlpoly` do with the settings in `probes`, and from their
lists of options that are refused or have no meaning here.
"""

from __future__ import annotations

import inspect
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import probes

from bench.common.results import table
from tessera.convert import PROGRAMS
from tessera.convert.model import Changed, Option, Translation
from tessera.convert.programs import Program
from tessera.prepare.dlpoly.control import read_control
from tessera.prepare.dlpoly.control_keys import UNUSED
from tessera.prepare.dlpoly.control_model import Control
from tessera.prepare.dlpoly.control_new import DIRECTIVES, REFUSED
from tessera.prepare.dlpoly.lines import Line
from tessera.prepare.dlpoly.run_file import run_file_of
from tessera.prepare.openmm.forces import NO_INTERACTION, READERS
from tessera.settings import toml_value

Keys = dict[str, list[str]]  # keys of the run file by option


def translated(name: str, case: Mapping[str, str]) -> Translation:
    """Returns what becomes of these settings, beside those that each case has."""
    given = {key: text for key, text in {**probes.BASE[name], **case}.items() if text}
    options = [Option(key, text, "a file", line) for line, (key, text) in enumerate(given.items(), 1)]
    found = Translation(name, "", options, PROGRAMS[name].defaults, lenient=False)
    PROGRAMS[name].translate(found, {"restraintmask": "name CA"})
    refused = [row for row in found.rows() if row.status == "refused"]
    if refused:
        raise ValueError(f"{name}: {refused[0].option} = {refused[0].value} is refused: {refused[0].note}")
    return found


def keys_of(name: str) -> tuple[Keys, list[list[str]]]:
    """Returns the keys that follow from each option in any case, and rows for options that are words or codes: the
    option, what it becomes, and what is said of that."""
    keys: Keys = {}
    words: dict[str, list[str]] = {}
    for case in probes.CASES[name]:
        found = translated(name, case)
        for row in found.rows():
            own = row.key.split(", ") if row.key else []
            keys[row.option] = list(dict.fromkeys([*keys.get(row.option, []), *own]))
            if row.line is not None and _is_word(row.value):
                became = [_assignment(key, found.keys[key].value) for key in own if key in found.keys]
                if any(text.endswith(('"', "true", "false")) for text in became):
                    said = f"`{row.option} = {row.value}`"
                    words.setdefault(said, [said, _code(became), row.note])
    return {option: own for option, own in keys.items() if own}, list(words.values())


def _is_word(text: str) -> bool:
    """Tells whether a value is a word, or a small whole number such as AMBER's codes, but no quantity."""
    return bool(text) and all(word[0].isalpha() or re.fullmatch(r"1?\d", word) for word in text.split())


def _assignment(key: str, value: Any) -> str:
    return f"{key.partition('.')[2]} = {toml_value(key, value)}"


def _code(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _default(default: str | Changed) -> str:
    return default.told() if isinstance(default, Changed) else f"`{default}`" if default else ""


def defaults_of(schema: Mapping[str, Any]) -> dict[str, str]:
    """Returns Tessera's defaults by section.key, as a run file has them with their units."""
    found = {}
    for section in schema["sections"]:
        for key in section["keys"]:
            if key["default"] is not None:
                name = f"{section['name']}.{key['name']}"
                unit = "" if isinstance(key["default"], str) else key["unit"]
                found[name] = f"{toml_value(name, key['default'])} {unit}".strip()
    return found


def _options(program: Program, keys: Keys, ours: Mapping[str, str]) -> str:
    order = [*program.defaults, *(option for option in keys if option not in program.defaults)]
    rows = []
    for option in order:
        if option in keys:
            own = [_code([ours[key]]) if ours.get(key) else "" for key in keys[option]]
            there = _default(program.defaults.get(option, ""))
            rows.append([f"`{option}`", there, _code(keys[option]), ", ".join(filter(None, dict.fromkeys(own)))])
    return table([f"{program.title}", "its default", "key of the run file", "default here"], rows)


def _grouped(named: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for option, what in named.items():
        found.setdefault(what, []).append(option)
    return found


def _refused(program: Program) -> str:
    rows = [[what, _code(names)] for what, names in _grouped(program.refused).items()]
    return table(["refused, unless it is off", "options"], rows)


def _ignored(program: Program) -> str:
    rows = [[why, _code(dict.fromkeys(names.split()))] for why, names in program.ignored.items()]
    return table(["without meaning here, because", "options"], rows)


def of_program(name: str, ours: Mapping[str, str]) -> dict[str, str]:
    """Returns the tables of a program that `tessera convert` knows, by the names of their places on the page."""
    program = PROGRAMS[name]
    keys, words = keys_of(name)
    return {
        "from_words": table([program.title, "here", "note"], words),
        "from_options": _options(program, keys, ours),
        "from_refused": _refused(program),
        "from_ignored": _ignored(program),
    }


def _run_file(control: Mapping[str, str]) -> dict[str, Any]:
    """Returns the keys of the run file that a CONTROL becomes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "CONTROL"
        path.write_text("".join(f"{key} {value}\n" for key, value in control.items()))
        text = run_file_of(read_control(path), "system.tsr", has_velocities=True, periodic=True, frozen="")
    sections = tomllib.loads(text)
    return {f"{section}.{key}": value for section, own in sections.items() for key, value in own.items()}


def _default_of(directive: str, value: str) -> str:
    """Returns what holds in DL_POLY where a directive is not given, in Å, ps, K and bar; empty where it must be."""
    plain, found = Control("CONTROL", timestep=0.001), Control("CONTROL", timestep=0.001)
    DIRECTIVES[directive](found, Line(f"{directive} {value}", "CONTROL", 1))
    changed = [one.name for one in fields(plain) if getattr(plain, one.name) != getattr(found, one.name)]
    if not changed:
        raise ValueError(f"dl_poly: {directive} {value} is the default: give another value as the last case")
    default = getattr(plain, changed[0])
    if isinstance(default, bool):
        return "`ON`" if default else "`OFF`"
    return f"`{default:g}`" if isinstance(default, float | int) and default else f"`{default}`" if default else ""


def of_dl_poly(ours: Mapping[str, str]) -> dict[str, str]:
    """Returns the tables of DL_POLY's CONTROL."""
    rows, words = [], []
    for directive, cases in probes.CONTROL_CASES.items():
        made = [_run_file({**probes.CONTROL, **beside, directive: value}) for value, beside in cases]
        before = [_run_file({**probes.CONTROL, **beside}) for _, beside in cases]
        keys = [key for old, new in zip(before, made) for key in new if new[key] != old.get(key)]
        for (value, _), new in zip(cases, made):
            if _is_word(value):
                became = [_assignment(key, new[key]) for key in dict.fromkeys(keys) if key in new]
                words.append([f"`{directive} {value}`", _code(became)])
        own = [_code([ours[key]]) for key in dict.fromkeys(keys) if ours.get(key)]
        rows.append(
            [f"`{directive}`", _default_of(directive, cases[-1][0]), _code(dict.fromkeys(keys)), ", ".join(own)]
        )
    missing = [key for key in DIRECTIVES if key not in probes.CONTROL_CASES and not key.startswith("io_file")]
    if missing:
        raise ValueError(f"dl_poly: no case of {missing[0]}")
    refused = [[f"`{key}`", _code(allowed) or "–"] for key, allowed in REFUSED.items()]
    return {
        "from_words": table(["DL_POLY", "here"], words),
        "from_options": table(["DL_POLY, new style", "its default", "key of the run file", "default here"], rows),
        "from_refused": table(["refused", "but for"], refused),
        "from_ignored": ", ".join(f"`{key}`" for key in sorted(UNUSED)),
    }


def of_openmm() -> dict[str, str]:
    """Returns the tables of OpenMM's forces."""
    read = [[f"`{name}`", _first_line(inspect.getdoc(reader) or "")] for name, reader in READERS.items()]
    return {
        "from_forces": table(["force", "what is read of it"], read),
        "from_others": table(["in the System", "here"], [[f"`{name}`", why] for name, why in NO_INTERACTION.items()]),
    }


def _first_line(text: str) -> str:
    return " ".join(text.split("Raises")[0].split())


def tables(schema: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Returns the tables of each page of docs/guide/from, by the page's name. `schema` is the engine's."""
    ours = defaults_of(schema)
    return {name: of_program(name, ours) for name in probes.BASE} | {"dl_poly": of_dl_poly(ours), "openmm": of_openmm()}
