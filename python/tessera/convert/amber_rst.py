"""Translates AMBER's files of restraints (DISANG), namelists &rst, such as those of CHARMM-GUI for dihedrals.

Between r2 and r3 there is no force, beyond them k·d² without a factor ½, and beyond r1 and r4 a straight line (Amber
reference manual, NMR refinement), which is a parabola here too. What a &rst does not say is as in the one before it.
"""

from __future__ import annotations

import re

from tessera.convert.model import Setting, Translation, Value
from tessera.errors import InputError

_KINDS = {2: "distance", 3: "angle", 4: "dihedral"}
_NUMBERS = ("r1", "r2", "r3", "r4", "rk2", "rk3")
#: options that change nothing with this value
_OFF = ("iresid", "nstep1", "nstep2", "ifvari", "ifntyp", "irstyp", "ialtd", "ixpk", "nxpk")
_MOST_ROWS = 20_000


def rows_of(t: Translation, value: Value, text: str) -> list[dict[str, Setting]]:
    """Returns the rows of [[restraint]] of a file. Raises `InputError` for what has no counterpart."""
    plain = re.sub(r"^\s*[#!].*$|!.*$", "", text, flags=re.MULTILINE)
    found = list(re.finditer(r"&rst\b(.*?)(?:&end\b|/)", plain, re.IGNORECASE | re.DOTALL))
    rest = re.sub(r"&rst\b.*?(?:&end\b|/)", "", plain, flags=re.IGNORECASE | re.DOTALL)
    if rest.strip():
        raise InputError(f"{value.text}: expected namelists &rst, found {rest.split(maxsplit=1)[0][:60]!r}")
    now: dict[str, float] = {}
    rows: list[dict[str, Setting]] = []
    for match in found:
        where = f"{value.text}:{plain.count(chr(10), 0, match.start()) + 1}"
        row = _row(t, where, match[1], now)
        if row is not None:
            rows.append({key: Setting(one, "") for key, one in row.items()})
    if len(rows) > _MOST_ROWS:
        raise InputError(f"{value.text}: more than {_MOST_ROWS} restraints")
    return rows


def _row(t: Translation, where: str, text: str, now: dict[str, float]) -> dict[str, object] | None:
    """Returns a row, none where it has no force; `now` has the numbers so far."""
    atoms: list[int] = []
    for name, given in re.findall(r"(\w+)\s*=\s*([^=]*?)[\s,]*(?=\w+\s*=|$)", text.strip()):
        option = Value(f"{where}: {name}", given.replace(",", " "), None, t.program)
        if name.lower() == "iat":
            atoms = [int(number) for number in option.numbers()]
        elif name.lower() in _NUMBERS:
            now[name.lower()] = option.number()
        elif name.lower() not in _OFF or any(option.numbers()):
            raise InputError(f"{where}: {name} = {given[:40]}: known here are iat, r1 to r4, rk2 and rk3")
    while atoms and atoms[-1] == 0:
        atoms.pop()
    if len(atoms) not in _KINDS or min(atoms) < 1:
        raise InputError(f"{where}: expected two, three or four numbers of atoms in iat")
    if missing := [name for name in _NUMBERS if name not in now]:
        raise InputError(f"{where}: {missing[0]} is not given")
    if now["rk2"] != now["rk3"] or now["rk2"] < 0 or now["r2"] > now["r3"]:
        raise InputError(f"{where}: expected rk2 = rk3 of at least 0, and r2 of at most r3")
    if not now["rk2"]:
        return None
    middle, half = (now["r2"] + now["r3"]) / 2, (now["r3"] - now["r2"]) / 2
    row: dict[str, object] = {"kind": _KINDS[len(atoms)], "groups": [f"index {atom - 1}" for atom in atoms]}
    row |= {"k": now["rk2"], "target": round(middle, 9)}
    return row | ({"flat": round(half, 9)} if half else {})
