"""Reads the tables of docs/records."""

from __future__ import annotations

import re

import click

from bench.common.results import RECORDS

Table = list[list[str]]  # the header first


def text_of(name: str) -> str:
    return (RECORDS / f"{name}.md").read_text()


def table_of(name: str, title: str) -> Table:
    """Returns the first table of a record that has a column of that title."""
    for block in re.findall(r"(?:^\|.*\n)+", text_of(name), flags=re.M):
        rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in block.splitlines()]
        if title in rows[0]:
            return [rows[0], *rows[2:]]
    raise click.ClickException(f"docs/records/{name}.md has no table with a column {title!r}")


def value(cell: str) -> float:
    return float(cell.replace(",", ""))
