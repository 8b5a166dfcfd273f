"""OpenMM: a serialised `System` and a PDB to a `System` of ours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tessera.prepare.assemble import Origin, assemble
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.errors import InputError, require_file
from tessera.prepare.flat import split
from tessera.prepare.molecule import sorted_pairs
from tessera.prepare.openmm_forces import NM, AtomNames, convert
from tessera.system import System
from tessera.system.model import FloatArray, IndexArray

_PDB_DIGITS = 1e-3  # Å


def prepare_openmm(
    system: str | Path,
    coordinates: str | Path,
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """`report` hears what is being done. Raises `InputError`."""
    report("reading the System")
    found = _read_system(require_file(system, "System file"))
    report("reading the PDB")
    names, where = _read_pdb(require_file(coordinates, "PDB file"))
    report("reading forces")
    converted = convert(found, names)
    notes = converted.notes
    if converted.periodic:
        vectors = _vectors(found.getDefaultPeriodicBoxVectors())
        notes += _compare_boxes(vectors, where.box) if box is None and not vacuum else []
        where.box = vectors
    elif box is None and not vacuum:
        vacuum = True
        notes.append("the System has no periodic box: the system is in vacuum")
    pieces = split(converted.flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    line = f"prepare openmm: {Path(system).name} {Path(coordinates).name}"
    origin = Origin("openmm", "lorentz-berthelot", line, converted.lennard_jones, Path(coordinates).name)
    report("checking atoms")
    return assemble(
        converted.flat,
        pieces.templates,
        pieces.runs,
        converted.force_field,
        where,
        origin,
        box,
        vacuum,
        notes,
    )


def _compare_boxes(system: FloatArray, pdb: FloatArray | None) -> list[str]:
    """A note where the PDB's box, which has three decimals, is another than the System's, which counts."""
    if pdb is None or np.allclose(system, pdb, rtol=0, atol=_PDB_DIGITS):
        return []
    texts = (" × ".join(f"{edge:.3f}" for edge in np.linalg.norm(vectors, axis=1)) for vectors in (system, pdb))
    return ["the System's box is taken, {} Å; the PDB has another, {} Å".format(*texts)]


def _read_system(path: Path) -> Any:
    import openmm

    try:
        found = openmm.XmlSerializer.deserialize(path.read_text())
    except Exception as error:  # OpenMM raises its own kind, files others
        raise InputError(f"cannot read {path.name} as an OpenMM System: {error}") from error
    if not isinstance(found, openmm.System):
        raise InputError(f"{path.name} holds a {type(found).__name__}, expected an OpenMM System")
    return found


def _vectors(vectors: Any) -> FloatArray:
    plain = [getattr(v, "_value", v) for v in vectors]
    return np.array([[float(x) for x in v] for v in plain]) * NM


def _residue_numbers(topology: Any) -> IndexArray:
    """(n,) as the PDB has them, where they are decimal and tell neighbouring residues apart; else counted from 1."""
    residues = list(topology.residues())
    labels = [(r.id, r.name, r.chain.id) for r in residues]
    plain = all(re.fullmatch(r"-?\d{1,8}", r.id) for r in residues)
    if not plain or any(a == b for a, b in itertools.pairwise(labels)):
        numbers = list(range(1, len(residues) + 1))
    else:
        numbers = [int(r.id) for r in residues]
    return np.array([numbers[a.residue.index] for a in topology.atoms()], np.int32)


def _read_pdb(path: Path) -> tuple[AtomNames, Coordinates]:
    from openmm import unit
    from openmm.app import PDBFile

    try:
        pdb = PDBFile(str(path))
    except Exception as error:  # OpenMM raises many kinds
        raise InputError(f"cannot read {path.name} as a PDB: {error}") from error
    atoms = list(pdb.topology.atoms())
    names = AtomNames(
        name=np.array([a.name for a in atoms], "S8"),
        residue_name=np.array([a.residue.name for a in atoms], "S8"),
        residue_number=_residue_numbers(pdb.topology),
        segment=np.array([a.residue.chain.id for a in atoms], "S8"),
        atomic_number=np.array([a.element.atomic_number if a.element is not None else 0 for a in atoms], np.int32),
    )
    vectors = pdb.topology.getPeriodicBoxVectors()
    box = None if vectors is None else _vectors(vectors.value_in_unit(unit.nanometer))
    # PDBFile went through nanometres; the file has three decimals of Å
    position = np.asarray(pdb.getPositions(asNumpy=True).value_in_unit(unit.angstrom))
    return names, Coordinates(np.round(position, 3), box)
