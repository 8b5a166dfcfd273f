"""Reads configurations of NAMD, scripts in Tcl: of Tcl `set`, `if`, `expr` and `$name`, and nothing that acts.

A command of NAMD is NAME VALUE or NAME = VALUE. Every other command of Tcl is refused by its name.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tessera.convert.model import Option
from tessera.errors import InputError

_TCL = {
    "proc", "for", "foreach", "while", "source", "exec", "open", "puts", "close", "file", "global", "incr",
    "append", "lappend", "lindex", "list", "string", "switch", "return", "catch", "eval", "format", "print",
    "unset", "upvar", "uplevel", "vwait", "package", "namespace", "array", "break", "continue", "callback",
    "checkpoint", "revert",
}  # fmt: skip
_MOST = 100_000  # commands, and characters of an expression
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


def options(text: str, file: str) -> list[Option]:
    """Returns the commands of NAMD as options, in the order in which they come. Raises `InputError` for what is no such
    script."""
    found: list[Option] = []
    _run(text, file, 1, {}, found, 0)
    return found


def _run(text: str, file: str, line: int, variables: dict[str, str], found: list[Option], depth: int) -> None:
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
                _run(block.text, file, block.line, variables, found, depth + 1)
        elif name.lower() in _TCL:
            raise InputError(f"{where}: {name}: of Tcl's commands only set, if and expr are read: write the values out")
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

    text = re.sub(r"\$(?:\{([^}]+)\}|(\w+))", value, text)
    if len(text) > _MOST:
        raise InputError(f"{where}: a value of more than {_MOST} characters")
    while match := re.search(r"\[([^][]*)\]", text):
        command = match[1].strip()
        if not command.startswith("expr"):
            raise InputError(f"{where}: [{command[:60]}]: of Tcl's commands only set, if and expr are read")
        text = text[: match.start()] + _plain(evaluate(command[4:].strip(" {}"), where)) + text[match.end() :]
    return text


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
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
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
