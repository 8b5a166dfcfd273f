"""Reads coordinates: PDB, mmCIF, CRD, NAMD binary, GENESIS restart, GRO, G96 and AMBER."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tessera.errors import InputError
from tessera.prepare.coordinates.binary import GENESIS_MAGIC, is_namd, read_genesis, read_namd
from tessera.prepare.coordinates.cards import are_cards, read_cards, read_netcdf
from tessera.prepare.coordinates.gromacs import read_g96, read_gro
from tessera.prepare.coordinates.mmcif import read_mmcif
from tessera.prepare.coordinates.model import NO_NUMBER, Coordinates, box_from_lengths
from tessera.prepare.coordinates.pdb import read_pdb
from tessera.prepare.text import Source, read_source

__all__ = ["NO_NUMBER", "Coordinates", "box_from_lengths", "read_coordinates"]


def read_coordinates(path: str | Path) -> Coordinates:
    """Reads a file. Its content shows the format where possible, otherwise the ending of its name does.

    Raises `InputError` for a missing, empty, truncated or unknown file.
    """
    source = read_source(path, "coordinate file")
    reader = _reader(source)
    try:
        return reader(source)
    except InputError as error:
        message = str(error)
        raise error if source.name in message else InputError(f"{source.name}: {message}") from None


def _reader(source: Source) -> Callable[[Source], Coordinates]:
    data = source.data
    if data.startswith(GENESIS_MAGIC):
        return read_genesis
    if data.startswith((b"CDF\x01", b"CDF\x02", b"CDF\x05", b"\x89HDF")):
        return read_netcdf
    for mark, what in _TRAJECTORIES.items():
        if data.startswith(mark):
            raise InputError(f"{source.name} is {what} trajectory: {_ONE_FRAME}")
    if data[4:8] == b"CORD" and data[:4] in (b"T\0\0\0", b"\0\0\0T"):  # a record of 84 bytes
        raise InputError(f"{source.name} is a DCD trajectory: {_ONE_FRAME}")
    if source.suffix == ".vel":
        raise InputError(
            f"{source.name} holds NAMD's velocities and no coordinates: give the .coor file that was written with it"
        )
    reader = _READERS.get(source.suffix)
    if reader is None and is_namd(data):
        reader = read_namd
    if reader is None and are_cards(source):
        reader = read_cards
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise InputError(
            f"cannot tell the format of {source.name}: expected a GENESIS restart, NAMD binary, AMBER restart "
            f"or one of {known}, each also compressed by gzip"
        )
    return reader


_ONE_FRAME = "write one of its frames as a PDB or another file of coordinates"
_TRAJECTORIES = {b"\x00\x00\x07\xcb": "a GROMACS XTC", b"\x00\x00\x07\xc9": "a GROMACS TRR"}
_READERS: dict[str, Callable[[Source], Coordinates]] = {
    ".pdb": read_pdb,
    ".ent": read_pdb,
    ".cif": read_mmcif,
    ".mmcif": read_mmcif,
    ".crd": read_cards,
    ".cor": read_cards,
    ".coor": read_namd,
    ".namdbin": read_namd,
    ".gro": read_gro,
    ".g96": read_g96,
    ".inpcrd": read_cards,
    ".mdcrd": read_cards,
    ".rst7": read_cards,
    ".restrt": read_cards,
    ".ncrst": read_netcdf,
    ".rst": read_cards,
}
