"""Makes damaged copies of a text file: without each line, with each line twice, cut anywhere, or with other
characters."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tessera.errors import InputError

_LETTERS = "0123456789-+. %ABCDEFnaXYZ*\n\t\x00é"


def without_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yields a description and the text without each line, and with each line twice."""
    lines = text.splitlines(keepends=True)
    for i in range(len(lines)):
        yield f"without line {i + 1}", "".join(lines[:i] + lines[i + 1 :])
        yield f"line {i + 1} twice", "".join(lines[: i + 1] + lines[i:])


def damaged(text: str, count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yields a description and the text, truncated or with characters replaced, deleted or inserted at random."""
    chance = random.Random(seed)
    for _ in range(count):
        at, letter = chance.randrange(len(text)), chance.choice(_LETTERS)
        what, rest = chance.choice([("cut", ""), ("replaced", text[at + 1 :]), ("inserted", text[at:])])
        if what != "cut":
            rest = chance.choice(["", letter]) + rest
        yield f"{what} at {at} with {letter!r}", text[:at] + rest


def outcome(path: Path, text: str, read: Callable[[Path], Any]) -> Any:
    """Returns what is read, or None where the file is refused in one line. Any other exception fails the test."""
    path.write_text(text, encoding="latin-1")
    try:
        return read(path)
    except InputError as error:
        assert "\n" not in str(error), error
        return None


def same(first: Any, second: Any) -> bool:
    """Returns whether two systems, or two sets of coordinates, are equal in all but the note of their source."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return type(first) is type(second) and np.array_equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if hasattr(first, "__dict__"):
        return same(*({k: v for k, v in vars(x).items() if k not in ("source", "notes")} for x in (first, second)))
    return bool(first == second)
