"""Writes and reads `*.tsr` (HDF5), as described in `docs/reference/system_file.md`."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tessera import checked_file
from tessera.errors import InputError
from tessera.files import replaced
from tessera.ranks import ALONE, Ranks
from tessera.system import hdf5
from tessera.system.blocks import Parts, Rows, block_grid, block_of, block_order
from tessera.system.layout import divided, joined
from tessera.system.model import (
    FORCE_FIELD_COLUMNS,
    PAIR_PARAMETERS,
    TERM_ATOMS,
    FloatArray,
    ForceField,
    LennardJones,
    System,
    Template,
    Terms,
)
from tessera.system.scratch import scratch
from tessera.system.validate import check_system, check_velocities
from tessera.system.virtual_sites import VirtualSites
from tessera.version import __version__

FORMAT = "tessera-system"
VERSIONS = (2, 3, 4)  # 3 with chains, 4 with names of segments by instance: each file has the oldest that can hold it

TEXTS = ("atom_name", "residue_name", "segment_name")
INTEGERS = ("type", "atomic_number", "residue", "residue_number", "group")
FLOATS = ("charge", "mass")
BULK_TYPES = {"fraction": "<i4", "id": "<i8", "velocity": "<f8", "block_offset": "<i8"}  # of the arrays of atoms
SITE_COLUMNS = {
    "atom": ((), np.int32),
    "frame": ((), np.int32),
    "position": ((3,), np.float64),
    "parents": ((2,), np.int32),
    "weights": ((3,), np.float64),
}
KNOWN_NAME = re.compile(
    r"/(box|forcefield|templates|instances(/(runs|residue_numbers|chains|chain_name|segments|segment_name))?|coordinates"
    r"|coordinates/(id|fraction|velocity|block_grid|block_offset)"
    r"|forcefield/(type_name|type_lj|nbfix_types|nbfix_lj|nbfix_ab|{terms})"
    r"|forcefield/pair_(tables|potential_(types|kind|parameter))"
    r"|templates/[0-9]+(/({arrays}|exclusions|({terms})(/(atoms|parameter))?|virtual_site(/({sites}))?))?)".format(
        terms="|".join(TERM_ATOMS), arrays="|".join((*TEXTS, *INTEGERS, *FLOATS)), sites="|".join(SITE_COLUMNS)
    )
)


def write(
    system: System,
    path: str | Path,
    parts: Parts | None = None,
    ranks: Ranks = ALONE,
    report: Callable[[int], None] = lambda _: None,
    *,
    whole: bool = False,
) -> None:
    """Writes `system` so that `path` is either the old file or the whole new one.

    `parts` are the atoms where they are not in `system`, because they need not all be in memory at once. `ranks` make
    and write them together: collective. `report` gets the number of atoms that are written, from time to time. With
    `whole` no molecule is divided into units.

    Raises `InputError` where an index is out of range, a number is not finite or the disk is full, and
    `EndedElsewhere` where another rank does.
    """
    check_system(system, has_atoms=parts is None)
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist")
    parts = _parts_of(system) if parts is None else parts
    try:
        if ranks.is_root:
            with replaced(path) as temporary:
                _write_file(temporary, system, parts, ranks, report, whole)
        else:
            _write_parts(ranks.from_root(None), parts, ranks, report)
    except OSError as error:
        raise InputError(f"{path} can't be written: {hdf5.reason(error)}; choose another place") from error


def image(system: System) -> bytes:
    """Returns the bytes of the file that `write` would make, without a file."""
    check_system(system)
    descriptor = os.memfd_create("system")
    try:
        path = Path(f"/proc/self/fd/{descriptor}")
        _write_file(path, system, _parts_of(system))
        return path.read_bytes()
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class _Plan:
    """Where the atoms go: from and to which byte of the file at `path` each array is. The content ends at `end`."""

    path: Path
    bulk: dict[str, tuple[int, int]]
    end: int


def _write_file(
    path: Path,
    system: System,
    parts: Parts,
    ranks: Ranks = ALONE,
    report: Callable[[int], None] = lambda _: None,
    whole: bool = False,
) -> None:
    """Fills the empty file at `path`: all but the atoms by HDF5, the atoms into the room that HDF5 made for them."""
    with hdf5.written(path) as file:
        bulk = _write_system(file, system, whole)
    end = path.stat().st_size
    _check_room(path, end)
    _write_parts(ranks.from_root(_Plan(path, bulk, end)), parts, ranks, report)


def _write_parts(plan: _Plan, parts: Parts, ranks: Ranks, report: Callable[[int], None]) -> None:
    """Writes the atoms, of which each rank makes every n-th part, and the checksums."""
    with closing(checked_file.Writer(plan.path, plan.bulk, plan.end)) as writer:
        if ranks.is_root:
            writer.write("block_offset", 0, np.zeros(1, np.int64))
        done = 0
        for first in range(0, parts.count, ranks.size):
            own = parts.make(first + ranks.rank) if first + ranks.rank < parts.count else None
            counts = ranks.all(0 if own is None else len(own.id))
            if own is not None:
                _write_rows(writer, own, done + sum(counts[: ranks.rank]))
            done += sum(counts)
            report(done)
        if ranks.size > 1:
            writer.flush()
        ranks.all(None)  # until all have written
        found = ranks.all(writer.checksums())
        if ranks.is_root:
            writer.finish(found)


def _write_rows(writer: checked_file.Writer, rows: Rows, begin: int) -> None:
    """Writes atoms of which the first is in row `begin`."""
    if rows.velocity is not None:
        check_velocities(rows.velocity, rows.id)
    for name, values in (("fraction", rows.fraction), ("id", rows.id), ("velocity", rows.velocity)):
        if values is not None:
            array = np.asarray(values, BULK_TYPES[name])
            writer.write(name, begin * array[:1].nbytes, array)
    offset = begin + np.cumsum(rows.atoms_of_block, dtype=np.int64)
    writer.write("block_offset", 8 * (rows.first_block + 1), offset)


def _check_room(path: Path, size: int) -> None:
    disk = os.statvfs(path)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_blocks and size > free:  # a file in memory has no disk
        raise OSError(errno.ENOSPC, f"it needs {size / 1e6:,.2f} MB, its disk has {free / 1e6:,.2f} MB free")


def _parts_of(system: System) -> Parts:
    """Returns the atoms of a system, which are sorted part by part: beside the system only the block of each atom is
    held."""
    work = scratch()
    grid = block_grid(system.box, system.n_atoms)
    block: NDArray[np.int32] = work.empty(system.n_atoms, np.int32)
    atoms = np.zeros(int(np.prod(grid.astype(np.int64))), np.int64)
    for rows in work.ranges(system.n_atoms):
        keys = system.group_key(np.arange(rows.start, rows.stop))
        found = block_of(system.fraction[keys], grid)
        atoms += np.bincount(found, minlength=len(atoms))
        block[rows] = found
    bounds = [0, *np.flatnonzero(np.diff(np.cumsum(atoms) // work.at_once)) + 1, len(atoms)]

    def make(part: int) -> Rows:
        first, end = bounds[part], bounds[part + 1]
        found = []  # atoms and their blocks
        for rows in work.ranges(system.n_atoms):
            inside = np.flatnonzero((block[rows] >= first) & (block[rows] < end))
            found.append((inside + rows.start, block[rows][inside]))
        ids, its_block = (np.concatenate(parts) for parts in zip(*found))
        order = block_order(its_block, system.group_key(ids), ids)
        velocity = None if system.velocity is None else work.rows(system.velocity, ids)[order]
        return Rows(first, atoms[first:end], ids[order], work.rows(system.fraction, ids)[order], velocity)

    return Parts(len(bounds) - 1, make)


def _write_system(file: Any, system: System, whole: bool) -> dict[str, tuple[int, int]]:
    """Writes all but the atoms. Returns the begin and the end of each array of atoms in the file."""
    molecules = joined(system) if whole else divided(system)
    _write_root(file, system, 4 if len(molecules.segments) else 3 if len(molecules.chains) else 2)
    _write_force_field(file.create_group("forcefield"), system.force_field)
    templates = file.create_group("templates")
    for index, template in enumerate(molecules.templates):
        _write_template(templates.create_group(str(index)), template)
    _put(file, "instances/runs", molecules.runs, np.int64)
    _put(file, "instances/residue_numbers", molecules.residue_numbers, np.int64)
    _put(file, "instances/chains", molecules.chains, np.int64)
    _put_text(file["instances"], "chain_name", molecules.chain_name)
    _put(file, "instances/segments", molecules.segments, np.int64)
    _put_text(file["instances"], "segment_name", molecules.segment_name)
    group = file.create_group("coordinates")
    grid = block_grid(system.box, system.n_atoms)
    group["block_grid"] = grid
    shapes = {"fraction": (system.n_atoms, 3), "id": (system.n_atoms,)}
    if system.velocity is not None:
        shapes["velocity"] = (system.n_atoms, 3)
    shapes["block_offset"] = (int(np.prod(grid.astype(np.int64))) + 1,)
    # The attribute comes first, so that what HDF5 itself adds to the file stands before the atoms.
    file.attrs["n_names"] = np.int64(len(hdf5.names(file)) + len(shapes))
    bulk = {}
    for name, shape in shapes.items():
        begin = hdf5.reserve(group, name, shape, BULK_TYPES[name])
        bulk[name] = (begin, begin + int(np.prod(shape)) * np.dtype(BULK_TYPES[name]).itemsize)
    return bulk


def _put(group: Any, name: str, values: Any, dtype: Any) -> None:
    """Writes a dataset unless it is empty, because an absent dataset counts as an empty one."""
    array = np.asarray(values)
    if array.size:
        # A group that h5py makes without being asked has the time in it, so the file would be other bytes each time.
        above = name.rpartition("/")[0]
        if above and above not in group:
            group.create_group(above)
        group[name] = array.astype(dtype)


def _put_text(group: Any, name: str, values: Iterable[Any]) -> None:
    texts = [str(value) for value in values]
    if texts:
        hdf5.put_texts(group, name, texts)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _write_root(file: Any, system: System, version: int) -> None:
    hdf5.put_text_attribute(file, "format", FORMAT)
    file.attrs["version"] = np.int32(version)
    file.attrs["periodic"] = np.int32(system.periodic)
    if system.origin.any():
        file.attrs["origin"] = system.origin.astype(np.float64)
    file.attrs["coulomb_constant"] = np.float64(system.coulomb_constant)
    for name in ("coulomb_source", "lj_rule", "source"):
        hdf5.put_text_attribute(file, name, getattr(system, name))
    lj = system.lennard_jones
    hdf5.put_text_attribute(file, "lj_modifier", lj.modifier)
    file.attrs["lj_cutoff"], file.attrs["lj_switch"] = np.float64(lj.cutoff), np.float64(lj.switch)
    file.attrs["lj_tail"] = np.int32(lj.tail)
    hdf5.put_text_attribute(file, "creator", f"tessera {__version__}")
    file.attrs["n_atoms"] = np.int64(system.n_atoms)
    file["box"] = system.box.astype(np.float64)


def _write_force_field(group: Any, field: ForceField) -> None:
    _put_text(group, "type_name", field.type_name)
    _put(group, "type_lj", field.type_lj, np.float64)
    _put(group, "nbfix_types", field.nbfix_types, np.int32)
    _put(group, "nbfix_lj", field.nbfix_lj, np.float64)
    if field.nbfix_ab is not None:
        _put(group, "nbfix_ab", field.nbfix_ab, np.float64)
    _put(group, "pair_potential_types", field.pair_types, np.int32)
    _put_text(group, "pair_potential_kind", field.pair_kind)
    _put(group, "pair_potential_parameter", field.pair_parameter, np.float64)
    _put(group, "pair_tables", field.pair_tables, np.float64)
    for kind in TERM_ATOMS:
        _put(group, kind, field.table(kind), np.float64)


def _write_template(group: Any, template: Template) -> None:
    hdf5.put_text_attribute(group, "name", template.name)
    group.attrs["rigid_water"] = np.int32(template.rigid_water)
    group.attrs["always_rigid"] = np.int32(template.always_rigid)
    if len(template.insertion):
        codes = [f"{row}{code}" for row, code in enumerate(template.insertion) if code]
        hdf5.put_text_attribute(group, "insertion_codes", " ".join(codes))
    if template.flexible:
        group.attrs["flexible"] = np.int32(1)
    if template.settle is not None:
        group.attrs["settle"] = np.array(template.settle, np.float64)
    for name in TEXTS:
        _put_text(group, name, getattr(template, name))
    for name in INTEGERS:
        _put(group, name, getattr(template, name), np.int32)
    for name in FLOATS:
        _put(group, name, getattr(template, name), np.float64)
    for kind in TERM_ATOMS:
        terms = template.term(kind)
        _put(group, f"{kind}/atoms", terms.atoms, np.int32)
        _put(group, f"{kind}/parameter", terms.parameter, np.int32)
    _put(group, "exclusions", template.exclusions, np.int32)
    for name, (_, dtype) in SITE_COLUMNS.items():
        _put(group, f"virtual_site/{name}", getattr(template.virtual_sites, name), dtype)


def read(path: str | Path, has_atoms: bool = True) -> System:
    """Reads a system as the file has it, long molecules in units, but for its coordinates, which are put back into id
    order. Without `has_atoms` neither they nor velocities are
    read: the system has none.

    Raises `InputError` where the file is missing, is no system file or is of another version.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no system file {path}")
    try:
        is_checked = checked_file.is_checked(path)
        if is_checked:
            checked_file.check(path, bulk=has_atoms)
        file = h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"{path} is not a readable system file: {error}") from error
    with file:
        try:
            _check_kind(path, file, is_checked)
            _check_names(path, file)
            return _read_system(file, has_atoms)
        except InputError:
            raise
        except (OSError, KeyError, IndexError, ValueError, TypeError, RuntimeError) as error:
            # HDF5 found an error, or a member is missing.
            raise InputError(f"{path} is damaged: {error}") from error


def _check_kind(path: Path, file: Any, is_checked: bool) -> None:
    found = _text(file.attrs.get("format", ""))
    if found != FORMAT:
        raise InputError(f"{path} is not a system file (format {found!r})")
    version = int(file.attrs["version"])
    if version not in VERSIONS:
        advice = "use a newer tessera" if version > VERSIONS[-1] else "make it again with `tessera prepare`"
        raise InputError(
            f"{path} is a system file of version {version}, this tessera reads versions {VERSIONS[0]} to "
            f"{VERSIONS[-1]}: {advice}"
        )
    if not is_checked:
        raise InputError(f"{path} is damaged: its checksums are missing; copy it again or make it again")


def _check_names(path: Path, file: Any) -> None:
    """Refuses unknown names; the number of names shows whether a known one is missing."""
    found = hdf5.names(file)
    for name in found:
        if not KNOWN_NAME.fullmatch(name):
            raise InputError(f"{path} holds {name}, which this program does not know")
    if int(file.attrs.get("n_names", len(found))) != len(found):
        raise InputError(
            f"{path} is damaged: it holds {len(found)} groups and datasets, expected {file.attrs['n_names']}"
        )


def _get(group: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    return group[name][...].astype(dtype) if name in group else np.zeros(shape, dtype)


def _get_text(group: Any, name: str) -> Any:
    return np.array(group[name].asstr()[...] if name in group else [], dtype=str)


def _read_system(file: Any, has_atoms: bool) -> System:
    fraction, velocity = _read_atoms(file["coordinates"]) if has_atoms else (np.zeros((0, 3), np.int32), None)
    templates = file["templates"]
    instances = file["instances"]
    system = System(
        box=file["box"][...],
        periodic=bool(file.attrs["periodic"]),
        coulomb_constant=float(file.attrs["coulomb_constant"]),
        coulomb_source=_text(file.attrs["coulomb_source"]),
        lj_rule=_text(file.attrs["lj_rule"]),
        lennard_jones=_read_lennard_jones(file.attrs),
        source=_text(file.attrs["source"]),
        force_field=_read_force_field(file["forcefield"]),
        templates=[_read_template(templates[str(i)]) for i in range(len(templates))],
        runs=instances["runs"][...],
        residue_numbers=_get(instances, "residue_numbers", (0, 4), np.int64),
        chains=_get(instances, "chains", (0, 2), np.int64),
        chain_name=_get_text(instances, "chain_name").tolist(),
        segments=_get(instances, "segments", (0, 3), np.int64),
        segment_name=_get_text(instances, "segment_name").tolist(),
        fraction=fraction,
        velocity=velocity,
        origin=np.array(file.attrs.get("origin", np.zeros(3)), np.float64),
    )
    _check_counts(system, len(file["coordinates/id"]))
    return system


def _check_counts(system: System, n_rows: int) -> None:
    """Raises `ValueError` where molecules, chains and rows of coordinates do not go together, before anything is made
    of so many."""
    kinds, counts = system.runs[:, 0], system.runs[:, 1]
    if len(kinds) and not (0 <= kinds.min() <= kinds.max() < len(system.templates) and counts.min() > 0):
        raise ValueError("its runs name no template, or count no molecules")
    n_atoms = sum(system.templates[kind].n_atoms * count for kind, count in system.runs.tolist())
    if n_atoms != n_rows:
        raise ValueError(f"its molecules have {n_atoms:,} atoms, and there are coordinates of {n_rows:,}")
    n_molecules = int(counts.sum())
    for what, rows, n in (
        ("numbers {count} molecules", system.residue_numbers, n_molecules),
        ("names the segment of {count} molecules", system.segments, n_molecules),
        ("makes a chain of {count} runs", system.chains, len(kinds)),
    ):
        end = 0
        for first, count, *_ in rows.tolist():
            if first < end or not 0 < count <= n - first:
                raise ValueError(f"it {what.format(count=f'{count:,}')} from {first:,} of {n:,}")
            end = first + count
    if len(system.chain_name) != len(system.chains):
        raise ValueError(f"it has {len(system.chains):,} chains with {len(system.chain_name):,} names")
    names = system.segments[:, 2]
    if len(names) and not 0 <= names.min() <= names.max() < len(system.segment_name):
        raise ValueError(f"the names of its segments are rows of {len(system.segment_name):,}")


def _read_atoms(group: Any) -> tuple[NDArray[np.int32], FloatArray | None]:
    """Returns fractions and velocities in the order of ids."""
    ids = group["id"][...]
    is_there = np.zeros(len(ids), bool)
    is_there[ids] = True
    if not is_there.all() or (ids < 0).any():
        raise ValueError("its coordinates are not those of each atom once")
    fraction = np.empty((len(ids), 3), np.int32)
    fraction[ids] = group["fraction"][...]
    if "velocity" not in group:
        return fraction, None
    velocity = np.empty((len(ids), 3))
    velocity[ids] = group["velocity"][...]
    return fraction, velocity


def _read_lennard_jones(attributes: Any) -> LennardJones:
    return LennardJones(
        _text(attributes["lj_modifier"]),
        float(attributes["lj_cutoff"]),
        float(attributes["lj_switch"]),
        bool(attributes["lj_tail"]),
    )


def _read_force_field(group: Any) -> ForceField:
    nbfix_ab = group["nbfix_ab"][...] if "nbfix_ab" in group else None
    return ForceField(
        type_name=list(_get_text(group, "type_name")),
        type_lj=_get(group, "type_lj", (0, 2), np.float64),
        nbfix_types=_get(group, "nbfix_types", (0, 2), np.int32),
        nbfix_lj=_get(group, "nbfix_lj", (0, 2), np.float64),
        nbfix_ab=nbfix_ab,
        pair_types=_get(group, "pair_potential_types", (0, 2), np.int32),
        pair_kind=list(_get_text(group, "pair_potential_kind")),
        pair_parameter=_get(group, "pair_potential_parameter", (0, PAIR_PARAMETERS), np.float64),
        pair_tables=_get(group, "pair_tables", (0, 0, 2), np.float64),
        tables={kind: _get(group, kind, (0, columns), np.float64) for kind, columns in FORCE_FIELD_COLUMNS.items()},
        cmap=_get(group, "cmap", (0, 24, 24), np.float64),
    )


def _insertion(group: Any, n_residues: int) -> NDArray[Any]:
    """Returns the insertion codes (R,) of residues, or none where no residue has one."""
    words = _text(group.attrs.get("insertion_codes", "")).split()
    codes = np.zeros(n_residues if words else 0, "U1")
    for word in words:
        if not re.fullmatch(r"\d{1,9}[!-~]", word) or int(word[:-1]) >= n_residues:
            raise InputError(f"{group.name} has {n_residues} residues and names the insertion code {word!r}")
        codes[int(word[:-1])] = word[-1]
    return codes


def _read_template(group: Any) -> Template:
    texts = {k: _get_text(group, k) for k in TEXTS}
    integers = {k: _get(group, k, (0,), np.int32) for k in INTEGERS}
    floats = {k: _get(group, k, (0,), np.float64) for k in FLOATS}
    settle = group.attrs.get("settle")
    return Template(
        name=_text(group.attrs["name"]),
        **texts,
        **integers,
        **floats,
        terms={
            kind: Terms(
                _get(group, f"{kind}/atoms", (0, size), np.int32),
                _get(group, f"{kind}/parameter", (0,), np.int32),
            )
            for kind, size in TERM_ATOMS.items()
        },
        exclusions=_get(group, "exclusions", (0, 2), np.int32),
        virtual_sites=VirtualSites(
            **{k: _get(group, f"virtual_site/{k}", (0, *shape), dtype) for k, (shape, dtype) in SITE_COLUMNS.items()}
        ),
        rigid_water=bool(group.attrs["rigid_water"]),
        settle=None if settle is None else (float(settle[0]), float(settle[1])),
        always_rigid=bool(group.attrs["always_rigid"]),
        insertion=_insertion(group, len(texts["residue_name"])),
        flexible=bool(group.attrs.get("flexible", 0)),
    )
