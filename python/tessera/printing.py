"""Prints text that may hold words of files, names and arguments."""

from __future__ import annotations

import os
import re

import click

# What a terminal acts on instead of showing it: control characters, separators of lines, marks that change the
# direction of writing, and bytes of names that are no UTF-8. The engine's list is in cpp/tessera/comm/printable.cpp.
_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


#: what is named in place of a file where text can't be printed
STANDARD = ("standard output", "standard error")


def printable(text: str, lines: bool = False) -> str:
    """Returns a text without characters that a terminal would act on, such as escape codes: they become \\u001b. With
    `lines`, line ends stay."""
    return _ACTS.sub(lambda found: found[0] if lines and found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def layout(ranks: float, threads: float) -> str:
    """Returns such as `2 ranks × 1 thread`."""
    return f"{ranks:.0f} rank{'s' * (ranks != 1)} × {threads:.0f} thread{'s' * (threads != 1)}"


def counted(n: int, what: str, of: int | None = None) -> str:
    """Returns such as `1 water` or `2,000 waters`; of another number in all, `1 of 2,000 waters`."""
    return f"{n:,} of {counted(of, what)}" if of is not None and of != n else f"{n:,} {what}{'s' * (n != 1)}"


def are(n: int) -> str:
    """Returns the verb of so many things, `is` or `are`."""
    return "is" if n == 1 else "are"


def echo(text: str = "", err: bool = False, nl: bool = True) -> None:
    """Prints a text of one or more lines to standard output, or to standard error. Raises `OSError` that names it."""
    try:
        click.echo(printable(text, lines=True), err=err, nl=nl)
    except OSError as error:
        raise OSError(error.errno, error.strerror, STANDARD[err]) from None


def told(error: Exception) -> str:
    """Returns the message of an exception; of an error of a file its name, and what the system says."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def end(error: Exception, status: int = 2) -> SystemExit:
    """Prints what is wrong with the input. Returns what ends the program. That who reads what is printed has gone is
    nothing to print, and is raised as it is."""
    if isinstance(error, BrokenPipeError):
        raise error
    echo(f"tessera: error: {told(error)}", err=True)
    return SystemExit(status)


class Told(Exception):
    """An exception whose text is for the user, in one line."""

    def __str__(self) -> str:
        return printable(super().__str__())
