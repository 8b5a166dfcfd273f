"""Writes PDBx/mmCIF column by column, some atoms at a time, so that no atom is an object for longer than its line.

Chains have the names of segments, of any length, as `label_asym_id` and `auth_asym_id`. Quoting is that of CIF 1.1
(Hall et al. 1991): within quotes of one kind these marks may stand wherever no blank follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from tessera.export.structure import Structure, symbols
from tessera.export.text import CHUNK, check_words
from tessera.system.arrays import IdArray
from tessera.system.box import lengths_and_angles
from tessera.version import __version__

NAME = "mmCIF"
_PLAIN = re.compile(r"[^\s_#$'\"\[\];][^\s'\"]*")  # as the PDB does, words with a quote inside are quoted too
_RESERVED = re.compile(r"(data_|save_|loop_|stop_|global_).*|[.?]", re.IGNORECASE)
COLUMNS = (
    "group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id", "label_asym_id",
    "label_entity_id", "label_seq_id", "pdbx_PDB_ins_code", "Cartn_x", "Cartn_y", "Cartn_z", "occupancy",
    "B_iso_or_equiv", "pdbx_formal_charge", "auth_seq_id", "auth_comp_id", "auth_asym_id", "auth_atom_id",
    "pdbx_PDB_model_num",
)  # fmt: skip
LENGTHS, ANGLES = ("length_a", "length_b", "length_c"), ("angle_alpha", "angle_beta", "angle_gamma")


def write_mmcif(structure: Structure, path: Path) -> list[str]:
    """Writes the atoms as one model, and the box. Returns notes, of which there are none. Raises `InputError` for names
    that are blank or hold blanks."""
    check_names(NAME, structure)
    with path.open("w") as file:
        file.write(f"data_system\n# {structure.title}\n# written by tessera {__version__}\n#\n")
        if structure.box is not None:
            numbers = lengths_and_angles(structure.box).tolist()
            keys = (*LENGTHS, *ANGLES)
            file.writelines(f"_cell.{key:<12} {value:.4f}\n" for key, value in zip(keys, numbers, strict=True))
            file.write("#\n")
        file.write("loop_\n")
        file.writelines(f"_atom_site.{column}\n" for column in COLUMNS)
        file.writelines(_lines(structure))
        file.write("#\n")
    return []


def check_names(format_name: str, structure: Structure) -> None:
    """Raises `InputError` for names that are blank or hold blanks."""
    for what, values in (
        ("atom name", structure.name), ("residue name", structure.residue_name), ("segment", structure.segment),
    ):  # fmt: skip
        check_words(format_name, what, values)


def polymers() -> set[str]:
    """Returns the names of residues that chains consist of."""
    from MDAnalysis.core.selection import NucleicSelection, ProteinSelection

    found: set[str] = ProteinSelection.prot_res | NucleicSelection.nucl_res
    return found


def quoted(values: Iterable[str]) -> dict[str, str]:
    """Returns texts without blanks as mmCIF has them: quoted where a reader would take them for something else."""
    words = {}
    for value in dict.fromkeys(values):
        is_plain = _PLAIN.fullmatch(value) and not _RESERVED.fullmatch(value)
        mark = '"' if "'" in value and '"' not in value else "'"
        words[value] = value if is_plain else f"{mark}{value}{mark}"
    return words


def _lines(structure: Structure) -> Iterator[str]:
    names, symbol_of = quoted(structure.name.tolist()), symbols(structure.atomic_number, "?")
    words = _Residues(structure)
    for begin in range(0, structure.n_atoms, CHUNK):
        rows = slice(begin, begin + CHUNK)
        residues, of_atom = np.unique(structure.residue[rows], return_inverse=True)
        before, middle, behind = words.of(residues)
        columns = (
            of_atom.reshape(-1).tolist(),
            symbol_of[structure.atomic_number[rows]].tolist(),
            [names[name] for name in structure.name[rows].tolist()],
            *structure.position[rows].T.tolist(),
        )
        for number, (row, symbol, name, x, y, z) in enumerate(zip(*columns, strict=True), start=begin + 1):
            yield (
                f"{before[row]} {number} {symbol} {name} {middle[row]} {x:.4f} {y:.4f} {z:.4f} {behind[row]} {name} 1\n"
            )


class _Residues:
    """What the lines of a residue's atoms have in common: the words before the atom's number, behind its name and
    behind its place."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._names, self._segments = (
            quoted(values.tolist()) for values in (structure.residue_name, structure.segment)
        )
        self._polymers = polymers()

    def of(self, residues: IdArray) -> tuple[list[str], list[str], list[str]]:
        found = self._structure
        names, segments, codes = (
            values[residues].tolist() for values in (found.residue_name, found.segment, found.insertion)
        )
        before = ["ATOM" if name in self._polymers else "HETATM" for name in names]
        middle, behind = [], []
        for name, segment, number, code in zip(
            [self._names[name] for name in names], [self._segments[segment] for segment in segments],
            found.residue_number[residues].tolist(), codes, strict=True,
        ):  # fmt: skip
            middle.append(f". {name} {segment} ? {number} {code or '?'}")
            behind.append(f"1.0 0.0 ? {number} {name} {segment}")
        return before, middle, behind
