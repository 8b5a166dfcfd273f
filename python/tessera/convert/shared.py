"""Translates what several programs say alike: the mesh of Ewald's sum, and files of bonded restraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tessera.convert.model import Setting, Translation, Value
from tessera.errors import InputError

MOST_ROWS = 20_000


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


def bonded_restraints(
    name: str, text: str, program: str, kind_of: Callable[[str], tuple[str, int]], first: int, *, words: str, what: str
) -> list[dict[str, Setting]]:
    """Returns rows of `[[restraint]]` from lines such as DIHEDRAL 36 25 28 30 250 120.0, without those of no force.

    `kind_of` returns the kind and the number of atoms of a line's first word, "" for an unknown one; atoms count from
    `first`. `words` are those that are expected, `what` the name of such lines. Raises `InputError` with file and line.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split("#", 1)[0].split()
        if not parts:
            continue
        where = f"{name}:{number}"
        kind, n_atoms = kind_of(parts[0].lower())
        atoms, numbers = parts[1 : 1 + n_atoms], parts[1 + n_atoms :]
        if not kind or len(numbers) != 2 or not all(word.isdigit() and int(word) >= first for word in atoms):
            raise InputError(f"{where}: expected {words}, atoms, a constant and a value")
        k, target = Value(where, " ".join(numbers), None, program).numbers(2)
        if k < 0:
            raise InputError(f"{where}: expected a constant of at least 0, found {k:g}")
        if k:
            groups = [f"index {int(word) - first}" for word in atoms]
            row = {"kind": kind, "groups": groups, "k": k, "target": target}
            rows.append({key: Setting(one, "") for key, one in row.items()})
    if len(rows) > MOST_ROWS:
        raise InputError(f"{name}: more than {MOST_ROWS} {what}")
    return rows
