"""Reads what OpenMM's XmlSerializer writes of a System, an Integrator or a State, without OpenMM and without the atoms.

Attributes become options, called TYPE.attribute (of the second force of a type, TYPE#2.attribute); elements that hold
atoms become one option, whose text is their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from xml.parsers import expat

from tessera.convert.model import Option
from tessera.errors import InputError

ROOTS = ("System", "Integrator", "State")
_FORCE_DEPTH = 2  # of Force below System and Forces


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Option] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.path: list[str] = []
        self.types: Counter[str] = Counter()
        self.children: list[tuple[str, int, int]] = []  # name, line and number of elements of those that are open

    def options(self, text: str) -> list[Option]:
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InputError(f"{self.file}:{error.lineno}: no XML: {expat.ErrorString(error.code)}") from None
        return self.found

    def refuse_doctype(self, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        raise InputError(f"{self.file}:{line}: expected what OpenMM's XmlSerializer writes, found a DOCTYPE")

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        line, depth = self.parser.CurrentLineNumber, len(self.path)
        if depth == 0:
            if name not in ROOTS or "type" not in attributes:
                raise InputError(
                    f"{self.file}:{line}: expected a System, an Integrator or a State of OpenMM, found {name[:60]}"
                )
            self._note_attributes(name, attributes, line)
        elif depth == _FORCE_DEPTH and self.path == ["System", "Forces"]:
            self._note_force(attributes, line)
        elif depth == 1 and self.path[0] in ROOTS and name != "Forces":
            self.children.append((f"{self.path[0]}.{name}", line, 0))
            for key, value in attributes.items():
                self.add(f"{self.path[0]}.{name}.{key}", value, line)
        elif depth == 2 and self.children:
            label, first, number = self.children.pop()
            self.children.append((label, first, number + 1))
        self.path.append(name)

    def end(self, _: str) -> None:
        self.path.pop()
        if len(self.path) == 1 and self.children:
            label, line, number = self.children.pop()
            self.add(label, str(number), line)

    def add(self, name: str, text: str, line: int) -> None:
        self.found.append(Option(name, " ".join(text.split()), self.file, line))

    def _note_attributes(self, label: str, attributes: Mapping[str, str], line: int) -> None:
        for key, value in attributes.items():
            self.add(f"{label}.{key}", value, line)

    def _note_force(self, attributes: Mapping[str, str], line: int) -> None:
        kind = attributes.get("type", "")
        if not kind:
            raise InputError(f"{self.file}:{line}: a Force without a type")
        self.types[kind] += 1
        n = self.types[kind]
        self._note_attributes(kind if n == 1 else f"{kind}#{n}", attributes, line)


def options(text: str, file: str) -> list[Option]:
    """Returns the options of a file. Raises `InputError` for what is no such XML."""
    return _Reader(file).options(text)
