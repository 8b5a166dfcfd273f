"""Finds files that depend on each other in a circle. None of them can be understood or tested without the others."""

import ast
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parents[2]
Graph = dict[str, set[str]]
# These sources name users of their own header: a registry names its entries, the list of messages names its check.
KNOW_THEIR_USERS = re.compile(r"registry\.cpp|collectives/plan\.cpp")


#: Packages of Python of which others use much, and all that these may use themselves: leaves, but for them.
LEAVES = {
    "tessera.errors": {"tessera.printing"},
    "tessera.prepare": {
        "tessera.constants",
        "tessera.contained",
        "tessera.errors",
        "tessera.files",
        "tessera.printing",
        "tessera.system",
    },
}


def modules() -> Graph:
    """Returns the modules that each module of the package imports, also inside functions."""
    found = ROOT.glob("python/**/*.py")
    files = {".".join(f.relative_to(ROOT / "python").with_suffix("").parts).removesuffix(".__init__"): f for f in found}
    graph: Graph = {}
    for module, file in files.items():
        graph[module] = set()
        for node in ast.walk(ast.parse(file.read_text())):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else []:
                name = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                used = name if name in files else name.rpartition(".")[0]
                if used in files and used != module:
                    graph[module].add(used)
    return graph


def sources() -> tuple[Graph, Graph]:
    """Returns the headers that each header and the source of the same name include, and the same for folders of which
    neither holds the other. Tests may include anything; an `-inl.h` counts as part of a source."""
    graph: Graph = {}
    folders: Graph = {}
    for file in ROOT.glob("cpp/tessera/**/*.[hc]*"):
        name = file.relative_to(ROOT / "cpp").as_posix()
        if re.search(r"_test\.cpp|test_support|-inl\.h", name) or KNOW_THEIR_USERS.search(name):
            continue
        for header in re.findall(r'#include "(tessera/.*)(?<!-inl)\.h"', file.read_text()):
            if header != PurePath(name).with_suffix("").as_posix():
                graph.setdefault(name.rpartition(".")[0], set()).add(header)
                here, there = PurePath(name).parent, PurePath(header).parent
                if not (here.is_relative_to(there) or there.is_relative_to(here)):
                    folders.setdefault(str(here), set()).add(str(there))
    return graph, folders


def violations() -> list[str]:
    found = []
    for graph in (modules(), *sources()):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            found.append("they need each other: " + " ← ".join(error.args[1]))
    return found + beyond_leaves(modules())


def beyond_leaves(graph: Graph) -> list[str]:
    """Returns what modules of `LEAVES` use and may not."""
    found = []
    for module, used in sorted(graph.items()):
        package = ".".join(module.split(".")[:2])
        for name in sorted(used) if package in LEAVES else ():
            if ".".join(name.split(".")[:2]) not in {"tessera", package, *LEAVES[package]}:
                found.append(f"{module} uses {name}: {package} may use {', '.join(sorted(LEAVES[package]))}")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
