"""Counts the quick tests of checkouts by folder, and those of them that start ranks, and prints a table.

python tests/lint/count.py [CHECKOUT...]    # this one without arguments

The folders are those of the last checkout: git says where it has the files of the others.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

KINDS = {"all": "not slow", "on ranks": "not slow and mpi"}
#: files whose tests have become rows of another one → that file
MERGED = {
    "tests/parallel/test_restraints.py": "tests/bits/test_bitwise.py",
    "tests/virtual_sites/test_bits.py": "tests/bits/test_bitwise.py",
}


def output(checkout: Path, *command: str) -> list[str]:
    """Returns the lines that a command prints in this folder."""
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True, timeout=600)
    return done.stdout.splitlines()


def moved(checkout: Path, last: Path) -> dict[str, str]:
    """Returns the paths of test files that another commit has elsewhere, with those in the last checkout."""
    (commit,) = output(checkout, "git", "rev-parse", "HEAD")
    names = ["--find-renames=30%", "-l20000", "--diff-filter=R", "--name-status"]
    lines = output(last, "git", "diff", *names, commit, "--", "tests")
    return MERGED | {old: new for _, old, new in (line.split("\t") for line in lines)}


def counts(checkout: Path, marks: str, last: Path) -> Counter[str]:
    """Returns the numbers of collected tests by folder of the last checkout."""
    place = moved(checkout, last)
    lines = output(
        checkout, sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", marks
    )
    files = [line.split("::")[0] for line in lines if "::" in line]
    return Counter(place.get(file, file).split("/")[1] for file in files)


def table(checkouts: list[Path]) -> str:
    columns = [counts(checkout, marks, checkouts[-1]) for marks in KINDS.values() for checkout in checkouts]
    names = [f"{kind}, {checkout.name}" for kind in KINDS for checkout in checkouts]
    folders = sorted(set().union(*columns))
    rows = [[folder, *(str(column[folder]) for column in columns)] for folder in folders]
    rows.append(["together", *(str(column.total()) for column in columns)])
    lines = [["folder", *names], ["---"] * (len(names) + 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table([Path(name).absolute() for name in sys.argv[1:]] or [Path.cwd()]))
