"""What the selections of a run come to: the content of `selections.json`, cpp/tessera/app/select/selections.h."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tessera.errors import SENSELESS, InputError
from tessera.files import read_regular
from tessera.system import System
from tessera.system.model import IdArray

FORMAT, VERSION = "tessera-selections", 1
NAME, NEXT_NAME = "selections.json", "selections.next.json"
Ranges = list[list[int]]


def resolve(system: System, wanted: Sequence[tuple[str, str]]) -> dict[str, Ranges]:
    """Returns the ranges of ids, [first, last] each, of every text.

    `wanted` holds pairs of a key, for messages, and a text. Raises `InputError` where a text is no selection or names
    no atom, or where MDAnalysis is not installed.
    """
    from tessera.export.structure import structure_of

    found: dict[str, Ranges] = {}
    if not wanted:
        return found
    try:
        import MDAnalysis  # noqa: F401

        from tessera.select.universe import Selector
    except ModuleNotFoundError as error:
        key, text = wanted[0]
        raise InputError(
            f"{key} = {text!r}: this selection needs {error.name}, which is not installed: "
            "pip install 'tessera-md[formats]', or write 'index 0:99' (ids, from 0) or 'bynum 1:100' (from 1), which "
            "need no package"
        ) from None
    try:
        structure = structure_of(system, "selections")
    except InputError:  # a molecule is bonded to its own image
        structure = structure_of(system, "selections", whole=False)
    selector = Selector(structure, system)
    for key, text in wanted:
        if text not in found:
            found[text] = ranges_of(selector.rows(text, f"{key} ="))
    return found


def ranges_of(ids: IdArray) -> Ranges:
    """Returns [first, last] of each run of consecutive ids."""
    ids = np.sort(ids)  # which NumPy does a hundred times as fast as np.unique, and repeated ids are no new run
    starts = np.flatnonzero(np.diff(ids, prepend=-2) > 1)
    return [[int(ids[a]), int(ids[b - 1])] for a, b in zip(starts, [*starts[1:], len(ids)])]


def file_text(n_atoms: int, selections: dict[str, Ranges]) -> str:
    """Returns the content of a file of selections."""
    return json.dumps({"format": FORMAT, "version": VERSION, "atoms": n_atoms, "selections": selections})


def read_file(path: Path) -> dict[str, Ranges]:
    """Returns what a file of selections holds; nothing where there is none, or it can't be understood."""
    try:
        content: Any = json.loads(read_regular(path))
        return dict(content["selections"])
    except (OSError, *SENSELESS):
        return {}
