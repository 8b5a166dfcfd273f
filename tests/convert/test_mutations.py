"""Converts inputs that are changed at random: the effect is the one that is known, or they are refused."""

from __future__ import annotations

import math
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tessera.convert.model import Translation
from tessera.convert.programs import PROGRAMS
from tessera.errors import InputError
from tests.convert.converted import changes, conversion
from tests.convert.mutations import FORMATS, Mutant, mutant

_FEW, _MANY = 250, 25_000  # of each of four programs


def keys_of(program: str, text: str) -> dict[str, Any] | None:
    """Returns the keys of the run file with their values; none where the input is refused."""
    entry = PROGRAMS[program]
    try:
        translation = Translation(program, "", entry.options(text, "input", Path()), entry.defaults, lenient=True)
        entry.translate(translation, {})
    except InputError:
        return None
    if any(row.status == "refused" for row in translation.rows()):
        return None
    return {name: setting.value for name, setting in translation.keys.items()}


def wrong(before: dict[str, Any], after: dict[str, Any] | None, change: Mutant) -> str:
    """Returns what is wrong with the outcome of a change; empty where nothing is."""
    if change.effect is None or after is None:
        return "" if change.effect is None and after is None else f"{'not ' * (after is not None)}refused"
    found = changes(before, after)
    for key, value in change.effect.items():
        if not math.isclose(after[key], value, rel_tol=1e-6):
            return f"{key} = {after[key]}, expected {value}"
    more = set(found) - set(change.effect)
    return f"{sorted(more)} changed too" if more else ""


def _run(program: str, number: int, seed: int) -> None:
    chance = random.Random(f"{program} {seed}")
    before = keys_of(program, FORMATS[program].text)
    assert before
    failures: dict[str, str] = {}
    for _ in range(number):
        change = mutant(program, chance)
        if told := wrong(before, keys_of(program, change.text), change):
            failures[change.what] = told
    assert not failures, f"{len(failures)} of {number}: {dict(list(failures.items())[:20])}"


@pytest.mark.parametrize("program", FORMATS)
def test_changes_at_random(program: str) -> None:
    _run(program, _FEW, 1)


@pytest.mark.slow(part="fuzz")
@pytest.mark.parametrize("program", FORMATS)
def test_many_changes_at_random(program: str) -> None:
    _run(program, _MANY, 2)


def test_the_whole_conversion_says_the_same(tmp_path: Path) -> None:
    """The keys that are compared above are those that the run file has."""
    for program, form in FORMATS.items():
        found = tomllib.loads(conversion(tmp_path, "input", form.text, source=program).text)
        keys = keys_of(program, form.text)
        assert keys is not None
        for name, value in keys.items():
            section, _, key = name.partition(".")
            assert found[section][key] == value


def test_wrong_effects_are_found() -> None:
    before = {"a.b": 1.0, "a.c": 2.0}
    assert wrong(before, {"a.b": 3.0, "a.c": 2.0}, Mutant("", "", {"a.b": 3.0})) == ""
    assert wrong(before, {"a.b": 3.0, "a.c": 2.0}, Mutant("", "", {"a.b": 4.0})) == "a.b = 3.0, expected 4.0"
    assert wrong(before, {"a.b": 3.0, "a.c": 9.0}, Mutant("", "", {"a.b": 3.0})) == "['a.c'] changed too"
    assert wrong(before, before, Mutant("", "", None)) == "not refused" and wrong(before, None, Mutant("", "", {}))
