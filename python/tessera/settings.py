"""The settings of a `Simulation`: sections of a run file as Python has them, as the text that the engine reads."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tessera.errors import InputError
from tessera.files import read_regular

Settings = Mapping[str, Mapping[str, Any] | Sequence[Mapping[str, Any]]]


@contextlib.contextmanager
def without_lines() -> Iterator[None]:
    """Leaves lines that nobody wrote out of what the engine says of settings."""
    try:
        yield
    except InputError as error:
        raise InputError(re.sub(r"\bsettings:\d+: ", "", str(error))) from None


def sections_of(settings: Any) -> Settings:
    """Returns the sections that are given, or those of a run file, with its paths as seen from here. Raises
    `InputError`."""
    if settings is None or isinstance(settings, Mapping):
        return settings or {}
    if not isinstance(settings, str | os.PathLike):
        raise InputError(f"settings is {settings!r}; expected sections of a run file, or the path of one")
    path = Path(settings)
    try:
        found = tomllib.loads(read_regular(path).decode())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} can't be read as a run file: {error}") from None
    if "stage" in found:
        raise InputError(f"{path} has stages, and a Simulation is one run: give the settings.toml in a stage's folder")
    sections = {name: dict(keys) if isinstance(keys, dict) else keys for name, keys in found.items()}
    tables = [(sections.get(name), key) for name, key in (("input", "start"), ("output", "folder"))]
    tables.append((sections.get("parallel"), "machine"))
    if isinstance(rows := sections.get("restraint"), list):
        tables += [(row, "reference") for row in rows]
    for table, key in tables:
        if isinstance(table, dict) and isinstance(table.get(key), str) and table[key]:
            table[key] = os.fspath(path.parent / table[key])
    if isinstance(sections.get("input"), dict):
        sections["input"].pop("system", None)  # the first argument stands for it
    return sections


def input_of(system: Any, settings: Settings, start: str | os.PathLike[str] | None) -> tuple[str, bytes]:
    """Returns the text of a run file, and the image of a system that is no file."""
    from tessera.system import System, image

    sections: dict[str, Any] = {
        name: dict(keys) if isinstance(keys, Mapping) else keys for name, keys in settings.items()
    }
    if isinstance(sections.get("output", {}), dict):
        sections.setdefault("output", {}).setdefault("progress", "none")
    inputs = sections.setdefault("input", {})
    if isinstance(inputs, dict) and "system" in inputs:
        raise InputError("settings name input.system; expected the system as the first argument alone")
    data = b""
    if isinstance(system, System):
        data, name = image(system), "system"
    elif isinstance(system, str | os.PathLike):
        name = os.fspath(system)
    else:
        raise InputError(f"system is {system!r}; expected the path of a system file, or a tessera.system.System")
    if isinstance(inputs, dict):
        inputs["system"] = name
        if start is not None:
            inputs["start"] = start
    try:
        return _toml(sections), data
    except RecursionError:
        raise InputError("the settings are too deep, expected sections of keys") from None


def selections_of(system: Any, wanted: list[tuple[str, str]]) -> str:
    """Returns the content of a file with the atoms of these selections; empty where there are none."""
    from tessera.select.resolve import file_text, resolve
    from tessera.system import System, read

    if not wanted:
        return ""
    whole = system if isinstance(system, System) else read(Path(system))
    return file_text(whole.n_atoms, resolve(whole, wanted))


def _is_repeated(keys: Any) -> bool:
    """Tells whether a section is a list of tables."""
    return isinstance(keys, list | tuple) and bool(keys) and all(isinstance(row, Mapping) for row in keys)


def _toml(sections: Mapping[str, Any], inside: str = "") -> str:
    """Returns sections, or the keys of the section `inside` with its lists of tables, as TOML."""
    said, header = (f"{inside}.", f"{_key(inside)}.") if inside else ("", "")
    is_table = {name: _is_repeated(keys) or (not inside and isinstance(keys, dict)) for name, keys in sections.items()}
    lines = [
        f"{_key(name)} = {toml_value(f'{said}{name}', value)}\n"
        for name, value in sections.items()
        if not is_table[name]
    ]
    for name, keys in sections.items():
        if _is_repeated(keys):
            for number, row in enumerate(keys):
                values = (f"{_key(key)} = {toml_value(f'{said}{name}.{number}.{key}', row[key])}\n" for key in row)
                lines += [f"[[{header}{_key(name)}]]\n", *values]
        elif is_table[name]:
            lines.append(f"[{_key(name)}]\n{_toml(keys, name)}")
    return "".join(lines)


def _key(name: Any) -> str:
    return _text("a key", str(name))


def _text(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} is {value!r}; expected a text in UTF-8") from None
    return json.dumps(value, ensure_ascii=False)


def toml_value(name: str, value: Any) -> str:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InputError(f"{name} is a whole number of more than 64 bits; expected a smaller one")
        return str(value)
    if isinstance(value, os.PathLike):
        value = os.fsdecode(value)
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(name, element) for element in value)}]"
    raise InputError(f"{name} is {value!r}; expected a number, a text, true or false, or a list of numbers")
