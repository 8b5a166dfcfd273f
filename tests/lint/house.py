"""Checks the rules of CONTRIBUTING.md that a program can check."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 600  # lines
FULLEST_FOLDER = 25  # files
UNFINISHED = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X)\b")
PRINTS_OR_ENDS = re.compile(r"std::c(out|err)\b|(?<![\w.])(std::)?f?printf\(|(?<![\w.:])(std::)?(exit|abort)\(")
CODE = {".h", ".cpp", ".py"}


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
    libraries = [folder for folder in (ROOT / "cpp" / "tessera").iterdir() if folder.is_dir()]
    return [
        f"{folder.relative_to(ROOT)}: has no README.md"
        for folder in libraries
        if any(folder.rglob("*.h")) and not (folder / "README.md").exists()
    ]


def slug(heading: str) -> str:
    text = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def dead_links(paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        text = re.sub(r"```.*?```|<!--.*?-->", "", (ROOT / path).read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (ROOT / path.parent / name).resolve() if name else ROOT / path
            if not file.exists():
                found.append(f"{path}: link to {target}, which does not exist")
            elif anchor and file.suffix == ".md":
                headings = re.findall(r"^#+ +(.*)$", file.read_text(), flags=re.M)
                if anchor not in map(slug, headings):
                    found.append(f"{path}: link to {target}, which has no such heading")
    return found


def violations() -> list[str]:
    known = files()
    code = [path for path in known if path.suffix in CODE]
    documents = [path for path in known if path.suffix == ".md"]
    return sizes(code) + forbidden_words(code) + readmes() + dead_links(documents)


if __name__ == "__main__":
    sys.exit("\n".join(violations()) or None)
