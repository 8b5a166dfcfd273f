"""Finds names of the Python package on the pages of docs/python that do not say what a reader needs: what they are, the
shapes of arrays, and the errors that they raise."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import house

PACKAGE = Path("python")
SHOWN = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
ARRAY = re.compile(r"Array|ndarray")
SHAPE = re.compile(r"\((?:[\w·.*… −-]+,)+ ?[\w·.*… −-]*\)|\bshape|_shape\b")
#: what stands for what a name raises: a class of errors, or another function that says so
RAISES = re.compile(r"\b[Rr]aises?\b|\brefuse")
Definition = ast.FunctionDef | ast.ClassDef


def module_file(name: str) -> Path | None:
    path = PACKAGE.joinpath(*name.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if (house.ROOT / one).is_file()), None)


def _exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def definitions(name: str) -> Iterator[tuple[Path, Definition]]:
    """Returns the public classes and functions of a module, or the one of this name, and the files they are in."""
    file = module_file(name)
    if file is None:
        module, _, own = name.rpartition(".")
        yield from ((path, node) for path, node in definitions(module) if node.name == own)
        return
    tree = ast.parse((house.ROOT / file).read_text())
    exported = _exported(tree)
    for node in tree.body:
        if isinstance(node, Definition) and (node.name in exported if exported else not node.name.startswith("_")):
            yield file, node
        elif isinstance(node, ast.ImportFrom) and exported and node.module and module_file(node.module):
            for alias in node.names:
                if alias.name in exported:
                    yield from definitions(f"{node.module}.{alias.name}")


def _raised(node: ast.FunctionDef) -> set[str]:
    raised = [inner.exc for inner in ast.walk(node) if isinstance(inner, ast.Raise) and inner.exc]
    names = {ast.unparse(one.func if isinstance(one, ast.Call) else one) for one in raised}
    return {name for name in names if re.fullmatch(r"(?:Input|Run|Fft|Grid|Gpaw|Launch)Error", name)}


def _documented(node: ast.ClassDef) -> set[str]:
    return {inner.name for inner in node.body if isinstance(inner, Definition) and ast.get_docstring(inner)}


def problems(node: Definition, inside: str = "", inherited: frozenset[str] = frozenset()) -> Iterator[str]:
    """Returns what a definition and its public parts do not say. `inherited` are names that a base class documents."""
    decorators = " ".join(ast.unparse(one) for one in node.decorator_list)
    if (inside and node.name.startswith("_")) or ".setter" in decorators:
        return
    name, text = f"{inside}{node.name}", ast.get_docstring(node) or ""
    if not text and node.name not in inherited:
        yield f"{name} has no docstring"
    elif text and isinstance(node, ast.FunctionDef):
        of_arrays = [*(one.annotation for one in [*node.args.args, *node.args.kwonlyargs]), node.returns]
        if any(one is not None and ARRAY.search(ast.unparse(one)) for one in of_arrays) and not SHAPE.search(text):
            yield f"{name} has arrays, and its docstring no shape such as (n, 3)"
        if _raised(node) and not RAISES.search(text):
            yield f"{name} raises {', '.join(sorted(_raised(node)))}, which its docstring does not say"
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, Definition):
                yield from problems(inner, f"{name}.", inherited)


def attributes(node: ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """Returns the public attributes of a class: those of its body, and those that its `__init__` sets."""
    inits = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"]
    for statement in (*node.body, *(inner for init in inits for inner in ast.walk(init))):
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                own, _, name = ast.unparse(target).rpartition(".")
                if own == ("" if statement in node.body else "self") and re.fullmatch(r"[a-zA-Z]\w*", name):
                    yield name, statement


def without_comment(node: ast.ClassDef, lines: list[str]) -> Iterator[str]:
    """Returns the attributes of a class that neither say on their line nor above what they are."""
    for name, statement in attributes(node):
        above, own = lines[statement.lineno - 2].lstrip(), lines[(statement.end_lineno or 0) - 1]
        if not above.startswith("#:") and not re.search(r"  # \S", own):
            yield f"{node.name}.{name} has no comment on its line, such as `# (n, 3) Å`"


def violations() -> list[str]:
    pages = sorted((house.ROOT / "docs" / "python").glob("*.md"))
    shown = dict.fromkeys(name for page in pages for name in SHOWN.findall(page.read_text()))
    there = {name: list(definitions(name)) for name in shown}
    found = [f"docs/python shows {name}, which is not there" for name, own in there.items() if not own]
    every = [one for own in there.values() for one in own]
    by_class = {node.name: _documented(node) for _, node in every if isinstance(node, ast.ClassDef)}
    for path, node in every:
        bases = [ast.unparse(base) for base in getattr(node, "bases", [])]
        inherited = frozenset().union(*(by_class.get(base, set()) for base in bases))
        missing = list(problems(node, inherited=inherited))
        if isinstance(node, ast.ClassDef):
            missing += without_comment(node, (house.ROOT / path).read_text().splitlines())
        found += [f"{path}:{node.lineno}: {problem}" for problem in missing]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
