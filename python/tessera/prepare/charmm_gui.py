"""CHARMM-GUI (Jo et al. 2008): which files of an unpacked archive make its system, and what box they say.

An archive has the members of each step of its making in its top folder (`step5_assembly.psf`, `.crd`, `.str`), what
reads the force field (`toppar.str`, `toppar/`), and a folder for each program (`openmm/step5_input.psf`,
`openmm/sysinfo.dat`). Any of these folders may be given.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.errors import InputError
from tessera.files import real_path
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.charmm_stream import lines_of
from tessera.prepare.coordinates import box_from_lengths
from tessera.prepare.coordinates.pdb import CRYST1_COLUMNS
from tessera.prepare.text import read_text, without_mark
from tessera.system import System
from tessera.system.box import is_orthorhombic, lengths_and_angles, placed
from tessera.system.model import FloatArray

#: the folders for programs, those that read CHARMM's own files first
_PROGRAMS = (
    "openmm", "charmm_openmm", "namd", "genesis", "gromacs", "charmm", "lammps", "amber", "desmond", "tinker", "hoomd",
)  # fmt: skip
_STEP = re.compile(r"step(\d+)(?:\.(\d+))?_(\w+)", re.IGNORECASE)
_FINISHED = ("input", "assembly", "pbcsetup")  # what the last step of a whole system is called
_SAME_LENGTH, _SAME_ANGLE = 1e-3, 1e-2  # Å and degrees: a PDB has three decimals and two
_MEND = "correct the member that is wrong, or give --box or --vacuum"


@dataclass(frozen=True)
class _Cell:
    """Edges (Å) and angles (degrees), the member that says so, and the vectors (3,3) Å where it has them."""

    numbers: tuple[float, ...]  # a, b, c, α, β, γ
    where: str
    vectors: FloatArray | None = None

    def agrees(self, other: _Cell) -> bool:
        edges = np.allclose(self.numbers[:3], other.numbers[:3], rtol=0, atol=_SAME_LENGTH)
        return edges and np.allclose(self.numbers[3:], other.numbers[3:], rtol=0, atol=_SAME_ANGLE)

    def text(self) -> str:
        angles = "" if self.numbers[3:] == (90.0,) * 3 else f" at {', '.join(f'{x:g}°' for x in self.numbers[3:])}"
        return f"{' × '.join(f'{x:.8g}' for x in self.numbers[:3])} Å{angles}"


def prepare_charmm_gui(
    folder: str | Path,
    psf: str | Path | None = None,
    coordinates: str | Path | None = None,
    parameters: Sequence[str | Path] = (),
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust_order: bool = False,
) -> System:
    """Prepares the system of an archive; members that are named are taken for those of the archive.

    `box`: (3,3) Å, rows are its vectors; None: that of the inputs. `vacuum`: no box, even if they have one.
    `trust_order`: rows of the coordinates are in the order of the topology, whatever atoms are called. `report` is
    called with each step of the work. Raises `InputError` where a member is missing or could be several, and where
    members say different boxes.
    """
    report("finding members")
    archive = _Archive.of(Path(folder))
    psf = archive.psf() if psf is None else Path(psf)
    own = coordinates is None
    coordinates = archive.coordinates(psf) if coordinates is None else Path(coordinates)
    parameters = list(parameters) or [archive.parameters()]
    cells: list[_Cell] = []
    if box is None and not vacuum:
        of_step = own or archive.is_of_step(coordinates, psf)
        cells = archive.cells(psf, coordinates) if of_step else archive.cells_of_run(coordinates)
        box = _agreed(cells)
        if box is None and own:
            raise InputError(
                f"no member of {archive.folder} says the box (step*.str, sysinfo.dat, .xsc, .gro and CRYST1 of a PDB "
                f"beside {archive.label(psf)} were looked at): give --box or --vacuum"
            )
    system = prepare_charmm(psf, coordinates, parameters, box, vacuum, report, trust_order)
    names = [archive.label(path) for path in (psf, coordinates, *parameters)]
    system.source = f"prepare charmm-gui: {archive.folder.resolve().name}: {' '.join(names)}"
    said = f"; box {cells[0].text()} of {_and(cell.where for cell in cells)}" if cells else ""
    note = f"PSF {names[0]}; coordinates {names[1]}; parameters {' '.join(names[2:])}{said}"
    system.notes = [f"members of {archive.folder}: {note}", *system.notes]
    return system


@dataclass(frozen=True)
class _Archive:
    folder: Path  # as given, or the one archive in it
    top: Path

    @classmethod
    def of(cls, folder: Path) -> _Archive:
        if not folder.is_dir():
            kind = "a file: unpack it and give the folder that comes of it" if folder.is_file() else "not found"
            raise InputError(f"{folder} is {kind}")
        inner = sorted(path for path in folder.glob("charmm-gui*") if path.is_dir())
        if inner and not _is_archive(folder):
            if len(inner) > 1:
                raise InputError(f"{folder} holds {len(inner)} archives: give one of them, as {inner[0]}")
            folder = inner[0]
        above = folder.resolve().parent
        is_program = folder.resolve().name.lower() in _PROGRAMS and _is_archive(above)
        return cls(folder, folder / ".." if is_program else folder)

    @property
    def folders(self) -> list[Path]:
        """The folder that was given, the top, and the folders for programs."""
        found = [self.folder, self.top, *(self.top / name for name in _PROGRAMS)]
        once: dict[Path, Path] = {}
        for path in found:
            if path.is_dir():
                once.setdefault(real_path(path), path)
        return list(once.values())

    def label(self, path: str | Path) -> str:
        """Returns the name from the folder that was given, or from the root where that is shorter."""
        return min(os.path.relpath(path, self.folder), str(path), key=len)

    def psf(self) -> Path:
        """Finds the PSF of the newest step, in the folder that was given, else in the first folder for a program with
        one."""
        searched = [self.folder, *self.folders] if _same(self.folder, self.top) else [self.folder]
        for folder in searched:
            found = sorted(folder.glob("*.psf"))
            steps = {path: step for path in found if (step := _step(path)) is not None}
            if not steps and len(found) == 1:
                return found[0]
            if not steps:
                continue
            newest = max(steps.values())
            named = [path for path in steps if steps[path] == newest]
            for preferred in ("_input.", ".xplor_ext.", ".xplor."):  # a program's input; types as names, not as numbers
                if len(named) > 1:
                    named = [path for path in named if preferred in path.name.lower()] or named
            if len(named) > 1:
                names = _and(path.name for path in named)
                raise InputError(f"{folder} has several PSF files of its last step, {names}: name one with --psf")
            self._check_whole(folder, named[0], newest)
            return named[0]
        raise InputError(f"no PSF step*.psf in {self.folder}{self._other_force_field()}: name one with --psf")

    @staticmethod
    def _check_whole(folder: Path, psf: Path, newest: tuple[float, float]) -> None:
        """Refuses the PSF of an earlier step, or of a part of the system, where that of the last is missing."""
        mend = "is the archive unpacked whole? If so, name the PSF with --psf and its coordinates with --coords"
        if newest[1] != math.inf:
            raise InputError(f"{psf.name}, the newest PSF in {folder}, is of a part of the system only: {mend}")
        for path in sorted([*folder.glob("step*.crd"), *folder.glob("step*.pdb")]):
            step = _step(path)
            if step is not None and step > newest and path.stem.lower().rpartition("_")[2] in _FINISHED:
                raise InputError(
                    f"{path.name} is of a later step than any PSF in {folder}, and {path.stem}.psf is missing: {mend}"
                )

    def _other_force_field(self) -> str:
        """Says what to do with the inputs of another program."""
        for path in sorted(self.folder.glob("*.parm7")):
            coordinates = path.with_suffix(".rst7").name
            return f", but AMBER's {path.name}: use `tessera prepare amber --prmtop {path.name} --coords {coordinates}`"
        if (self.folder / "topol.top").is_file():
            return ", but GROMACS' topol.top: use `tessera prepare gromacs --top topol.top --coords step*_input.gro`"
        return ""

    def coordinates(self, psf: Path) -> Path:
        """Finds the coordinates beside the PSF, those with ten decimals rather than with three."""
        name = psf.name.partition(".")[0]
        for suffix in (".crd", ".pdb"):
            path = psf.with_name(name + suffix)
            if path.is_file():
                return path
        raise InputError(
            f"no coordinates beside {self.label(psf)}: expected {name}.crd or {name}.pdb; name a file with --coords"
        )

    def parameters(self) -> Path:
        for folder in self.folders:
            if (folder / "toppar.str").is_file():
                return folder / "toppar.str"
        raise InputError(
            f"no toppar.str in {self.folder}, which lists the parameter files: name them with --params, in the order "
            "in which CHARMM reads them"
        )

    def is_of_step(self, path: Path, psf: Path) -> bool:
        """Tells whether a file is a member of the archive and of the PSF's step, not what a run has written."""
        step, folders = _step(path), [folder.resolve() for folder in self.folders]
        return real_path(path).parent in folders and step is not None and step == _step(psf)

    def cells_of_run(self, coordinates: Path) -> list[_Cell]:
        """Reads the box that NAMD writes beside its coordinates."""
        cell = _from_xsc(coordinates.with_suffix(".xsc"), self.label)
        return [cell] if cell else []

    def cells(self, psf: Path, coordinates: Path) -> list[_Cell]:
        """Lists the boxes that the members of the PSF's step say, CHARMM's own first."""
        return list(self._cells(psf, coordinates))

    def _cells(self, psf: Path, coordinates: Path) -> Iterator[_Cell]:
        step, places = _step(psf), self.folders
        readers: tuple[tuple[str, Callable[[Path, Callable[[Path], str]], _Cell | None]], ...] = (
            ("step*.str", _from_stream), ("sysinfo.dat", _from_sysinfo), ("step*.xsc", _from_xsc),
            ("step*.gro", _from_gro), ("step*.pdb", _from_cryst1),
        )  # fmt: skip
        for pattern, read in readers:
            for place in places:
                for path in sorted(place.glob(pattern)):
                    if pattern == "sysinfo.dat" or path in (psf, coordinates) or (step and _step(path) == step):
                        cell = read(path, self.label)
                        if cell is not None:
                            yield cell


def _is_archive(folder: Path) -> bool:
    programs = [folder / name for name in ("", *_PROGRAMS)]
    return (folder / "toppar.str").is_file() or any(any(path.glob("step*.psf")) for path in programs)


def _same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other)


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _step(path: Path) -> tuple[float, float] | None:
    """Returns the number of a step: `step2.1_waterbox` comes before `step2_solvator`, which is made of its parts."""
    match = _STEP.match(path.name)
    return (float(match[1]), float(match[2] or math.inf)) if match else None


def _agreed(cells: list[_Cell]) -> FloatArray | None:
    """Returns the first cell, (3,3) Å, where all say the same."""
    if not cells:
        return None
    first = cells[0]
    for other in cells[1:]:
        if not first.agrees(other):
            raise InputError(
                f"the box is {first.text()} in {first.where} and {other.text()} in {other.where}: they must agree; "
                f"{_MEND}"
            )
    try:
        box = box_from_lengths(first.numbers[:3], first.numbers[3:])
        if box is None or is_orthorhombic(placed(box).box):
            return box
    except InputError as error:
        raise InputError(f"{first.where}: {error}") from None
    vectors = [cell.vectors for cell in cells if cell.vectors is not None]
    if not vectors:
        raise InputError(
            f"{first.where}: the box is {first.text()}, and no member says how its vectors lie in the frame of the "
            "coordinates, as an .xsc or .gro does; CHARMM's are the rows of a symmetric matrix, those of other "
            "programs begin along x: prepare the system from its files of GROMACS, AMBER or OpenMM"
        )
    return vectors[0]


def _cell(words: Sequence[object], where: str, expected: str) -> _Cell | None:
    """Reads three edges and perhaps three angles; None where an edge is 0."""
    try:
        numbers = tuple(float(str(word)) for word in words)
    except ValueError:
        numbers = ()
    if len(numbers) not in (3, 6) or not all(map(math.isfinite, numbers)):
        found = ", ".join(map(str, words))
        raise InputError(f"{where}: expected {expected}, found {found[:60] or 'nothing'}; {_MEND}")
    return _Cell((*numbers, *(90.0, 90.0, 90.0)[: 6 - len(numbers)]), where) if min(numbers[:3]) != 0 else None


def _from_vectors(vectors: FloatArray, where: str) -> _Cell:
    lengths, angles = np.split(lengths_and_angles(vectors), 2)
    return _Cell((*lengths.tolist(), *(round(float(x), 6) for x in angles)), where, vectors)


def _from_stream(path: Path, label: Callable[[Path], str]) -> _Cell | None:
    """Reads `SET A = 78` of CHARMM, `set a 78` of NAMD, or `BOXLX = 78` of OpenMM's older inputs."""
    values: dict[str, tuple[str, str]] = {}
    for line in lines_of(path):
        words = " ".join(line.words).replace("=", " ").replace(";", " ").split()
        if len(words) > 2 and words[0].upper() == "SET":
            words = words[1:]
        elif not words or not words[0].upper().startswith("BOXL"):
            continue
        if len(words) == 2:
            known = values.get(words[1][1:].upper()) if words[1].startswith("@") else None
            where = f"{label(path)}:{line.where.rpartition(':')[2]}"
            values[words[0].upper()] = (known[0] if known else words[1], where)
    for edges, angles in ((("A", "B", "C"), ("ALPHA", "BETA", "GAMMA")), (("BOXLX", "BOXLY", "BOXLZ"), ())):
        if edges[0] not in values:
            continue
        names = [*edges, *(name for name in angles if any(angle in values for angle in angles))]
        missing = [name for name in names if name not in values]
        where = values[edges[0]][1]
        if missing:
            raise InputError(f"{where}: sets {edges[0]} of a box and not {_and(missing)}; {_MEND}")
        return _cell([values[name][0] for name in names], where, "lengths and angles of a box")
    return None


def _from_sysinfo(path: Path, label: Callable[[Path], str]) -> _Cell | None:
    """Reads `{"dimensions": [a, b, c, α, β, γ]}`; some programs' hold other things only."""
    where = f"{label(path)}:1"
    text = read_text(path)
    if not text.lstrip().startswith("{"):
        return _from_stream(path, label)
    try:
        found = json.loads(text).get("dimensions")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is no JSON ({error}); {_MEND}") from None
    if found is None:
        return None
    words = found if isinstance(found, list) else [found]
    return _cell(words, where, "dimensions of three edges and three angles")


def _from_xsc(path: Path, label: Callable[[Path], str]) -> _Cell | None:
    """Reads the last line of NAMD's extended system: a step, three vectors and an origin."""
    if not path.is_file():
        return None
    lines = read_text(path).rstrip().splitlines()
    where = f"{label(path)}:{len(lines)}"
    try:
        vectors = np.array(lines[-1].split()[1:10], np.float64).reshape(3, 3)
    except (IndexError, ValueError):
        raise InputError(f"{where}: expected a step and nine numbers of a box; {_MEND}") from None
    return _from_vectors(vectors, where) if np.linalg.norm(vectors, axis=1).min() > 0 else None


def _from_gro(path: Path, label: Callable[[Path], str]) -> _Cell | None:
    """Reads the last line, three or nine numbers in nm: v1(x) v2(y) v3(z) v1(y) v1(z) v2(x) v2(z) v3(x) v3(y)."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 400))
        lines = file.read().decode("latin-1").rstrip().splitlines()
    try:
        numbers = [10.0 * float(word) for word in lines[-1].split()]
    except (IndexError, ValueError):
        numbers = []
    if len(numbers) not in (3, 9) or not all(map(math.isfinite, numbers)):
        raise InputError(f"{label(path)}: expected a box of three or nine numbers in the last line; {_MEND}")
    x, y, z, xy, xz, yx, yz, zx, zy = (*numbers, *(0.0,) * (9 - len(numbers)))
    vectors = np.array([[x, xy, xz], [yx, y, yz], [zx, zy, z]])
    return _from_vectors(vectors, label(path)) if min(x, y, z) > 0 else None


def _from_cryst1(path: Path, label: Callable[[Path], str]) -> _Cell | None:
    with path.open("rb") as file:
        for number, data in enumerate(file, start=1):
            if number == 1:
                data = without_mark(data, path.name)
            if data.startswith((b"ATOM", b"HETATM")):
                return None
            if data.startswith(b"CRYST1"):
                line = data.decode("latin-1")
                words = [line[begin : begin + width] for begin, width in CRYST1_COLUMNS]
                cell = _cell(words, f"{label(path)}:{number}", "edges and angles of a box in CRYST1")
                # 1 Å cubes are what programs write for "no box"
                return cell if cell and max(cell.numbers[:3]) > 1.0 else None
    return None
