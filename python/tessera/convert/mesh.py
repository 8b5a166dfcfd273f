"""Translates what several programs say alike of the mesh of Ewald's sum."""

from __future__ import annotations

from collections.abc import Sequence

from tessera.convert.model import Translation, Value


def set_order(t: Translation, order: Value) -> None:
    """Sets the order of splines, or refuses it."""
    if order.integer() in (4, 6, 8):
        t.set("pme.order", order.integer(), order)
    else:
        t.refuse(order, "pme.order is 4, 6 or 8")


def set_grid(t: Translation, grid: Sequence[Value], names: str, spacing: Value | None = None) -> bool:
    """Sets the numbers of points where all are given, and refuses some of them alone. Returns whether they are set."""
    if all(value.is_given for value in grid):
        t.set("pme.grid", [value.count() for value in grid], *grid)
        if spacing and spacing.is_given:
            t.ignore(spacing, "the numbers of grid points are given")
        return True
    for value in grid:
        if value.is_given:
            t.refuse(value, f"give {names}, or none")
    return False
