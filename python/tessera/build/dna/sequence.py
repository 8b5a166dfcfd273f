"""Reads a sequence of DNA from a FASTA file."""

from __future__ import annotations

from pathlib import Path

from tessera.build.dna.nucleotides import PARTNER
from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file


def read_sequence(path: Path) -> str:
    """Returns the letters A, C, G and T of the one sequence in a file. Raises `InputError` that names the line of what
    is none of these."""
    letters: list[str] = []
    n_heads = 0
    for number, line in enumerate(read_text(require_file(path, "sequence")).split("\n"), start=1):
        text = line.strip()
        if text.startswith(">"):
            n_heads += 1
            if letters or n_heads > 1:
                raise InputError(
                    f"{path.name}, line {number}: a second sequence begins here, expected one: keep it in another file"
                )
            continue
        for column, letter in enumerate(text, start=1):
            if letter.upper() not in PARTNER:
                at = sum(map(len, letters)) + column
                raise InputError(f"{path.name}, line {number}: base {at} is {letter!r}, expected A, C, G or T")
        letters.append(text.upper())
    sequence = "".join(letters)
    if len(sequence) < 2:
        raise InputError(f"{path.name} holds {len(sequence)} base(s), expected at least 2")
    return sequence


def complement(sequence: str) -> str:
    """Returns the other strand, from its 5' end."""
    return "".join(PARTNER[letter] for letter in reversed(sequence))
