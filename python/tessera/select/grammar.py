"""Parses how several programs name atoms, terms with not, and, or and brackets, into the language of MDAnalysis."""

from __future__ import annotations

from abc import ABC, abstractmethod


class NoCounterpartError(Exception):
    """A part of a selection that has no counterpart."""


class Grammar(ABC):
    """The words of a program. Raises `NoCounterpartError` where a part has no counterpart."""

    either: tuple[str, ...]
    both: tuple[str, ...]
    negations: tuple[str, ...]

    @abstractmethod
    def term(self, word: str) -> str:
        """Returns the selection of a word that joins no others."""

    def belongs_to_the_last(self, word: str) -> bool:
        """Tells whether atoms have to be those of this term, too, which follows another without a word between."""
        return False

    def parsed(self, words: list[str]) -> tuple[str, list[str]]:
        """Returns the selection of terms with `or` between them, and the words that follow."""
        found, words = self._all_of(words)
        while words and words[0].lower() in self.either:
            other, words = self._all_of(words[1:])
            found = f"({found} or {other})"
        return found, words

    def _all_of(self, words: list[str]) -> tuple[str, list[str]]:
        found, words = self._one(words)
        while words and ((is_said := words[0].lower() in self.both) or self.belongs_to_the_last(words[0])):
            other, words = self._one(words[1:] if is_said else words)
            found = f"({found} and {other})"
        return found, words

    def _one(self, words: list[str]) -> tuple[str, list[str]]:
        if not words:
            raise NoCounterpartError("its end")
        first, rest = words[0], words[1:]
        if first.lower() in self.negations:
            found, rest = self._one(rest)
            if rest and self.belongs_to_the_last(rest[0]):  # which would be negated with it
                raise NoCounterpartError(f"{first} before residues and atoms: put brackets around them")
            return f"(not {found})", rest
        if first == "(":
            found, rest = self.parsed(rest)
            if rest[:1] != [")"]:
                raise NoCounterpartError(rest[0] if rest else "a bracket that is not closed")
            return found, rest[1:]
        return self.term(first), rest
