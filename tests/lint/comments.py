"""Checks that the comment of a function is a sentence that begins with a verb: `// Returns the sum of …`.

It looks at comments above functions in C++, and at docstrings of the package `tessera` but for those of properties,
which name a thing, and of commands, which are help.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import house

ROOT = house.ROOT
VERBS = Path(__file__).with_name("verbs.txt")
LEXEME = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<directive>(?m:^)[ \t]*#(?:[^\n]*\\\n)*[^\n]*)"
    r'|R"(?P<raw>\w*)\(.*?\)(?P=raw)"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'|\n|[ \t]+|\w+|::|.',
    re.DOTALL,
)
SCOPE = re.compile(r"\b(namespace|class|struct|union|extern)\b")  # opens braces that hold declarations
SPECIFIER = r"\b(?:alignas|requires|explicit|decltype|noexcept) *\((?:[^()]|\([^()]*\))*\)"
PREFIX = re.compile(rf'extern "C"|\[\[[^\]]*\]\]|{SPECIFIER}')
SECTIONS = ("public:", "protected:", "private:")
NO_FUNCTION = re.compile(r"(?:using|typedef|static_assert|enum|namespace|friend class|friend struct)\b")
TOOLS = re.compile(r"NOLINT|clang-format (?:off|on)")


def blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields each comment above a declaration outside of functions: its line, its words and the declaration."""
    scopes = [True]  # for each open brace: whether declarations stand in it
    comment = declaration = line_holds = ""
    begins = number = 1
    depth = 0  # of round and square brackets
    for match in LEXEME.finditer(text):
        lexeme, here = match[0], number
        number += lexeme.count("\n")
        if lexeme == "\n":
            if not line_holds and not declaration:
                comment = ""  # an empty line ends what a comment speaks of
            line_holds = ""
        elif match["comment"]:
            if line_holds != "code" and not declaration and depth == 0:
                begins = begins if comment else here
                comment += "" if TOOLS.search(lexeme) else lexeme.lstrip("/").removeprefix(" ").rstrip() + "\n"
                line_holds = "comment"
        elif match["directive"]:
            comment = declaration = ""
        elif lexeme.isspace():
            declaration += " " if declaration else ""
        else:
            line_holds = "code"
            depth += (lexeme in "([") - (lexeme in ")]")
            if lexeme not in "{};" or depth > 0:
                declaration = "" if f"{declaration}{lexeme}" in SECTIONS else declaration + lexeme
                continue
            if scopes[-1] and comment and declaration:
                yield begins, comment, declaration
            if lexeme == "{":
                head = re.sub(r"\([^()]*\)|template *<[^{}]*>", "", declaration)
                scopes.append(scopes[-1] and bool(SCOPE.search(head)) and "enum" not in head and "(" not in head)
            elif lexeme == "}":
                scopes = scopes[:-1] or [True]
            comment = declaration = ""


def is_function(declaration: str) -> bool:
    if NO_FUNCTION.match(declaration):
        return False
    text, shorter = "", PREFIX.sub("", declaration)
    while shorter != text:  # template arguments, from the innermost ones
        text, shorter = shorter, re.sub(r"<[^<>]*>", "", shorter)
    before, _, arguments = text.partition("(")
    name = re.search(r"(operator *[^\w\s]{1,3}|operator \w+|~?\w+) *$", before)
    if not arguments or arguments.startswith("*") or not name or name[1].isupper():
        return False
    return name[1].startswith("operator") or "=" not in before


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or not (docstring := ast.get_docstring(node)):
            continue
        if not any(re.search(r"property|command|group", ast.unparse(one)) for one in node.decorator_list):
            yield node.lineno, docstring


def comments_of_functions(path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix in (".h", ".cpp"):
        for line, comment, declaration in blocks((ROOT / path).read_text()):
            if is_function(declaration):
                yield line, comment
    elif path.suffix == ".py" and path.parts[:2] == ("python", "tessera"):
        yield from docstrings((ROOT / path).read_text())


def problem_with(comment: str, verbs: set[str]) -> str:
    first = re.match(r"\W*([\w'-]+)\b(?! of\b)", comment)  # "Sums of …" begins with a noun
    if not first or first[1].lower() not in verbs or not first[1][0].isupper():
        return f"begins with {first[1] if first else comment.strip()!r}, which is no verb of tests/lint/verbs.txt"
    last = comment.rstrip().splitlines()[-1]
    if not last.startswith("  ") and not re.search(r"[.?!][)\"'`]*$", last):
        return "does not end with a full stop"
    return ""


def violations() -> list[str]:
    verbs = set(VERBS.read_text().split())
    return [
        f"{path}:{line}: the comment of a function {problem}"
        for path in house.files()
        for line, comment in comments_of_functions(path)
        if (problem := problem_with(comment, verbs))
    ]


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
