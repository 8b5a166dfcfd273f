"""Writers of coordinates by the ending of the name, and what each format can't hold.

MDAnalysis writes PDB and GRO, SciPy NetCDF. What they would cut, wrap or spill into the next column without a word is
refused here first. AMBER's text, CHARMM's cards, NAMD's binary and mmCIF are ours: MDAnalysis keeps positions in single
precision, of which the first three hold more, and joins neighbours of the same residue number; ParmEd and OpenMM, which
write mmCIF, make objects of atoms; ParmEd has only NetCDF's offsets of 32 bits without a further package, and complains
of a full disk twice.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tessera.constants import AMBER_PS
from tessera.errors import InputError
from tessera.export import bcif, mmcif
from tessera.export.structure import Structure, Texts
from tessera.export.text import check_words, write_rows
from tessera.select.universe import universe_of
from tessera.system.box import lengths_and_angles
from tessera.system.model import FloatArray
from tessera.version import __version__

_WIDER = "write .cif or .crd instead"


@dataclass(frozen=True)
class Format:
    """`write(structure, path)` returns notes for the user and raises `InputError` before anything is lost."""

    name: str
    write: Callable[[Structure, Path], list[str]]


def _check_range(what: str, values: FloatArray, low: float, high: float, format_name: str, advice: str) -> None:
    if len(values) and not (low < values.min() and values.max() < high):
        row = int(np.argmax(np.maximum(low - values, values - high).max(axis=1)))
        found = ", ".join(f"{value:.3f}" for value in values[row])
        raise InputError(
            f"{format_name} has no columns for {what}s beyond {low:,.0f} to {high:,.0f}, found {found} "
            f"(atom {row}); {advice}"
        )


def _check_numbers(structure: Structure, lowest: int, format_name: str, advice: str) -> None:
    least = int(structure.residue_number.min())
    if least < lowest:
        raise InputError(f"{format_name} has no columns for residue numbers below {lowest}, found {least}; {advice}")


def _again(structure: Structure, atoms: int, residues: int) -> list[str]:
    """Notes on numbers that the readers of a format expect to begin again."""
    notes = []
    if structure.n_atoms > atoms:
        notes.append(f"its atom numbers begin again at 0 after {atoms:,}")
    if structure.residue_number.max() > residues:
        notes.append(f"its residue numbers begin again at 0 after {residues:,}")
    return notes


def _write_pdb(structure: Structure, path: Path) -> list[str]:
    from MDAnalysis.coordinates.PDB import PDBWriter

    check_words("PDB", "atom name", structure.name, 4, _WIDER)
    check_words("PDB", "residue name", structure.residue_name, 4, _WIDER)
    _check_numbers(structure, -999, "PDB", _WIDER)
    # The box may be larger than the coordinates.
    _check_range("coordinate", structure.position, -999, 9999, "PDB", "write .cif, .gro or .crd instead")
    if structure.box is not None:
        _check_range("box edge", structure.box, -9999, 99999, "PDB", _WIDER)
    notes = _again(structure, 99_999, 9_999)
    segments = list(dict.fromkeys(structure.segment.tolist()))
    long = [name for name in segments if len(name) > 4]
    if long:
        apart = "; chain letters tell segments apart" if len(segments) <= 62 else ""
        notes.append(f"its four columns for segments cut names such as {long[0]}{apart}")
    if len(segments) > 62:
        notes.append("its chain letters repeat after 62 segments; .cif has a chain for each")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the file does not hold
        with PDBWriter(str(path), bonds=None, remarks=structure.title[:50]) as writer:
            writer.write(universe_of(structure).atoms)
    return notes


def _write_gro(structure: Structure, path: Path) -> list[str]:
    from MDAnalysis.coordinates.GRO import GROWriter

    check_words("GRO", "atom name", structure.name, 5, _WIDER)
    check_words("GRO", "residue name", structure.residue_name, 5, _WIDER)
    _check_numbers(structure, -9999, "GRO", _WIDER)
    _check_range("coordinate", structure.position, -9999, 99999, "GRO", _WIDER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with GROWriter(str(path)) as writer:
            writer.write(universe_of(structure).atoms)
    notes = ["it has no columns for the insertion codes of residues"] if structure.insertion.any() else []
    return [*_again(structure, 99_999, 99_999), *notes]


def _write_rst7(structure: Structure, path: Path) -> list[str]:
    """Writes a title, a count and a time, coordinates as 6F12.7, then velocities and a box where there are any."""
    name, advice = "AMBER's text restart", "write .ncrst instead"
    _check_range("coordinate", structure.position, -999, 9999, name, advice)
    blocks = [structure.position]
    if structure.velocity is not None:
        blocks.append(structure.velocity / AMBER_PS)
        _check_range("velocity", blocks[1], -999, 9999, name, advice)
    with path.open("w") as file:
        file.write(f"{structure.title[:80]}\n{structure.n_atoms:5d}{structure.time:15.7e}\n")
        for block in blocks:
            pairs = structure.n_atoms // 2
            write_rows(file, "%12.7f" * 6 + "\n", *block[: 2 * pairs].reshape(-1, 6).T)
            write_rows(file, "%12.7f" * 3 + "\n", *block[2 * pairs :].T)
        if structure.box is not None:
            file.write("".join(f"{number:12.7f}" for number in lengths_and_angles(structure.box)) + "\n")
    return []


def _write_ncrst(structure: Structure, path: Path) -> list[str]:
    """Writes AMBER's convention, version 1.0, with NetCDF's offsets of 64 bits."""
    from scipy.io import netcdf_file

    memory = io.BytesIO()  # a file would be closed once more after an error, with a complaint of its own
    file = netcdf_file(memory, "w", version=2)
    for key, value in (
        ("Conventions", "AMBERRESTART"), ("ConventionVersion", "1.0"), ("title", structure.title),
        ("application", "tessera"), ("program", "tessera export"), ("programVersion", __version__),
    ):  # fmt: skip
        setattr(file, key, value)
    for name, size in (("spatial", 3), ("atom", structure.n_atoms), ("time", 1)):
        file.createDimension(name, size)

    def put(name: str, dimensions: tuple[str, ...], values: Any, units: str = "") -> Any:
        array = np.asarray(values)
        variable = file.createVariable(name, "c" if array.dtype.kind == "S" else "d", dimensions)
        variable[:] = array
        if units:
            variable.units = units
        return variable

    put("time", ("time",), [structure.time], "picosecond")
    put("spatial", ("spatial",), np.array(list("xyz"), "S1"))
    put("coordinates", ("atom", "spatial"), structure.position, "angstrom")
    if structure.velocity is not None:
        velocities = put("velocities", ("atom", "spatial"), structure.velocity / AMBER_PS, "angstrom/picosecond")
        velocities.scale_factor = AMBER_PS
    if structure.box is not None:
        for name, size in (("cell_spatial", 3), ("cell_angular", 3), ("label", 5)):
            file.createDimension(name, size)
        put("cell_spatial", ("cell_spatial",), np.array(list("abc"), "S1"))
        angles = [list(name.ljust(5)) for name in ("alpha", "beta", "gamma")]
        put("cell_angular", ("cell_angular", "label"), np.array(angles, "S1"))
        numbers = lengths_and_angles(structure.box)
        put("cell_lengths", ("cell_spatial",), numbers[:3], "angstrom")
        put("cell_angles", ("cell_angular",), numbers[3:], "degree")
    file.flush()
    path.write_bytes(memory.getbuffer())
    return []


def _write_crd(structure: Structure, path: Path) -> list[str]:
    """Writes `2I10,2X,A8,2X,A8,3F20.10,2X,A8,2X,A8,F20.10`: CHARMM's extended form, whatever the number of atoms."""
    name = "CHARMM's extended CRD"
    check_words(name, "atom name", structure.name, 8, "write .cif instead")
    check_words(name, "residue name", structure.residue_name, 8, "write .cif instead")
    segment, notes = _cut_segments(structure.segment, 8, name)
    with path.open("w") as file:
        file.write(f"* {structure.title[:78]}\n")
        if structure.box is not None:
            file.write(f"* BOX {' '.join(f'{value:.6f}' for value in lengths_and_angles(structure.box))}\n")
        file.write(f"*\n{structure.n_atoms:10d}  EXT\n")
        residue = structure.residue
        write_rows(
            file,
            "%10d%10d  %-8s  %-8s%20.10f%20.10f%20.10f  %-8s  %-8s%20.10f\n",
            np.arange(1, structure.n_atoms + 1),
            residue + 1,
            structure.residue_name[residue],
            structure.name,
            *structure.position.T,
            segment[residue],
            structure.residue_labels()[residue],
            np.zeros(structure.n_atoms),
        )
    return notes


def _cut_segments(segments: Texts, width: int, format_name: str) -> tuple[Texts, list[str]]:
    """Returns the names as they fit, which must tell segments apart as before, and a note where one is cut."""
    check_words(format_name, "segment", segments)
    cut: dict[str, str] = {}
    for name in dict.fromkeys(segments.tolist()):
        if name[:width] in cut:
            raise InputError(
                f"{format_name} has {width} columns for segments, in which {cut[name[:width]]} and {name} are the "
                "same; write .cif instead"
            )
        cut[name[:width]] = name
    long = [name for name in cut.values() if len(name) > width]
    notes = [f"its {width} columns for segments cut names such as {long[0]}"] if long else []
    return segments.astype(f"U{width}").astype(object), notes


def _write_coor(structure: Structure, path: Path) -> list[str]:
    """Writes the number of atoms as int32, coordinates as doubles."""
    with path.open("wb") as file:
        file.write(np.array([structure.n_atoms], "<i4").tobytes())
        file.write(structure.position.astype("<f8").tobytes())
    return []


#: by the ending of a name; PSF, which needs the terms of a system, is in psf.py
FORMATS = {
    ".pdb": Format("PDB", _write_pdb),
    ".cif": Format(mmcif.NAME, mmcif.write_mmcif),
    ".bcif": Format(bcif.NAME, bcif.write_bcif),
    ".gro": Format("GROMACS GRO", _write_gro),
    ".crd": Format("CHARMM extended CRD", _write_crd),
    ".coor": Format("NAMD binary", _write_coor),
    ".rst7": Format("AMBER text restart", _write_rst7),
    ".ncrst": Format("AMBER NetCDF restart", _write_ncrst),
}
