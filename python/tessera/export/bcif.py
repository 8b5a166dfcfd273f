"""Writes BinaryCIF 0.3 (Sehnal et al. 2020): the columns of mmCIF as packed numbers, in a sixth of the room.

Each column of integers takes whichever of the format's ways needs the fewest bytes. Texts are numbers of different
words. Coordinates are rounded as in mmCIF, and stored as differences from the atom before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.export.mmcif import ANGLES, COLUMNS, LENGTHS, check_names, polymers
from tessera.export.structure import Structure, symbols
from tessera.system.arrays import IdArray
from tessera.system.box import lengths_and_angles
from tessera.version import __version__

NAME = "BinaryCIF"
_DIGITS = 10_000  # of a coordinate in Å: four decimals
_INT32 = 3
_TYPE = {"int8": 1, "int16": 2, "int32": _INT32, "uint8": 4, "uint16": 5, "uint32": 6, "float32": 32, "float64": 33}
_NOT_GIVEN, _UNKNOWN = 1, 2  # of a mask: "." and "?" in mmCIF
_MOST = 2**31 - 1

Encoding = list[dict[str, Any]]


def write_bcif(structure: Structure, path: Path) -> list[str]:
    """Writes the atoms as one model, and the box. Returns notes, of which there are none. Raises `InputError` for names
    that are blank or hold blanks."""
    import msgpack

    check_names(NAME, structure)
    categories = [_category("_atom_site", structure.n_atoms, _atoms(structure))]
    if structure.box is not None:
        numbers = lengths_and_angles(structure.box).round(4)
        cell = {key: _floats(np.array([value])) for key, value in zip((*LENGTHS, *ANGLES), numbers, strict=True)}
        categories.insert(0, _category("_cell", 1, cell))
    content = {
        "version": "0.3.0",
        "encoder": f"tessera {__version__}",
        "dataBlocks": [{"header": "SYSTEM", "categories": categories}],
    }
    with path.open("wb") as file:
        msgpack.pack(content, file)
    return []


def _category(name: str, rows: int, columns: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "rowCount": rows,
        "columns": [{"name": key, "mask": None, **column} for key, column in columns.items()],
    }


def _atoms(structure: Structure) -> dict[str, Any]:
    """Returns the columns of atoms by name, in mmCIF's order."""
    n, residue = structure.n_atoms, structure.residue
    names = polymers()
    group = ["ATOM" if name in names else "HETATM" for name in structure.residue_name.tolist()]
    symbol = symbols(structure.atomic_number, "?")
    atom, kind, segment = (
        _texts(structure.name.tolist()),
        _texts(structure.residue_name.tolist(), residue),
        _texts(structure.segment.tolist(), residue),
    )
    number = {"data": _integers(structure.residue_number.astype(np.int64)[residue])}
    absent = {name: {**_texts([""], np.zeros(n, np.int64)), "mask": _integers(np.full(n, code))}
              for name, code in (("not given", _NOT_GIVEN), ("unknown", _UNKNOWN))}  # fmt: skip
    place = dict(zip("xyz", map(_coordinates, structure.position.T), strict=True))
    columns = {
        "group_PDB": _texts(group, residue),
        "id": {"data": _integers(np.arange(1, n + 1))},
        "type_symbol": _texts(symbol.tolist(), structure.atomic_number.astype(np.int64)),
        "label_alt_id": absent["not given"],
        "label_entity_id": absent["unknown"],
        "pdbx_PDB_ins_code": _texts(structure.insertion.tolist(), residue, _UNKNOWN),
        **{f"Cartn_{axis}": column for axis, column in place.items()},
        "occupancy": _floats(np.ones(n)),
        "B_iso_or_equiv": _floats(np.zeros(n)),
        "pdbx_formal_charge": absent["unknown"],
        "pdbx_PDB_model_num": {"data": _integers(np.ones(n, np.int64))},
        **{f"{whose}_atom_id": atom for whose in ("label", "auth")},
        **{f"{whose}_comp_id": kind for whose in ("label", "auth")},
        **{f"{whose}_asym_id": segment for whose in ("label", "auth")},
        **{f"{whose}_seq_id": number for whose in ("label", "auth")},
    }
    return {name: columns[name] for name in COLUMNS}


def _texts(values: list[str], rows: IdArray | None = None, empty: int = 0) -> dict[str, Any]:
    """Returns a column of texts, or of those in these rows; where they are empty it has a mask of this value."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
    codes = codes if rows is None else codes[rows]
    lengths = [len(word) for word in numbers]  # of letters, as the format counts them
    indices, offsets = _integers(codes), _integers(np.cumsum([0, *lengths]))
    encoding = {
        "kind": "StringArray",
        "dataEncoding": indices["encoding"],
        "stringData": "".join(numbers),
        "offsetEncoding": offsets["encoding"],
        "offsets": offsets["data"],
    }
    column: dict[str, Any] = {"data": {"data": indices["data"], "encoding": [encoding]}}
    if empty and "" in numbers:
        column["mask"] = _integers(np.where(codes == numbers[""], empty, 0))
    return column


def _coordinates(values: NDArray[np.float64]) -> dict[str, Any]:
    whole = np.rint(values * _DIGITS).astype(np.int64)
    if len(whole) and np.abs(whole).max() > _MOST:  # 200,000 Å
        return _floats(values)
    packed = _integers(whole)
    fixed = {"kind": "FixedPoint", "factor": _DIGITS, "srcType": _TYPE["float64"]}
    return {"data": {"data": packed["data"], "encoding": [fixed, *packed["encoding"]]}}


def _floats(values: NDArray[np.float64]) -> dict[str, Any]:
    """Returns a column of numbers as they are, or by how often one comes where all are the same whole number."""
    if len(values) > 1 and (values == values[0]).all() and values[0] == np.rint(values[0]):
        return {"data": _integers(values.astype(np.int64))}
    return {"data": {"data": values.astype("<f8").tobytes(), "encoding": _bytes("float64")}}


def _bytes(kind: str) -> Encoding:
    return [{"kind": "ByteArray", "type": _TYPE[kind]}]


def _integers(values: IdArray) -> dict[str, Any]:
    """Returns integers of 32 bits, by the way that takes the fewest bytes: as they are or as differences, each of them
    or how often it comes, in whole words or packed."""
    best: tuple[bytes, Encoding] | None = None
    steps = np.diff(values, prepend=values[:1])
    delta = {"kind": "Delta", "origin": int(values[0]) if len(values) else 0, "srcType": _INT32}
    for numbers, before in ((values, []), (steps, [delta])):
        if len(numbers) and np.abs(numbers).max() > _MOST:
            continue
        for run, how in ((numbers, []), (_runs(numbers), [_run_length(len(numbers))])):
            data, encoding = _packed(run)
            if best is None or len(data) < len(best[0]):
                best = data, [*before, *how, *encoding]
    assert best is not None
    return {"data": best[0], "encoding": best[1]}


def _run_length(n: int) -> dict[str, Any]:
    return {"kind": "RunLength", "srcType": _INT32, "srcSize": n}


def _runs(values: IdArray) -> IdArray:
    """Returns each value and how often it comes in a row, in turn."""
    begin = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    return np.stack([values[begin], np.diff(begin, append=len(values))], axis=1).reshape(-1)


def _packed(values: IdArray) -> tuple[bytes, Encoding]:
    """Returns integers in words of one, two or four bytes, whichever take the fewest. In short words a number beyond
    their limits is the sum of several, of which all but the last are a limit."""
    is_unsigned = not len(values) or int(values.min()) >= 0
    best, count = "<i4", 4 * len(values)
    for size in (1, 2):
        n = len(values) + int(_repeats(values, size, is_unsigned).sum())
        if size * n < count:
            best, count = f"<{'u' if is_unsigned else 'i'}{size}", size * n
    kind = np.dtype(best)
    if best == "<i4":
        return values.astype(kind).tobytes(), _bytes(kind.name)
    limits = np.iinfo(kind)
    repeats = _repeats(values, kind.itemsize, is_unsigned)
    limit = np.where(values >= 0, limits.max, limits.min)
    words = np.repeat(limit, repeats + 1)
    words[np.cumsum(repeats + 1) - 1] = values - repeats * limit
    packing = {
        "kind": "IntegerPacking",
        "byteCount": kind.itemsize,
        "isUnsigned": is_unsigned,
        "srcSize": len(values),
    }
    return words.astype(kind).tobytes(), [packing, *_bytes(kind.name)]


def _repeats(values: IdArray, size: int, is_unsigned: bool) -> IdArray:
    """Returns how many limits of words of so many bytes each number takes before its last word."""
    limits = np.iinfo(f"{'u' if is_unsigned else 'i'}{size}")
    if is_unsigned:
        return values // limits.max
    return np.where(values >= 0, values // limits.max, values // limits.min)
