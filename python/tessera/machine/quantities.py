"""Reads and writes bytes, rates and times with their usual units."""

from __future__ import annotations

import math
import re
from typing import Any

import click

_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def whole_of(text: str) -> int | None:
    """Returns the whole number that decimal digits are; None where there are others, or more than 64 bits hold."""
    number = int(text) if text.isdecimal() and len(text) <= 19 else 2**63
    return number if number < 2**63 else None


class Bytes(click.ParamType):
    """Reads a number of bytes on the command line: 16384, 8KiB, 1.3M."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?i?)b?", str(value).strip(), re.IGNORECASE)
        factor = match and {**_DECIMAL, **_BINARY}.get(match[2].lower())
        if not match or not factor:
            self.fail(f"{value!r} is no number of bytes; write 16384, 8KiB, 64k or 1.3M", param, ctx)
        number = float(match[1]) * factor
        if number >= 2**63:
            self.fail(f"{value!r} are more bytes than 64 bits can count", param, ctx)
        return round(number)


class Finite(click.FloatRange):
    """Reads a number on the command line that is neither infinite nor "nan", within limits where it has some."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number", param, ctx)
        return number


def _scaled(value: float, units: list[tuple[float, str]]) -> str:
    """Returns three digits and a suitable unit; `units` are from large to small."""
    factor, unit = next(((f, u) for f, u in units if value >= 0.9995 * f), units[-1])
    scaled = value / factor
    digits = 0 if scaled <= 0 else max(0, 2 - math.floor(math.log10(scaled) + 1e-3))
    text = f"{scaled:.{min(digits, 3)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}"


def rate_text(bytes_per_second: float) -> str:
    """Returns a network's rate in bits, as is usual for networks: "94.1 Mbit/s"."""
    return _scaled(8 * bytes_per_second, [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")])


def memory_rate_text(bytes_per_second: float) -> str:
    """Returns the rate of copies in memory in bytes: "5.2 GB/s"."""
    return _scaled(bytes_per_second, [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")])


def time_text(seconds: float) -> str:
    return _scaled(seconds, [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])


def bytes_text(n: float) -> str:
    """Writes a number of bytes with powers of two where it is a multiple of one, else with powers of ten: "128 KiB",
    "1.3 MB"."""
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n >= factor and n % factor == 0:
            return f"{n / factor:.0f} {unit}"
    return _scaled(n, [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")])


def names_text(names: list[str]) -> str:
    """Abbreviates names: n0 n1 n2 m7 as "n[0-2] m7"."""
    runs: list[tuple[str, str, list[str]]] = []  # prefix, suffix, numbers that follow each other
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)(\D*)", name)
        if match is None:
            runs.append((name, "", []))
            continue
        prefix, number, suffix = match.groups()
        if runs:
            before, after, numbers = runs[-1]
            before_it = whole_of(numbers[-1]) if numbers else None
            follows = before_it is not None and number == str(before_it + 1).zfill(len(numbers[-1]))
            if follows and (before, after) == (prefix, suffix):
                numbers.append(number)
                continue
        runs.append((prefix, suffix, [number]))
    return " ".join(
        f"{prefix}[{numbers[0]}-{numbers[-1]}]{suffix}" if len(numbers) > 1 else f"{prefix}{''.join(numbers)}{suffix}"
        for prefix, suffix, numbers in runs
    )


def table(rows: list[list[str]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """Returns rows as lines with aligned columns; the columns in `right` are aligned at their end."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines
