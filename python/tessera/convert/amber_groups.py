"""Translates how AMBER names atoms (Amber reference manual, Atom and residue selections): masks such as :1-10@CA, and
the older groups of cards after the namelists. Atoms and residues are counted from 1 in the order of the prmtop, as the
system file numbers them."""

from __future__ import annotations

import re

from tessera.convert.model import Option
from tessera.errors import InputError
from tessera.select.grammar import Grammar, NoCounterpartError

#: lines NAME=FILE after the namelists
RESTRAINTS = ("disang", "noesy", "shifts", "pcshift", "dipole", "csa")
_REDIRECTIONS = (*RESTRAINTS, "listin", "listout", "dumpave")
_LISTED = r"[\w*?=+'\"-]+(?:,[\w*?=+'\"-]+)*"


class _Masks(Grammar):
    either, both, negations = ("|",), ("&",), ("!",)

    def term(self, word: str) -> str:
        if word == "*":
            return "all"
        if len(word) > 1 and word[0] in ":@":
            return _listed(word[1:], ("resid", "resname") if word[0] == ":" else ("bynum", "name"))
        raise NoCounterpartError(word)

    def belongs_to_the_last(self, word: str) -> bool:  # :1-10@CA is both
        return word[0] == "@" != word


def selection_of_mask(mask: str) -> str:
    """Returns a mask in the language of MDAnalysis. Raises `NoCounterpartError` with the part that has none."""
    words = re.findall(rf"[()!&|]|\*|:{_LISTED}|@{_LISTED}|\S", mask)
    found, rest = _Masks().parsed(words)
    if rest:
        raise NoCounterpartError("".join(rest)[:40])
    return found


def _listed(text: str, words: tuple[str, str]) -> str:
    """Returns the selection of a list of numbers, ranges and names."""
    numbers, names = [], []
    for item in text.split(","):
        if match := re.fullmatch(r"(\d+)(?:-(\d+))?", item):
            numbers.append(f"{match[1]}:{match[2] or match[1]}")
        elif item in ("*", "="):
            return "all"
        else:
            names.append(item.replace("=", "*"))
    parts = [f"{word} {' '.join(one)}" for word, one in zip(words, (numbers, names), strict=True) if one]
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def options_after(text: str, file: str, line: int) -> list[Option] | None:
    """Returns what follows the namelists: lines NAME=FILE, and groups, each one option whose cards stand between
    semicolons. None where it is neither."""
    lines = [(line + n, one.strip()) for n, one in enumerate(text.split("\n"))]
    lines = [(number, one) for number, one in lines if one and one.lower() not in ("&end", "/")]
    found: list[Option] = []
    while lines:
        number, first = lines.pop(0)
        name, separator, value = (part.strip() for part in first.partition("="))
        if separator and name.lower() in _REDIRECTIONS:
            found.append(Option(name.lower(), value, file, number))
        elif first.upper() == "END":
            continue
        else:
            ends = [n for n, (_, card) in enumerate(lines) if card.upper() == "END"]
            if not ends or not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)", lines[0][1]):
                return None
            cards = "; ".join(card for _, card in lines[: ends[0]])
            found.append(Option("group", f"{first.replace(';', ' ')}; {cards}", file, number))
            lines = lines[ends[0] + 1 :]
    return found


def selection_of_cards(option: Option) -> str:
    """Returns the selection of a group's cards. Raises `InputError` for cards that are none."""
    cards = [card.split() for card in option.text.split("; ")[2:]]
    listed: list[str] = []
    wanted: list[str] = []
    finds = False
    for words in cards:
        kind = words[0].upper()
        if kind in ("FIND", "SEARCH"):
            finds = kind == "FIND"
        elif finds and len(words) == 4 and words[1:3] == ["*", "*"]:
            parts = [f"{key} {word}" for key, word in zip(("name", "resname"), words[::3], strict=True) if word != "*"]
            wanted.append(" and ".join(parts) or "all")
        elif kind in ("RES", "ATOM") and len(words) % 2 and all(word.isdigit() for word in words[1:]):
            pairs = [f"{a}:{b}" for a, b in zip(words[1::2], words[2::2], strict=True) if int(a)]
            listed.append(f"{'resid' if kind == 'RES' else 'bynum'} {' '.join(pairs)}")
        else:
            raise InputError(
                f"{option.where}: group: expected RES, ATOM, FIND and SEARCH, found {' '.join(words)[:60]!r}"
            )
    if not listed:
        raise InputError(f"{option.where}: group: expected RES or ATOM with numbers")
    both = [f"({' or '.join(part)})" if len(part) > 1 else part[0] for part in (listed, wanted) if part]
    return " and ".join(both)
