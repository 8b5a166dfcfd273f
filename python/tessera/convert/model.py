"""Defines options of other programs, what becomes of each, and the run file that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tessera.errors import InputError

_LONG = 200  # characters of a value that a message quotes


@dataclass(frozen=True)
class Option:
    """An option as a file has it. `name` is spelled as the manual of the program spells it."""

    name: str
    text: str
    file: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Changed:
    """A default that is another one from a version on: (version, text), the oldest first, whose version is ""."""

    by_version: tuple[tuple[str, str], ...]

    def of(self, version: str) -> str:
        """Returns the default of a version; of the newest where the version is ""."""
        fits = [text for first, text in self.by_version if not version or not first or _key(first) <= _key(version)]
        return fits[-1]

    def told(self) -> str:
        """Says which version has which default."""
        return ", ".join(f"{text} from {first} on" if first else f"{text} at first" for first, text in self.by_version)


def brief(text: str) -> str:
    """Returns a text of a file for a message, which has no more than some lines."""
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][-+]?[0-9]+)?|[-+]?(nan|inf(inity)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Value:
    """The value of an option, given or by default. The functions raise `InputError` for what they do not expect."""

    name: str
    text: str
    option: Option | None  # none: a default
    program: str

    @property
    def is_given(self) -> bool:
        return self.option is not None

    @property
    def plain(self) -> str:
        return self.text.strip().lower()

    def wrong(self, expected: str) -> InputError:
        """Returns what to raise for a value that the program itself would not take."""
        where = self.option.where if self.option else self.program
        if self.option is None and not self.text:
            return InputError(f"{where}: {self.name} is not given, and it has no default: expected {expected}")
        return InputError(f"{where}: {self.name} = {brief(self.text)}: expected {expected}")

    def numbers(self, n: int | None = None) -> list[float]:
        """Returns the numbers, of which there must be `n` where that is given."""
        words = self.text.split()
        if not all(map(_NUMBER.fullmatch, words)):
            raise self.wrong("a number" if n == 1 else "numbers")
        try:
            found = [float(word.lower().replace("d", "e")) for word in words]
        except ValueError:
            raise self.wrong("a number" if n == 1 else "numbers") from None
        if any(not abs(number) < 1e300 for number in found) or (n is not None and len(found) != n):
            raise self.wrong(f"{n} finite numbers" if n != 1 else "a finite number")
        return found

    def number(self) -> float:
        return self.numbers(1)[0]

    def positive(self) -> float:
        """Returns a number above 0."""
        found = self.number()
        if found <= 0:
            raise self.wrong("a number above 0")
        return found

    def kelvin(self) -> float:
        """Returns a temperature, which is not negative."""
        found = self.number()
        if found < 0:
            raise self.wrong("a temperature of at least 0 K")
        return found

    def integer(self) -> int:
        number = self.number()
        if number != int(number):
            raise self.wrong("a whole number")
        if abs(number) >= 2**63:
            raise self.wrong("a whole number of at most 64 bits")
        return int(number)

    def count(self) -> int:
        """Returns a whole number that is not negative."""
        found = self.integer()
        if found < 0:
            raise self.wrong("a whole number, at least 0")
        return found

    def flag(self) -> bool:
        """Returns what a word such as yes or off says."""
        if self.plain in ("yes", "on", "true", "1", "y", "t", ".true."):
            return True
        if self.plain in ("no", "off", "false", "0", "n", "f", ".false."):
            return False
        raise self.wrong("yes or no")


@dataclass(frozen=True)
class Setting:
    """A key of the run file and where it comes from."""

    value: Any
    origin: str


@dataclass(frozen=True)
class Row:
    """What becomes of an option (`status`: docs/guide/converting.md). `line` is none for a default."""

    file: str
    line: int | None
    option: str
    value: str
    status: str
    key: str
    note: str

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Stage:
    """A part of a protocol: its name, its kind and the keys that it sets."""

    name: str
    kind: str = "dynamics"
    keys: dict[str, Setting] = field(default_factory=dict)
    restraints: list[dict[str, Setting]] | None = None  # none: those of the stage above
    baths: list[dict[str, Setting]] = field(default_factory=list)  # none: those of the stage above


@dataclass
class _Fate:
    status: str
    keys: list[str]
    notes: list[str]


_ORDER = ("ignored", "agrees", "translated", "replaced", "refused")  # the last of those said of an option counts


class Translation:
    """Hands out options and records what becomes of them.

    `defaults` are those of the program, by the manual's name. Where --lenient is given (`lenient`), what is refused and
    is no physics goes on. `folder` is where the files are that options name, `system` the path of the system file.
    """

    def __init__(
        self,
        program: str,
        version: str,
        options: Sequence[Option],
        defaults: Mapping[str, str | Changed],
        lenient: bool,
        folder: Path | None = None,
        system: str = "",
    ) -> None:
        self.program, self.version, self.lenient = program, version, lenient
        self.folder, self.system = folder, system
        self.continues = False  # a step of a protocol that goes on from the one before
        self.options = list(options)
        self.defaults = defaults
        self.keys: dict[str, Setting] = {}
        self.tables: list[tuple[str, dict[str, Setting]]] = []  # rows of [[bath]] and the like
        self.stages: list[Stage] = []
        self.notes: list[str] = []
        self.prepare: list[str] = []  # words of the command that makes the system
        self._fates: dict[int, _Fate] = {}
        self._defaults: dict[str, Row] = {}
        self._last = {option.name: option for option in options}
        self._asked = set(defaults)  # options that are known here

    def has(self, name: str) -> bool:
        self._asked.add(name)
        return name in self._last

    def value(self, name: str) -> Value:
        """Returns the value of an option; where it is not given, the program's default."""
        self._asked.add(name)
        if name in self._last:
            option = self._last[name]
            return Value(name, option.text, option, self.program)
        return self.default(name)

    def default(self, name: str) -> Value:
        """Returns the program's default of an option, with a note where versions differ and none is given. Raises
        `InputError` where the program has none."""
        if name not in self.defaults:
            files = ", ".join(dict.fromkeys(option.file for option in self.options))
            raise InputError(f"{files}: {name} is not given, and {self.program} has no default of it")
        default = self.defaults[name]
        if isinstance(default, Changed):
            if not self.version:
                text = f"{name} is not given, and its default changed: {default.told()}; the newest is taken"
                self.note(f"{text} (--from {self.program}@VERSION says which)")
            default = default.of(self.version)
        return Value(name, default, None, self.program)

    def values(self, name: str) -> list[Value]:
        """Returns all values of an option that may be given several times."""
        return [Value(name, option.text, option, self.program) for option in self.options if option.name == name]

    def value_of(self, option: Option) -> Value:
        return Value(option.name, option.text, option, self.program)

    def is_known(self, option: Option) -> bool:
        """Tells whether something became of an option already."""
        return id(option) in self._fates

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def set(self, key: str, value: Any, *origins: Value, note: str = "", replaced: bool = False) -> None:
        """Sets a key of the run file, section.name. `origins` are the options that it follows from; `replaced` tells
        that a method stands for another one of the same ensemble."""
        self.keys[key] = Setting(value, self.follow(key, *origins, note=note, replaced=replaced))

    def follow(self, key: str, *origins: Value, note: str = "", replaced: bool = False) -> str:
        """Records that a key follows from these options. Returns that as a comment."""
        for origin in origins:
            self._record(origin, "replaced" if replaced else "translated", key, note)
        said = [self._said(origin) for origin in origins]
        if replaced and note:
            self.note(note)
        return "; ".join([*dict.fromkeys(said), *([note] if note else [])])

    def setting(self, value: Any, *origins: Value, note: str = "") -> Setting:
        """Returns a value of a row or a stage with its origins as a comment."""
        return Setting(value, "; ".join([*dict.fromkeys(map(self._said, origins)), *([note] if note else [])]))

    def agree(self, *values: Value, note: str = "") -> None:
        """Records that these options ask for what a run does in any case."""
        for value in values:
            self._record(value, "agrees", "", note)

    def ignore(self, value: Value, note: str) -> None:
        """Records that an option has no meaning here."""
        self._record(value, "ignored", "", note)

    def refuse(self, value: Value, note: str, physics: bool = True) -> None:
        """Records that an option has no counterpart. One that is no physics is let through with --lenient."""
        if self.lenient and not physics:
            self._record(value, "ignored", "", f"{note} (let through by --lenient)")
            self.note(f"{self._said(value)}: {note}")
        else:
            self._record(value, "refused", "", note if physics else f"{note} (--lenient goes on without it)")

    def rows(self) -> list[Row]:
        """Returns what became of each option, in the order of the files, and then of the defaults that count."""
        found = []
        has_refused = any(fate.status == "refused" for fate in self._fates.values())
        for option in self.options:
            fate = self._fates.get(id(option)) or self._fates.get(id(self._last[option.name]))
            if fate is None:
                hangs = has_refused and option.name in self._asked
                why = "it hangs on another option, which is refused" if hangs else "this option is not known here"
                fate = _Fate("refused", [], [why])
            note = "; ".join(dict.fromkeys(note for note in fate.notes if note))
            text = (option.file, option.line, option.name, option.text, fate.status, ", ".join(fate.keys), note)
            found.append(Row(*text))
        return [*found, *self._defaults.values()]

    def _said(self, value: Value) -> str:
        if value.option:
            return f"{value.option.where} {value.name} = {value.text}"
        return f"{value.program}'s default {value.name} = {value.text}"

    def _record(self, value: Value, status: str, key: str, note: str) -> None:
        if value.option is None:
            before = self._defaults.get(value.name)
            keys = [*(before.key.split(", ") if before and before.key else []), *([key] if key else [])]
            status = "refused" if status == "refused" or (before and before.status == "refused") else "default"
            if keys or status == "refused":
                row = Row("", None, value.name, value.text, status, ", ".join(dict.fromkeys(keys)), note)
                self._defaults[value.name] = row
            return
        fate = self._fates.setdefault(id(value.option), _Fate(status, [], []))
        if _ORDER.index(status) > _ORDER.index(fate.status):
            fate.status = status
            if status == "refused":
                fate.notes.clear()
        if key and key not in fate.keys:
            fate.keys.append(key)
        if fate.status == status:
            fate.notes.append(note)
