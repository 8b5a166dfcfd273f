"""Reads configurations of NAMD, scripts in Tcl: of Tcl `set`, `if`, `expr`, `source`, `$name`, and nothing that acts.

A command of NAMD is NAME VALUE or NAME = VALUE. Of `exec`, which CHARMM-GUI's scripts use to make small texts, pipes of
`tr '[:upper:]' '[:lower:]'` and `sed -e s/A/B/g` are followed here, without a program and without writing a file. Every
other command of Tcl is refused by its name.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tessera.convert.model import Option
from tessera.errors import InputError
from tessera.prepare.text import read_text

_TCL = {
    "proc", "for", "foreach", "while", "open", "puts", "close", "file", "global", "incr",
    "append", "lappend", "lindex", "list", "string", "switch", "return", "catch", "eval", "format", "print",
    "unset", "upvar", "uplevel", "vwait", "package", "namespace", "array", "break", "continue", "callback",
    "checkpoint", "revert",
}  # fmt: skip
_MOST_FILES = 100
_MOST = 100_000  # commands, and characters of an expression
_SHIELD = 0xE000  # added to a character that stands for itself, while others are replaced
_FUNCTIONS = {"sqrt": math.sqrt, "abs": abs, "int": int, "double": float, "round": round, "floor": math.floor,
              "ceil": math.ceil}  # fmt: skip
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class _Word:
    text: str
    line: int
    is_block: bool = False  # in braces: nothing is substituted


@dataclass
class _Script:
    """A script that is carried out: where it is, its variables, its commands, and the texts that it has made."""

    folder: Path | None
    variables: dict[str, str] = field(default_factory=dict)
    found: list[Option] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    sourced: int = 0
    may_search: bool = True  # for texts that other scripts make

    def text_of(self, name: str) -> str | None:
        """Returns the text of a file that the script has made, or that there is; none where there is none."""
        if name in self.made:
            return self.made[name]
        path = self.folder / name if self.folder else None
        if path is not None and path.is_file():
            return read_text(path)
        return self._made_by_another(name) if self.may_search else None

    def _made_by_another(self, name: str) -> str | None:
        """Returns a text that another script of the folder makes, as the first of CHARMM-GUI's steps does for the
        others."""
        for path in sorted(self.folder.glob("step*.inp")) if self.folder else []:
            for line in read_text(path).splitlines():
                if line.split()[:1] == ["exec"] and line.split()[-2:] == [">", name]:
                    one = _Script(self.folder, may_search=False)
                    _run(line, path.name, 1, one, 0)
                    return one.made.get(name)
        return None


def options(text: str, file: str, folder: Path | None = None) -> list[Option]:
    """Returns the commands of NAMD as options, in the order in which they come; `folder` has the files that are
    sourced. Raises `InputError` for what is no such script."""
    script = _Script(folder)
    _run(text, file, 1, script, 0)
    return script.found


def file_of(folder: Path, script: str, name: str) -> str | None:
    """Returns the text of a file that a script of this folder names, which it may have made itself."""
    state = _Script(folder)
    _run(read_text(folder / script), script, 1, state, 0)
    return state.text_of(name)


def _run(text: str, file: str, line: int, script: _Script, depth: int) -> None:
    variables, found = script.variables, script.found
    if depth > 20:
        raise InputError(f"{file}:{line}: blocks are nested more than 20 deep")
    for words in _commands(text, file, line):
        where = f"{file}:{words[0].line}"
        name = _value(words[0], variables, where)
        if name == "set":
            if len(words) != 3:
                raise InputError(f"{where}: set: expected a name and a value")
            variables[words[1].text] = _value(words[2], variables, where)
        elif name == "if":
            block = _chosen(words, variables, where)
            if block:
                _run(block.text, file, block.line, script, depth + 1)
        elif name == "source":
            source = _value(words[1], variables, where) if len(words) == 2 else ""
            inner = script.text_of(source)
            if inner is None:
                raise InputError(f"{where}: source {source[:60]}: there is no such file: put it beside")
            script.sourced += 1
            if script.sourced > _MOST_FILES:
                raise InputError(f"{where}: more than {_MOST_FILES} files are sourced")
            _run(inner, source, 1, script, depth + 1)
        elif name == "exec":
            _make(script, [_value(word, variables, where) for word in words[1:]], where)
        elif name.lower() in _TCL:
            raise InputError(
                f"{where}: {name}: of Tcl's commands only set, if, expr and source are read: write the values out"
            )
        else:
            values = [_value(word, variables, where) for word in words[1:]]
            if values and values[0] == "=":
                values = values[1:]
            name = name.removesuffix("=")
            if not re.fullmatch(r"[\w-]+", name):
                raise InputError(f"{where}: expected the name of an option, found {name[:60]!r}")
            found.append(Option(name.lower(), " ".join(" ".join(values).split()), file, words[0].line))
        if len(found) > _MOST:
            raise InputError(f"{where}: more than {_MOST} options")


def _make(script: _Script, words: list[str], where: str) -> None:
    """Carries out a pipe of tr and sed, whose result is kept as the text of a file. Raises `InputError` for any other
    program."""
    told = " ".join(words)[:60]
    if len(words) < 3 or words[-2] != ">":
        raise InputError(f"{where}: exec {told}: other programs are not run: write the values out")
    text: str | None = None
    for part in " ".join(map(_shielded, words[:-2])).split(" | "):
        name, *rest = map(_bare, part.split())
        source = None
        if rest[-2:-1] == ["<"]:
            *rest, _, source = rest
        changes: Callable[[str], str] | None = (
            str.lower if name == "tr" and rest == ["[:upper:]", "[:lower:]"] else None
        )
        if name == "sed":
            steps = [rest[n + 1] for n in range(0, len(rest) - 1, 2) if rest[n] == "-e"]
            left = rest[2 * len(steps) :]
            source = left[0] if len(left) == 1 else source
            changes = _edits(steps) if steps and len(left) <= 1 else None
        if source is not None:
            text = script.text_of(source)
            if text is None:
                raise InputError(f"{where}: exec {told}: there is no file {source[:60]}: put it beside")
        if changes is None or text is None:
            raise InputError(f"{where}: exec {told}: of programs tr and sed are followed: write the values out")
        text = changes(text)
    script.made[words[-1]] = text or ""


def _shielded(word: str) -> str:
    return word if word in ("|", "<", ">") else re.sub(r"[ |]", lambda found: chr(_SHIELD + ord(found[0])), word)


def _bare(word: str) -> str:
    return re.sub(rf"[{chr(_SHIELD)}-{chr(_SHIELD + 127)}]", lambda found: chr(ord(found[0]) - _SHIELD), word)


def _edits(steps: list[str]) -> Callable[[str], str] | None:
    """Returns what s/A/B/g do with a text; none where A is more than plain text."""
    pairs = []
    for step in steps:
        match = re.fullmatch(r"s/([^/\\.*^\[\]]+)/([^/\\&]*)/g", step)
        if match is None or match[1].endswith("$"):
            return None
        pairs.append((match[1], match[2]))

    def edited(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return edited


def _chosen(words: list[_Word], variables: dict[str, str], where: str) -> _Word | None:
    """Returns the block of an `if` that is carried out."""
    rest = words[1:]
    while rest:
        if len(rest) >= 2 and rest[1].text == "then":
            rest = [rest[0], *rest[2:]]
        if len(rest) < 2:
            break
        if _truth(evaluate(_substituted(rest[0].text, variables, where, quoted=True), where)):
            return rest[1]
        rest = rest[2:]
        if rest and rest[0].text == "else" and len(rest) == 2:
            return rest[1]
        if not rest:
            return None
        if rest[0].text != "elseif":
            break
        rest = rest[1:]
    raise InputError(f"{where}: if: expected a condition and a block in braces")


def _commands(text: str, file: str, line: int) -> Iterator[list[_Word]]:
    """Yields the words of each command, without comments."""
    words: list[_Word] = []
    i, n = 0, len(text)
    while i < n:
        char = text[i]
        if char in "\n;":
            if words:
                yield words
            words = []
            line += char == "\n"
            i += 1
        elif char.isspace():
            i += 1
        elif text.startswith("\\\n", i):
            i, line = i + 2, line + 1
        elif char == "#":
            end = text.find("\n", i)
            i = n if end < 0 else end
        elif char == "{" or char == '"':
            end = _closing(text, i, file, line)
            words.append(_Word(text[i + 1 : end], line, char == "{"))
            line += text.count("\n", i, end)
            i = end + 1
        else:
            end = _end_of_word(text, i, file, line)
            words.append(_Word(text[i:end], line))
            i = end
    if words:
        yield words


def _end_of_word(text: str, start: int, file: str, line: int) -> int:
    i = start
    while i < len(text) and not text[i].isspace() and text[i] != ";":
        i = _closing(text, i, file, line) + 1 if text[i] == "[" or text.startswith("${", i) else i + 1
    return i


def _closing(text: str, start: int, file: str, line: int) -> int:
    """Returns where what opens at `start` closes."""
    if text[start] == "$":
        start += 1
    opening = text[start]
    closing = {"{": "}", "[": "]", '"': '"'}[opening]
    if opening == '"':
        end = text.find('"', start + 1)
        if end >= 0:
            return end
    depth = 0
    for i in range(start, len(text)):
        if opening == '"':
            break
        depth += (text[i] == opening) - (text[i] == closing)
        if depth == 0:
            return i
    raise InputError(f"{file}:{line}: {opening} is not closed")


def _value(word: _Word, variables: dict[str, str], where: str) -> str:
    return word.text if word.is_block else _substituted(word.text, variables, where)


def _substituted(text: str, variables: dict[str, str], where: str, quoted: bool = False) -> str:
    """Returns the text with values in place of `$name` and `[expr …]`; with `quoted` those that are no numbers are in
    quotation marks."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in variables:
            raise InputError(f"{where}: ${name} has no value: it is set nowhere above")
        found = variables[name]
        return found if not quoted or _is_number(found) else repr(found)

    text = re.sub(r"\\([][$\"_{};\\])", lambda found: chr(_SHIELD + ord(found[1])), text)  # these stand for themselves
    text = re.sub(r"\$(?:\{([^}]+)\}|(\w+))", value, text)
    if len(text) > _MOST:
        raise InputError(f"{where}: a value of more than {_MOST} characters")
    while match := re.search(r"\[([^][]*)\]", text):
        command = match[1].strip()
        if not command.startswith("expr"):
            raise InputError(f"{where}: [{command[:60]}]: of Tcl's commands only set, if and expr are read")
        text = text[: match.start()] + _plain(evaluate(command[4:].strip(" {}"), where)) + text[match.end() :]
    return _bare(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text.strip()) is not None


def _plain(value: float | str | bool) -> str:
    return str(int(value)) if isinstance(value, bool) else f"{value:.12g}" if isinstance(value, float) else str(value)


def _truth(value: float | str | bool) -> bool:
    if isinstance(value, str):
        return value.lower() in ("1", "yes", "on", "true")
    return bool(value)


def evaluate(text: str, where: str) -> float | str | bool:
    """Returns the value of an expression of numbers, texts, arithmetic, comparisons, `!`, `&&` and `||`. Raises
    `InputError` for any other."""
    words = text.replace("&&", " and ").replace("||", " or ")
    words = re.sub(r"!(?!=)", " not ", words).replace(" eq ", " == ").replace(" ne ", " != ")
    try:
        return _node(ast.parse(words.strip() or "None", mode="eval").body)
    except (SyntaxError, ValueError, TypeError, KeyError, ArithmeticError, RecursionError, MemoryError):
        raise InputError(f"{where}: expected an expression of numbers and comparisons, found {text[:60]!r}") from None


def _node(node: ast.expr) -> float | str | bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    if isinstance(node, ast.Name):  # a bare word, such as on
        return node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _truth(_node(node.operand))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _number(_node(node.operand))
        return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.BoolOp):
        found = [_truth(_node(value)) for value in node.values]
        return all(found) if isinstance(node.op, ast.And) else any(found)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(_node(node.left)), _number(_node(node.right))
        if isinstance(node.op, ast.Div) and isinstance(left, int) and isinstance(right, int):
            return left // right  # as Tcl divides whole numbers
        return _OPERATORS[type(node.op)](left, right)  # type: ignore[no-any-return]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return _FUNCTIONS[node.func.id](_number(_node(node.args[0])))  # type: ignore[no-any-return, operator]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        first, second = _node(node.left), _node(node.comparators[0])
        if isinstance(first, str) != isinstance(second, str):
            first, second = str(first), str(second)
        return bool(_OPERATORS[type(node.ops[0])](first, second))
    raise ValueError(ast.dump(node))


def _number(value: float | str | bool) -> float:
    if isinstance(value, str):
        raise ValueError(value)
    return value
