"""Counts the quick tests of checkouts by folder, and those of them that start ranks, and prints a table.

python tests/lint/count.py [CHECKOUT...]    # this one without arguments
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

KINDS = {"all": "not slow", "on ranks": "not slow and mpi"}


def counts(checkout: Path, marks: str) -> Counter[str]:
    """Returns the numbers of collected tests by folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", marks]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True, timeout=600)
    return Counter(line.split("/")[1] for line in done.stdout.splitlines() if "::" in line)


def table(checkouts: list[Path]) -> str:
    columns = [counts(checkout, marks) for marks in KINDS.values() for checkout in checkouts]
    names = [f"{kind}, {checkout.name}" for kind in KINDS for checkout in checkouts]
    folders = sorted(set().union(*columns))
    rows = [[folder, *(str(column[folder]) for column in columns)] for folder in folders]
    rows.append(["together", *(str(column.total()) for column in columns)])
    lines = [["folder", *names], ["---"] * (len(names) + 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table([Path(name).absolute() for name in sys.argv[1:]] or [Path.cwd()]))
