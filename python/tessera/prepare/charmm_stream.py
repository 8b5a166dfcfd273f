"""Finds the topologies (`rtf`) and parameters (`para`) in CHARMM's files and in the files that these read, in the order
of reading.

A file holds one of them, or it is a stream: commands that read others (`stream`, `open … name`, `read`), or that are
followed by a topology or parameters in place, up to `END`; or it is a list of files, a name on each line, as CHARMM-GUI
writes for OpenMM. `append` is always meant: nothing read before is dropped, and a warning says where CHARMM would.
What a stream leaves to variables that only a running CHARMM knows (`?NATC`) is refused where anything depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tessera.errors import InputError
from tessera.files import real_path
from tessera.prepare.text import read_text, require_file

_MOST_FILES, _DEEPEST = 1000, 20  # against streams that read another twice, which reads another twice, …
_LONGEST_VALUE = 4096  # characters, against variables that double their own value repeatedly
#: first four letters of commands that change nothing here, but only CHARMM's printing and its reaction to errors
_QUIET = {"WRNL", "BOML", "PRNL", "IOFO", "FAST", "ECHO", "TITL", "CLOS", "UPPE", "LOWE", "DIME", "ENDI"}
_STREAM = {*_QUIET, "READ", "OPEN", "STRE", "SET", "IF", "RETU", "STOP", "ELSE", "GOTO", "LABE"}
_TOPOLOGY = {"MASS", "DECL", "DEFA", "AUTO", "RESI", "PRES"}
#: the sections of a parameter file by the first four letters of their heads
_SECTIONS = {
    "ATOM": "ATOMS", "BOND": "BONDS", "ANGL": "ANGLES", "THET": "ANGLES", "DIHE": "DIHEDRALS", "PHI": "DIHEDRALS",
    "IMPR": "IMPROPERS", "IMPH": "IMPROPERS", "CMAP": "CMAP", "NONB": "NONBONDED", "NBON": "NONBONDED",
    "NBFI": "NBFIX", "HBON": "HBOND", "THOL": "THOLE", "NBTH": "THOLE",
}  # fmt: skip
_WITH_OPTIONS = ("NONBONDED", "HBOND", "THOLE")  # sections whose heads have words behind them
_COMPARE = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "GT": lambda a, b: float(a) > float(b),
    "GE": lambda a, b: float(a) >= float(b),
    "LT": lambda a, b: float(a) < float(b),
    "LE": lambda a, b: float(a) <= float(b),
}
_PARAMETER_FILE = re.compile(r"\.(rtf|prm|str|par|inp|top)$", re.IGNORECASE)
_VARIABLE = re.compile(r"@\{(\w+)\}|@(\w+)")


@dataclass(frozen=True)
class Line:
    """One command or row: its words in their original case, and `file:line`."""

    words: list[str]
    where: str

    @property
    def command(self) -> str:
        """Returns the first four letters of the command, which are all that CHARMM compares."""
        return self.words[0][:4].upper()

    @property
    def section(self) -> str | None:
        """Returns the section of parameters that begins here, None for a row. A type may look like a head: a row ends
        with two numbers or more, but a head stands alone or before words, each with one number at most."""
        section = _SECTIONS.get(self.command)
        is_row = len(self.words) > 2 and all(map(_is_number, self.words[-2:]))
        return section if len(self.words) == 1 or (section in _WITH_OPTIONS and not is_row) else None

    def error(self, message: str) -> InputError:
        return InputError(f"{self.where}: {message}")


@dataclass(frozen=True)
class Card:
    """A topology (`rtf`) or parameters (`para`), without END."""

    kind: str
    name: str
    lines: list[Line]
    stops_at: int | None = None  # BOMLEV where CHARMM reads parameters without FLEX and stops at two that differ


@dataclass
class Reading:
    """What was read, and what is likely to be a mistake in the files that name it."""

    cards: list[Card] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: int = 0


def read_cards(paths: Sequence[str | Path]) -> Reading:
    """Reads all cards of the files, and of those that they read, in order.

    Raises `InputError` that names the file, and the line by which another file reads it.
    """
    reader = _Reader()
    for path in paths:
        reader.read(require_file(path, "parameter file"))
    return reader.reading


def lines_of(path: Path) -> list[Line]:
    """Returns lines with words, without titles (`*`) and comments (`!`); lines that end with `-` are joined with the
    next."""
    out: list[Line] = []
    words: list[str] = []
    where = ""
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        if text.lstrip().startswith("*"):
            continue
        more = text.split("!")[0].split()
        where = where if words else f"{path.name}:{number}"
        words += more
        if more and more[-1] == "-":
            words.pop()
            continue
        if words:
            out.append(Line(words, where))
            words = []
    if words:
        out.append(Line(words, where))
    return out


@dataclass
class _Stream:
    """The state of reading one stream."""

    path: Path
    lines: Iterator[Line]
    units: dict[str, str] = field(default_factory=dict)  # names of files by the units on which they are open
    ended: bool = False


class _Reader:
    def __init__(self) -> None:
        self.reading = Reading()
        self._variables: dict[str, str | None] = {}  # None: set to what only a running CHARMM knows
        self._open: list[Path] = []  # from the file on the command line to the one being read
        self._flexible = False  # whether a `read para` had FLEX, which stays in force
        self._commanded = False  # whether a `read para` was met
        self._bomb_level: int | None = 0  # BOMLEV; None where it is not known here

    def read(self, path: Path, asked: Line | None = None, kind: str | None = None, stops_at: int | None = None) -> None:
        """Reads a file of the kind that is asked for, else of the kind that it looks like."""
        resolved = real_path(path)
        if asked and resolved in self._open:
            raise asked.error(f"{path.name} reads itself: it is being read already")
        self.reading.files += 1
        if self.reading.files > _MOST_FILES:
            raise InputError(f"{self._open[0].name} reads more than {_MOST_FILES} files")
        if len(self._open) == _DEEPEST:
            raise InputError(f"{self._open[0].name} reads files that read files, more than {_DEEPEST} deep")
        self._open.append(resolved)
        lines = lines_of(path)
        if not lines:
            raise InputError(f"{path.name} holds nothing but comments")
        kind = kind or _kind(lines)
        if kind == "stream":
            self._stream(_Stream(path, iter(lines)))
        elif kind == "list":
            for line in lines:
                self.read(self._find(line, line.words[0]), line)
        else:
            rest = iter(lines)
            self.reading.cards.append(_card(kind, path.name, rest, stops_at))
            _refuse_rest(rest)
        self._open.pop()

    def _stream(self, stream: _Stream) -> None:
        for line in stream.lines:
            self._command(line, stream)
            if stream.ended:
                return

    def _command(self, line: Line, stream: _Stream) -> None:
        while line.command == "IF":
            then = self._if(line, stream)
            if then is None:
                return
            line = then
        command = line.command
        if command in ("RETU", "STOP") or (command == "END" and len(line.words) == 1):
            stream.ended = True
        elif command == "SET":
            self._set(line)
        elif command == "ELSE":  # the end of a block with a true condition
            self._skip_block(line, stream, at_else=False)
        elif command == "OPEN":
            self._open_unit(line, stream)
        elif command == "STRE":
            if len(line.words) != 2:
                raise line.error("expected `stream FILE`")
            self.read(self._find(line, line.words[1]), line)
        elif command == "READ":
            self._read_card(line, stream)
        elif command == "BOML":
            level = self._value(" ".join(line.words[1:]))
            self._bomb_level = int(float(level)) if level and _is_number(level) else None
        elif command not in _QUIET:
            raise line.error(
                f"{line.words[0]} is not understood; of CHARMM's commands, stream, open, read rtf, read para, set "
                "and if are"
            )

    def _set(self, line: Line) -> None:
        words = [w for w in line.words[1:] if w != "="]
        if not words:
            raise line.error("expected `set NAME VALUE`")
        value = self._value(" ".join(words[1:]))
        self._variables[words[0].upper()] = value

    def _value(self, text: str) -> str | None:
        """Returns the text with variables replaced, or None where one is not known here."""
        if "?" in text:
            return None
        names = [a or b for a, b in _VARIABLE.findall(text)]
        if any(self._variables.get(name.upper()) is None for name in names):
            return None
        value = _VARIABLE.sub(lambda m: self._variables[(m[1] or m[2]).upper()] or "", text)
        if len(value) > _LONGEST_VALUE:
            raise InputError(f"{self._open[-1].name} has a variable of more than {_LONGEST_VALUE} characters")
        return value

    def _if(self, line: Line, stream: _Stream) -> Line | None:
        """Returns the command of `if A eq B COMMAND` where it is to be carried out, and None for `if A eq B then` …
        `else` … `endif`."""
        if len(line.words) < 5 or line.words[2].strip(".").upper() not in _COMPARE:
            raise line.error("expected `if A eq B` and a command")
        first, operator, second, *rest = line.words[1:]
        result = self._compare(first, operator.strip(".").upper(), second)
        then = Line(rest, line.where)
        if result is None:
            self._undecided(line, then)
        elif then.command != "THEN":
            return then if result else None
        elif not result:
            self._skip_block(line, stream, at_else=True)
        return None

    def _compare(self, first: str, operator: str, second: str) -> bool | None:
        """Compares two values; returns None where one is only known to a running CHARMM. The first word may be the name
        of a variable without `@`."""
        known = self._variables.get(first.upper(), first) if "@" not in first else self._value(first)
        other = self._value(second)
        named = first.upper() in self._variables or "@" in first or first[:1] in "\"'" or _is_number(first)
        if known is None or other is None or "?" in known or not named:
            return None
        a, b = known.strip("\"'").upper(), other.strip("\"'").upper()
        if operator not in ("EQ", "NE") and not (_is_number(a) and _is_number(b)):
            return None
        if _is_number(a) and _is_number(b):
            a, b = str(float(a)), str(float(b))
        return bool(_COMPARE[operator](a, b))

    def _undecided(self, line: Line, then: Line) -> None:
        """Handles a command under an unknown condition. Messages are passed over, a variable becomes unknown, and other
        commands are refused."""
        while then.command == "IF" and len(then.words) > 4:
            then = Line(then.words[4:], then.where)
        if then.command == "SET" and len(then.words) > 1:
            self._variables[then.words[1].upper()] = None
        elif then.command not in _QUIET:
            raise line.error(
                f"what is read depends on {line.words[1]}, which is not known here; write a file that sets it "
                f"(`set {line.words[1].lstrip('@?')} VALUE`) and then streams {self._open[-1].name}, or that reads "
                "only what is needed"
            )

    @staticmethod
    def _skip_block(line: Line, stream: _Stream, at_else: bool) -> None:
        depth = 1
        for other in stream.lines:
            if other.command == "IF" and other.words[-1].upper() == "THEN":
                depth += 1
            depth -= other.command == "ENDI"
            if depth == 0 or (at_else and depth == 1 and other.command == "ELSE"):
                return
        raise line.error("this block has no endif")

    def _open_unit(self, line: Line, stream: _Stream) -> None:
        upper = [w.upper() for w in line.words]
        if "WRIT" in (w[:4] for w in upper) or "UNIT" not in upper[:-1] or "NAME" not in upper[:-1]:
            raise line.error("expected `open read card unit N name FILE`")
        stream.units[upper[upper.index("UNIT") + 1]] = line.words[upper.index("NAME") + 1]

    def _read_card(self, line: Line, stream: _Stream) -> None:
        upper = [w.upper() for w in line.words]
        kind = {"RTF": "rtf", "PARA": "para"}.get(upper[1][:4] if len(upper) > 1 else "")
        if kind is None:
            raise line.error(f"reads {' '.join(line.words[1:2]) or 'nothing'}: only rtf and para are understood")
        name = None
        if "NAME" in upper[:-1]:
            name = line.words[upper.index("NAME") + 1]
        elif "UNIT" in upper[:-1]:
            unit = upper[upper.index("UNIT") + 1]
            if unit not in stream.units:
                raise line.error(f"reads from unit {unit}, which no line before has opened")
            name = stream.units[unit]
        stops_at = self._options(line) if kind == "para" else None
        if name is None:
            self.reading.cards.append(_card(kind, stream.path.name, stream.lines, stops_at))
        else:
            self.read(self._find(line, name), line, kind, stops_at)

    def _options(self, line: Line) -> int | None:
        """Reads `flex` and `append` of `read para`; returns BOMLEV where CHARMM stops at parameters that differ."""
        options = [self._value(word) for word in line.words[2:]]
        words = {option[:4].upper() for option in options if option is not None}
        known = None not in options
        if self._commanded and known and "APPE" not in words:
            self.reading.warnings.append(
                f"{line.where} reads parameters without `append`, at which CHARMM drops those that it read before; "
                "here all of them count"
            )
        self._commanded = True
        self._flexible = self._flexible or "FLEX" in words or not known
        return None if self._flexible else self._bomb_level

    def _find(self, line: Line, name: str) -> Path:
        """Finds a file by its name in the folders of the files that lead to it, then in the working folder."""
        known = self._value(name.strip("\"'"))
        if known is None:
            raise line.error(f"the name {name} has a variable that is not set: add a line `set …` before it")
        folders = [*dict.fromkeys(p.parent for p in reversed(self._open)), Path()]
        for text in dict.fromkeys((known, known.lower())):  # CHARMM converts names to lower case
            for folder in folders:
                if (folder / text).is_file():
                    return require_file(folder / text, "file")
        raise line.error(f"{known} not found beside {self._open[-1].name} nor in the working folder")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)", text.strip("\"'")) is not None


def _kind(lines: list[Line]) -> str:
    """Returns `stream`, `rtf`, `para` or `list`, by the first line that is not a comment; a list by all of them."""
    first = lines[0]
    word = first.words[0].upper()
    if word.isdigit() or first.command in _TOPOLOGY:
        return "rtf"
    if first.section is not None:
        return "para"
    if all(len(line.words) == 1 and _PARAMETER_FILE.search(line.words[0]) for line in lines):
        return "list"
    if first.command in _STREAM:
        return "stream"
    raise first.error(
        f"neither a CHARMM topology, parameter nor stream file starts with {' '.join(first.words)[:40]!r}"
        + (": X-PLOR's format is not supported" if word == "REMARKS" else "")
    )


def _card(kind: str, name: str, lines: Iterator[Line], stops_at: int | None) -> Card:
    """Takes the lines up to END, which a parameter file must have: without it the file may have been cut."""
    out: list[Line] = []
    for line in lines:
        if line.command == "END" and len(line.words) == 1:
            return Card(kind, name, out, stops_at)
        out.append(line)
    if kind == "para":
        raise InputError(f"{name} ends without END: if it is whole, add a line with END")
    return Card(kind, name, out, stops_at)


def _refuse_rest(lines: Iterator[Line]) -> None:
    """Refuses lines after END. CHARMM does not read them, though the user may expect it."""
    for line in lines:
        if line.command in ("RETU", "STOP"):
            return
        if line.command != "END":
            raise line.error("this is after END, where CHARMM does not read it: remove it, or that END")
