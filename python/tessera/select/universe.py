"""MDAnalysis' view of a system, and the atoms that its selections name."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from tessera.errors import SENSELESS, InputError
from tessera.export.structure import Structure, symbols, terms
from tessera.system import System
from tessera.system.model import IdArray


def universe_of(structure: Structure) -> Any:
    """Returns an MDAnalysis Universe; it keeps positions in single precision."""
    import MDAnalysis
    from MDAnalysis.lib.mdamath import triclinic_box

    segments, segment = np.unique(structure.segment.astype(str), return_inverse=True)
    universe = MDAnalysis.Universe.empty(
        structure.n_atoms,
        n_residues=len(structure.residue_name),
        n_segments=len(segments),
        atom_resindex=structure.residue,
        residue_segindex=segment,
        trajectory=True,
        velocities=structure.velocity is not None,
    )
    for name, values in (
        ("names", structure.name),
        ("types", structure.type),
        ("charges", structure.charge),
        ("masses", structure.mass),
        ("elements", symbols(structure.atomic_number)[structure.atomic_number]),
        ("chainIDs", structure.chain[structure.residue]),
        ("resnames", structure.residue_name),
        ("resids", structure.residue_number),
        ("segids", segments.astype(object)),
    ):
        universe.add_TopologyAttr(name, values)
    if structure.insertion.any():
        universe.add_TopologyAttr("icodes", structure.insertion)
    universe.atoms.positions = structure.position
    if structure.velocity is not None:
        universe.atoms.velocities = structure.velocity
    if structure.box is not None:
        universe.dimensions = triclinic_box(*structure.box)
    return universe


def _advice(reason: str) -> str:
    """Says how a selection may be mended that MDAnalysis does not understand."""
    from MDAnalysis.core.selection import is_keyword

    token = re.search(r"[Uu]nexpected token.*'(\w+)'", reason)
    if token and is_keyword(token[1]) and token[1] not in ("and", "or", "not"):
        return (
            f"{token[1]} is a word of the language: where it is a name, write it with a backslash, as in "
            f"'resname \\{token[1]}' (in a run file within single quotes)"
        )
    return "an example is 'protein and not name H*', all are in its documentation"


def selected(structure: Structure, text: str, system: System | None) -> IdArray:
    """Returns rows of the atoms that the MDAnalysis selection of `--select` names. Raises `InputError` where it is
    none, names no atom, or needs bonds without a system."""
    return Selector(structure, system).rows(text, "--select")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


class Selector:
    """Finds the atoms of many selections in one structure."""

    def __init__(self, structure: Structure, system: System | None) -> None:
        self._structure, self._system = structure, system
        self._universe: Any = None
        self._has_bonds = False

    def rows(self, text: str, key: str) -> IdArray:
        """Returns what `selected` does."""
        from MDAnalysis.exceptions import NoDataError, SelectionError

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._universe is None:
                self._universe = universe_of(self._structure)
            if not self._has_bonds and re.search(r"\b(bonded|fragment)\b", text):  # a million bonds take seconds
                if self._system is None:
                    raise InputError(f"{key} {_quoted(text)} needs the bonds of a system: name its file with --system")
                self._universe.add_TopologyAttr("bonds", terms(self._system, self._structure.ids)["bond"])
                self._has_bonds = True
            try:
                rows = self._universe.select_atoms(text).indices
            except (SelectionError, NoDataError, ImportError, NotImplementedError, re.error, *SENSELESS) as error:
                reason = " ".join(str(error).split())
                raise InputError(
                    f"{key} {_quoted(text)} is no selection of MDAnalysis: {reason}; {_advice(reason)}"
                ) from None
        if not len(rows):
            names = list(dict.fromkeys(self._structure.residue_name.tolist()))
            raise InputError(f"{key} {_quoted(text)} names no atom; the residues are {', '.join(names[:12])}"
                             f"{' …' if len(names) > 12 else ''}")  # fmt: skip
        return np.asarray(rows, np.int64)
