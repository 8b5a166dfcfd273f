"""Checks the rules of CONTRIBUTING.md that a program can check."""

import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 600  # lines
FULLEST_FOLDER = 25  # files
UNFINISHED = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X)\b")
PRINTS_OR_ENDS = re.compile(r"std::c(out|err)\b|(?<![\w.])(std::)?f?printf\(|(?<![\w.:])(std::)?(exit|abort)\(")
CODE = {".h", ".cpp", ".py"}
SOURCES = CODE | {".toml", ".txt", ".cmake", ""}  # of files that may name pages of the documentation
CITED = re.compile(r"(?<![\w/.-])docs/[\w./{}*%<>-]*(?:#[\w-]+)?")
PATTERN = re.compile(r"[{}*%<>]")  # in a path: it stands for many
NUMBERED = re.compile(r"\b(?:ADRs?|[Dd]ecisions?)[ /]00\d\d")
MARKDOWN = MarkdownIt("commonmark").enable("table")


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return [Path(name) for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def sizes(paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        lines = (ROOT / path).read_text().count("\n")
        if lines > LONGEST_FILE:
            found.append(f"{path}: {lines} lines, more than {LONGEST_FILE}; which concept in it deserves its own file?")
    for folder, count in Counter(path.parent for path in paths).items():
        if count > FULLEST_FOLDER:
            found.append(f"{folder}: {count} files, more than {FULLEST_FOLDER}")
    return found


def forbidden_words(paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        library = path.parts[2] if path.parts[:2] == ("cpp", "tessera") else ""
        quiet = library not in ("", "app") and not path.stem.endswith("_test")
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            if UNFINISHED.search(line):
                found.append(f"{path}:{number}: unfinished work belongs in the issue list")
            if quiet and PRINTS_OR_ENDS.search(line) and not re.search(r"Communicator::abort\(|void abort\(", line):
                found.append(f"{path}:{number}: a library neither prints nor ends the program")
    return found


def readmes() -> list[str]:
    libraries = [folder for folder in (ROOT / "cpp" / "tessera").iterdir() if any(folder.rglob("*.h"))]
    folders = [folder.relative_to(ROOT) for folder in libraries]
    table = (ROOT / "README.md").read_text()
    return [f"{folder}: has no README.md" for folder in folders if not (ROOT / folder / "README.md").exists()] + [
        f"README.md: its table of folders lacks {folder}" for folder in folders if f"({folder}/README.md)" not in table
    ]


def read_markdown(text: str) -> tuple[set[str], list[str]]:
    """Returns the anchors of the headings, as GitHub makes them, and what links and images point to."""
    anchors: Counter[str] = Counter()
    anchored, targets = set(), []
    for before, token in pairwise(MARKDOWN.parse(text)):
        for child in token.children or []:
            target = child.attrGet("src" if child.type == "image" else "href")
            if target is not None:
                targets.append(unquote(str(target)))
        if before.type == "heading_open":
            title = "".join(child.content for child in token.children or []).lower()
            anchor = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title))
            anchored.add(f"{anchor}-{anchors[anchor]}" if anchors[anchor] else anchor)
            anchors[anchor] += 1
    return anchored, targets


def problem_with(target: str, folder: Path) -> str:
    """Returns why nothing is at a path, perhaps with an anchor; empty where something is."""
    name, _, anchor = target.partition("#")
    file = ROOT / folder / name
    if not file.exists():
        return f"{target}, which does not exist"
    if anchor and file.suffix == ".md" and anchor not in read_markdown(file.read_text())[0]:
        return f"{target}, which has no such heading"
    return ""


def dead_links(paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        for target in read_markdown((ROOT / path).read_text())[1]:
            if re.match(r"\w+:", target):
                continue
            problem = problem_with(f"{path.name}{target}" if target.startswith("#") else target, path.parent)
            if problem:
                found.append(f"{path}: link to {problem}")
    return found


def dead_citations(paths: list[Path]) -> list[str]:
    """Finds paths of pages below docs/ that sources name and that are not there."""
    found = []
    for path in paths:
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            for target in CITED.findall(line):
                problem = "" if PATTERN.search(target) else problem_with(target.rstrip("."), Path())
                if problem:
                    found.append(f"{path}:{number}: names {problem}")
    return found


def numbers_of_decisions(paths: list[Path]) -> list[str]:
    """Finds citations by the number that a decision once had; docs/decisions/README.md says where each stands."""
    return [
        f"{path}:{number}: cite the section of docs/design that docs/decisions/README.md names for {match[0]}"
        for path in paths
        if path != Path("docs/decisions/README.md")
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        for match in NUMBERED.finditer(line)
    ]


def violations() -> list[str]:
    known = files()
    code = [path for path in known if path.suffix in CODE]
    documents = [path for path in known if path.suffix == ".md"]
    sources = [path for path in known if path.suffix in SOURCES and "data" not in path.parts]
    found = sizes(code) + forbidden_words(code) + readmes()
    return found + dead_links(documents) + dead_citations(sources) + numbers_of_decisions(documents + sources)


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
