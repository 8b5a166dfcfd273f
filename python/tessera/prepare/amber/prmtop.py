"""Reads AMBER's prmtop, sections of fixed columns, each of which is compared with the counts of POINTERS.

    %FLAG CHARGE
    %FORMAT(5E16.8)
      1.00000000E+00 ...

An unknown section may hold an interaction, so it is refused unless it is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.errors import InputError
from tessera.prepare.text import read_source
from tessera.system.model import FloatArray, IdArray

#: POINTERS in their order; the last two were added later
_POINTERS = (
    "NATOM", "NTYPES", "NBONH", "MBONA", "NTHETH", "MTHETA", "NPHIH", "MPHIA", "NHPARM", "NPARM", "NNB", "NRES",
    "NBONA", "NTHETA", "NPHIA", "NUMBND", "NUMANG", "NPTRA", "NATYP", "NPHB", "IFPERT", "NBPER", "NGPER", "NDPER",
    "MBPER", "MGPER", "MDPER", "IFBOX", "NMXRS", "IFCAP", "NUMEXTRA", "NCOPY",
)  # fmt: skip
_LEAST_POINTERS = 30
_LONGEST_LINE = 1000
#: sections that have no effect on forces
_HARMLESS = {
    "TITLE", "CTITLE", "FORCE_FIELD_TYPE", "SOLTY", "HBCUT", "TREE_CHAIN_CLASSIFICATION", "JOIN_ARRAY", "IROTAT",
    "RADIUS_SET", "RADII", "SCREEN", "SOLVENT_POINTERS", "ATOMS_PER_MOLECULE", "CAP_INFO", "CAP_INFO2",
    "RESIDUE_NUMBER", "RESIDUE_CHAINID", "RESIDUE_ICODE", "ATOM_ELEMENT", "ATOM_NUMBER", "ATOM_BFACTOR",
    "ATOM_OCCUPANCY",
}  # fmt: skip
_MAPS = re.compile(r"(CHARMM_)?CMAP_(COUNT|RESOLUTION|INDEX|PARAMETER_\d\d+)")
#: beginnings of names of sections that are not supported
_UNSUPPORTED = {
    "AMOEBA_": "an AMOEBA force field",
    "LES_": "copies of atoms (locally enhanced sampling, LES)",
    "LENNARD_JONES_DCOEF": "12-6-4 ions of an unknown form",
    "POLARIZABILITY": "polarisabilities",
    "DIPOLE_DAMP": "polarisabilities",
    "PERT_": "perturbed parameters",
    "IAPER": "perturbed parameters",
    "ALMPER": "perturbed parameters",
    "CHARGE_PERT": "perturbed parameters",
}
_CHAMBER_MARKS = ("CTITLE", "CHARMM_UREY_BRADLEY_COUNT", "CHARMM_NUM_IMPROPERS", "LENNARD_JONES_14_ACOEF")
_FORMAT = re.compile(r"%FORMAT\((\d{1,3})\(?([aAiIeEfFdDgG])(\d{1,3})(?:\.\d+)?\)?\)")


@dataclass
class _Section:
    flag: str
    line: int  # of its first value, from 0
    form: tuple[int, str, int] | None = None  # values in a line, letter of the kind, characters in a value
    count: int = 0  # number of lines


class Prmtop:
    """The sections by flag, as arrays. Raises `InputError` that names the line."""

    def __init__(self, path: str | Path) -> None:
        source = read_source(path, "prmtop file")
        self.name = source.name
        self._text = source.text
        self._sections = self._find_sections()
        self._refuse_sections()
        self.is_chamber = any(flag in self._sections for flag in _CHAMBER_MARKS)
        values = self._values("POINTERS", None, "iI")
        if not _LEAST_POINTERS <= len(values) <= len(_POINTERS):
            raise self._wrong("POINTERS", f"has {len(values)} values, expected {_LEAST_POINTERS} to {len(_POINTERS)}")
        if (values.min() < 0 and (values[values < 0] != -1).any()) or values[0] < 1:
            raise self._wrong("POINTERS", "has a negative count, or no atoms")
        self.pointers = dict.fromkeys(_POINTERS, 0) | dict(zip(_POINTERS, values.tolist()))
        self._refuse_pointers()
        self._counts = self._expected()

    @property
    def n_atoms(self) -> int:
        return self.pointers["NATOM"]

    def has(self, flag: str) -> bool:
        """Returns whether there is such a section. An empty one counts, because its values may be missing."""
        return flag in self._sections

    def holds_maps(self, prefix: str) -> bool:
        """Returns whether a section of CMAP with this prefix has any values."""
        return any(flag.startswith(f"{prefix}CMAP_") and s.count > 0 for flag, s in self._sections.items())

    def numbers(self, flag: str, count: int | None = None) -> FloatArray:
        """Returns all numbers of a section; `count` is for sections that POINTERS does not count."""
        values = self._values(flag, self._counts[flag] if count is None else count, "eEfFdDgG")
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise self.wrong(flag, int(bad[0]), f"{values[bad[0]]} is not finite")
        return values

    def integers(self, flag: str, count: int | None = None) -> IdArray:
        return self._values(flag, self._counts[flag] if count is None else count, "iI")

    def texts(self, flag: str) -> np.ndarray:
        """Returns texts (count,) of at most eight characters."""
        values = self._values(flag, self._counts[flag], "aA")
        width = values.dtype.itemsize
        bad = np.flatnonzero(
            np.ascontiguousarray(values).view(np.uint8).reshape(-1, width).max(axis=1, initial=0) > 126
        )
        if len(bad):
            raise self.wrong(flag, int(bad[0]), f"{values[bad[0]].decode('latin-1')!r} is not plain ASCII")
        return np.char.strip(values).astype("S8")

    def indices(self, flag: str, limit: int) -> IdArray:
        """Returns whole numbers from 1 to `limit`, less 1."""
        values = self.integers(flag)
        bad = np.flatnonzero((values < 1) | (values > limit))
        if len(bad):
            raise self.wrong(flag, int(bad[0]), f"{values[bad[0]]} is not within 1 to {limit}")
        return values - 1

    def terms(self, flag: str, width: int, types: int) -> IdArray:
        """Returns a list (m, width + 1) of bonds, angles or dihedrals: three times each atom, counted from 0, and the
        row of the parameters. Atoms are negative where the sign of a dihedral's third or fourth atom has a meaning."""
        values = self.integers(flag).reshape(-1, width + 1)
        atoms, kind = values[:, :-1], values[:, -1]
        wrong = (np.abs(atoms) % 3 != 0) | (np.abs(atoms) // 3 >= self.n_atoms)
        wrong[:, :2] |= atoms[:, :2] < 0
        if width < 4:
            wrong |= atoms < 0
        bad = np.flatnonzero(wrong)
        if len(bad):
            row, column = divmod(int(bad[0]), width)
            raise self.wrong(
                flag, row * (width + 1) + column, f"{atoms[row, column]} is not three times one of {self.n_atoms} atoms"
            )
        bad = np.flatnonzero((kind < 1) | (kind > types))
        if len(bad):
            at = int(bad[0]) * (width + 1) + width
            raise self.wrong(flag, at, f"{kind[bad[0]]} is not within the {types} kinds of parameters")
        twice = np.sort(np.abs(atoms), axis=1)
        bad = np.flatnonzero((np.diff(twice, axis=1) == 0).any(axis=1))
        if len(bad):
            raise self.wrong(flag, int(bad[0]) * (width + 1), "a term names one atom twice")
        return np.concatenate([atoms, kind[:, None] - 1], axis=1)

    def wrong(self, flag: str, index: int, found: str) -> InputError:
        """Returns the exception for one value of a section."""
        section = self._sections[flag]
        per_line = section.form[0] if section.form else 1
        return self._text.wrong(section.line + index // per_line, f"{flag}: {found}")

    def _wrong(self, flag: str, found: str) -> InputError:
        return self._text.wrong(self._sections[flag].line, f"section {flag} {found}")

    def _find_sections(self) -> dict[str, _Section]:
        text = self._text
        sections: dict[str, _Section] = {}
        section: _Section | None = None
        heads = np.flatnonzero(text.first == ord("%")).tolist()
        if text.line(0)[:1] != "%" or not any(text.line(line).startswith("%FLAG") for line in heads):
            raise InputError(
                f"{self.name} is not a prmtop of AMBER 7 or later: it does not begin with %VERSION or %FLAG"
            )
        for line, after in zip(heads, [*heads[1:], len(text)]):
            words = text.line(line).split()
            if words[0] == "%FLAG" and len(words) == 2:
                if section is not None and section.form is None:
                    raise text.wrong(line, f"section {section.flag} has no %FORMAT")
                if words[1] in sections:
                    raise text.wrong(line, f"section {words[1]} comes twice")
                section = sections[words[1]] = _Section(words[1], line + 1)
            elif words[0].startswith("%FORMAT") and section is not None and section.form is None:
                match = _FORMAT.fullmatch("".join(words))
                # Titles have formats such as (i2,a78).
                section.form = (int(match[1]), match[2], int(match[3])) if match else (1, "a", 80)
                if not 0 < section.form[0] * section.form[2] <= _LONGEST_LINE:
                    raise text.wrong(line, f"expected a format such as %FORMAT(10I8), found {text.line(line)!r}")
            elif words[0] not in ("%COMMENT", "%VERSION"):
                raise text.wrong(line, f"expected %FLAG and then %FORMAT, found {text.line(line)[:40]!r}")
            filled = text.length[line + 1 : after] > 0
            lines = int(np.flatnonzero(filled)[-1]) + 1 if filled.any() else 0
            if section is None or section.form is None:
                if lines:
                    raise text.wrong(line + 1, "expected %FLAG and %FORMAT before values")
            elif lines and section.count:
                raise text.wrong(line, f"section {section.flag} continues after {words[0]}")
            elif lines:
                section.line, section.count = line + 1, lines
        if section is not None and section.form is None:
            raise InputError(f"{self.name} is truncated: its last section, {section.flag}, has no %FORMAT")
        return sections

    def _refuse_sections(self) -> None:
        known = _HARMLESS | {"IPOL", "POINTERS"} | set(_PER_POINTER) | _OTHERS
        for flag, section in self._sections.items():
            if not section.count:
                continue
            for beginning, what in _UNSUPPORTED.items():
                if flag.startswith(beginning):
                    raise InputError(f"{self.name} has {what} (section {flag}): not supported")
            if flag not in known and not _MAPS.fullmatch(flag):
                raise self._text.wrong(section.line, f"section {flag} is not known, and may hold an interaction")
        if self._sections.get("IPOL", _Section("IPOL", 0)).count and self._values("IPOL", 1, "iI")[0] != 0:
            raise InputError(f"{self.name} has polarisabilities (IPOL is not 0): not supported")
        if "POINTERS" not in self._sections:
            raise InputError(f"{self.name} is not a prmtop: it has no section POINTERS")

    def _refuse_pointers(self) -> None:
        for pointer, what in (
            ("IFPERT", "perturbed parameters"),
            ("NPARM", "copies of atoms (locally enhanced sampling, LES)"),
            ("IFCAP", "a cap of water"),
        ):
            if self.pointers[pointer] > 0:
                raise InputError(f"{self.name} has {what} ({pointer} is {self.pointers[pointer]}): not supported")
        for one, other in (("MBONA", "NBONA"), ("MTHETA", "NTHETA"), ("MPHIA", "NPHIA")):
            if self.pointers[one] != self.pointers[other]:
                raise self._wrong(
                    "POINTERS", f"has {one} = {self.pointers[one]} and {other} = {self.pointers[other]}: constraints "
                    "in a prmtop are not supported"
                )  # fmt: skip

    def _expected(self) -> dict[str, int]:
        """Returns the number of values in each section."""
        counts = {}
        for flag, (pointer, times) in _PER_POINTER.items():
            counts[flag] = times * self.pointers[pointer]
        types = self.pointers["NTYPES"]
        counts["NONBONDED_PARM_INDEX"] = types * types
        for letter in ("A", "B", "C", "14_A", "14_B"):
            flag = f"LENNARD_JONES_{letter}COEF"
            counts[flag] = types * (types + 1) // 2
        counts["BOX_DIMENSIONS"] = 4
        return counts

    def _values(self, flag: str, count: int | None, letters: str) -> np.ndarray:
        if flag not in self._sections:
            if count == 0:
                return np.zeros(0, np.int64 if "i" in letters else np.float64)
            raise InputError(f"{self.name} has no section {flag}")
        section = self._sections[flag]
        assert section.form is not None
        per_line, letter, width = section.form
        if letter not in letters:
            raise self._text.wrong(section.line - 1, f"section {flag} has the format {per_line}{letter}{width}")
        length = self._text.length[section.line : section.line + section.count]
        if count is None:
            count = per_line * max(0, section.count - 1) + -(-int(length[-1]) // width) if section.count else 0
        lines = -(-count // per_line)
        is_text = letter in "aA"
        if section.count != lines:
            raise self._wrong(
                flag, f"has {section.count} lines, and its {count} values need {lines}: "
                + ("lines are missing" if section.count < lines else "there are too many")
            )  # fmt: skip
        if not count:
            return np.zeros(0, np.int64 if "i" in letters else np.float64)
        rows = np.arange(section.line, section.line + lines)
        last = count - per_line * (lines - 1)
        expected = np.full(lines, per_line * width)
        expected[-1] = last * width
        self._check_lengths(flag, rows, expected, is_text)
        cut = self._text.numbers if "e" in letters else self._text.integers
        if is_text:
            characters = self._text.characters(rows, 0, per_line * width)
            return characters.view(f"S{width}").reshape(-1)[:count]
        return np.concatenate([cut(rows[:-1], 0, width, per_line).reshape(-1), cut(rows[-1:], 0, width, last)[0]])

    def _check_lengths(self, flag: str, rows: IdArray, expected: IdArray, is_text: bool) -> None:
        """Checks the lengths of lines: numbers end at the right of their columns, and trailing blanks of texts are
        removed."""
        length = self._text.length[rows[0] : rows[-1] + 1]
        bad = np.flatnonzero(length > expected if is_text else length != expected)
        if len(bad):
            row = int(rows[bad[0]])
            raise self._text.wrong(
                row, f"section {flag} has {length[bad[0]]} characters in this line, expected {expected[bad[0]]}"
            )


def _per_pointer() -> dict[str, tuple[str, int]]:
    """Returns by section the member of POINTERS that counts its items, and the number of values of one item."""
    atoms = ("ATOM_NAME", "CHARGE", "ATOMIC_NUMBER", "MASS", "ATOM_TYPE_INDEX", "NUMBER_EXCLUDED_ATOMS")
    out = dict.fromkeys((*atoms, "AMBER_ATOM_TYPE"), ("NATOM", 1))
    out |= {"RESIDUE_LABEL": ("NRES", 1), "RESIDUE_POINTER": ("NRES", 1), "EXCLUDED_ATOMS_LIST": ("NNB", 1)}
    out |= {"HBOND_ACOEF": ("NPHB", 1), "HBOND_BCOEF": ("NPHB", 1)}
    for kind, pointer in (("BOND", "NUMBND"), ("ANGLE", "NUMANG")):
        out |= {f"{kind}_FORCE_CONSTANT": (pointer, 1), f"{kind}_EQUIL_VALUE": (pointer, 1)}
    for quantity in ("DIHEDRAL_FORCE_CONSTANT", "DIHEDRAL_PERIODICITY", "DIHEDRAL_PHASE"):
        out[quantity] = ("NPTRA", 1)
    out |= {"SCEE_SCALE_FACTOR": ("NPTRA", 1), "SCNB_SCALE_FACTOR": ("NPTRA", 1)}
    for kind, width, pointers in (
        ("BONDS", 3, ("NBONH", "NBONA")),
        ("ANGLES", 4, ("NTHETH", "NTHETA")),
        ("DIHEDRALS", 5, ("NPHIH", "NPHIA")),
    ):
        out |= {f"{kind}_INC_HYDROGEN": (pointers[0], width), f"{kind}_WITHOUT_HYDROGEN": (pointers[1], width)}
    return out


_PER_POINTER = _per_pointer()
_OTHERS = {
    "NONBONDED_PARM_INDEX", "LENNARD_JONES_ACOEF", "LENNARD_JONES_BCOEF", "LENNARD_JONES_CCOEF", "BOX_DIMENSIONS",
    "LENNARD_JONES_14_ACOEF", "LENNARD_JONES_14_BCOEF", "CHARMM_UREY_BRADLEY_COUNT", "CHARMM_UREY_BRADLEY",
    "CHARMM_UREY_BRADLEY_FORCE_CONSTANT", "CHARMM_UREY_BRADLEY_EQUIL_VALUE", "CHARMM_NUM_IMPROPERS",
    "CHARMM_IMPROPERS", "CHARMM_NUM_IMPR_TYPES", "CHARMM_IMPROPER_FORCE_CONSTANT", "CHARMM_IMPROPER_PHASE",
}  # fmt: skip
