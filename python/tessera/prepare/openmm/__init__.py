"""Converts OpenMM's `System` to Tessera's: one in memory with its topology, or a serialised one and a file of
coordinates.

`forces` reads a System force by force, with `nonbonded` for those between pairs.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tessera.constants import NM
from tessera.contained import contained
from tessera.errors import InputError
from tessera.prepare.assemble import Origin, assemble
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.flat import split
from tessera.prepare.molecule import keep_flexible, sorted_pairs
from tessera.prepare.openmm.external import run_file_text, write_restraints
from tessera.prepare.openmm.forces import AtomNames, Converted, convert
from tessera.prepare.openmm.names import names_of_elements
from tessera.prepare.text import read_text, require_file
from tessera.system import ALL_PAIRS, System
from tessera.system.model import FloatArray, IndexArray

_PDB_DIGITS = 1e-3  # Å


def prepare_openmm(
    system: Any,
    topology: Any,
    positions: Any,
    box: FloatArray | None = None,
    vacuum: bool = False,
    source: str = "prepare_openmm",
) -> System:
    """Converts an OpenMM `System` with the names and residues of its `topology`.

    `positions` (n,3) are a Quantity or numbers in nm; `box` (3,3) Å overrides the System's, and `vacuum` asks for none.
    Bonds to hydrogen and water may be constrained. `source` is what the system file says of its origin. Raises
    `InputError` that names what has no counterpart here.
    """
    import openmm
    from openmm import unit

    if not isinstance(system, openmm.System):
        raise InputError(f"prepare_openmm needs an openmm.System, found a {type(system).__name__}")
    if unit.is_quantity(positions):
        positions = positions.value_in_unit(unit.nanometer)
    try:
        position = np.array([[float(x) for x in row] for row in positions]).reshape(-1, 3) * NM
    except (TypeError, ValueError):
        raise InputError("prepare_openmm needs positions (n,3), a Quantity or numbers in nm") from None
    converted = convert(system, names_of(topology))
    vectors = _vectors(system.getDefaultPeriodicBoxVectors())
    return assembled(converted, Coordinates(position, vectors if converted.periodic else None), source, box, vacuum)


def prepare_openmm_files(
    system: str | Path,
    coordinates: str | Path,
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    output: Path | None = None,
) -> System:
    """Converts a System serialised to XML, with coordinates of a PDB, an mmCIF or a State serialised to XML.

    `box`: (3,3) Å, rows are its vectors; None: that of the System. `vacuum`: no box, even if it has one. Restraints
    (CustomExternalForce) are written into a run file beside `output`, where the system will be written. `report` is
    called with each step of the work. Raises `InputError`.
    """
    files = require_file(system, "System file"), require_file(coordinates, "coordinate file")
    report("reading the System and the coordinates")
    converted, where, vectors = contained(_read, *files, file=files)
    if converted.periodic:
        converted.notes += _compare_boxes(vectors, where.box) if box is None and not vacuum else []
        where.box = vectors
    line = f"prepare openmm: {Path(system).name} {Path(coordinates).name}"
    return assembled(converted, where, line, box, vacuum, Path(coordinates).name, report, output)


def assembled(
    converted: Converted,
    where: Coordinates,
    source: str,
    box: FloatArray | None = None,
    vacuum: bool = False,
    file: str = "the System",
    report: Callable[[str], None] = lambda _: None,
    output: Path | None = None,
    says_what_is_held: bool = True,
) -> System:
    """Makes the system of what `convert` has read, and writes a run file beside `output` where it holds restraints.
    `file` names the coordinates in messages. `says_what_is_held`: bonds to hydrogen that the System does not constrain
    are flexible in every run."""
    notes = list(converted.notes)
    if not converted.periodic and box is None and not vacuum:
        vacuum = True
        notes.append("the System has no periodic box: the system is in vacuum")
    pieces = split(converted.flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    lennard_jones = converted.lennard_jones
    if lennard_jones is None and vacuum:  # NoCutoff
        lennard_jones = ALL_PAIRS
        notes.append("the System has no cut-off: all pairs interact, unless the run file sets interactions.cutoff")
    origin = Origin("openmm", "lorentz-berthelot", source, lennard_jones, file)
    field = converted.force_field
    position = where.position.copy() if converted.restraints else where.position
    system = assemble(
        converted.flat, pieces.templates, pieces.runs, field, where, origin, box, vacuum, notes, report, pieces.held()
    )
    if says_what_is_held:
        keep_flexible(system.templates, field, pieces.held())
    if converted.restraints and output is not None:
        write_restraints(system, converted.restraints, position, output)
    elif converted.restraints:
        system.warnings.append(
            "the System's CustomExternalForce holds atoms, which a run does only where its run file says so, here with "
            "REFERENCE for a file of the places: "
            + run_file_text(converted.restraints, "SYSTEM.tsr", "REFERENCE", system.periodic)
        )
    return system


def _read(system: Path, coordinates: Path) -> tuple[Converted, Coordinates, FloatArray]:
    """Reads the two files with OpenMM; returns also the System's box vectors (3,3) Å."""
    found = _read_system(system)
    names, where, state = _read_places(coordinates, found)
    # A State has the box and the parameters of its moment, the System those of its beginning.
    box = where.box if state is not None else None
    notes = [] if state is None else _take_parameters(state, found)
    converted = convert(found, names)
    converted.notes += notes
    return converted, where, _vectors(found.getDefaultPeriodicBoxVectors()) if box is None else box


def _take_parameters(state: Any, system: Any) -> list[str]:
    """Gives the System's forces the values that a State has of their global parameters, if it has any; returns a note
    on those that differ, as where a restraint was released."""
    try:
        values = dict(state.getParameters())
    except Exception:  # a State holds what it was asked for
        return []
    changed = {}
    for force in system.getForces():
        for index in range(force.getNumGlobalParameters() if hasattr(force, "getNumGlobalParameters") else 0):
            name = force.getGlobalParameterName(index)
            if values.get(name, force.getGlobalParameterDefaultValue(index)) != force.getGlobalParameterDefaultValue(
                index
            ):
                force.setGlobalParameterDefaultValue(index, values[name])
                changed[name] = values[name]
    texts = [f"{name} = {value:g}" for name, value in changed.items()]
    return [f"parameters of forces have the State's values: {', '.join(texts)}"] if texts else []


def _compare_boxes(system: FloatArray, pdb: FloatArray | None) -> list[str]:
    """Returns a note where the PDB's box, which has three decimals, differs from the System's, which is used."""
    if pdb is None or np.allclose(system, pdb, rtol=0, atol=_PDB_DIGITS):
        return []
    texts = (" × ".join(f"{edge:.3f}" for edge in np.linalg.norm(vectors, axis=1)) for vectors in (system, pdb))
    return ["the System's box is taken, {} Å; the PDB has another, {} Å".format(*texts)]


def _read_system(path: Path) -> Any:
    import openmm

    text = read_text(path)
    try:
        found = openmm.XmlSerializer.deserialize(text)
    except Exception as error:  # OpenMM has its own exceptions, files raise others
        raise InputError(f"cannot read {path.name} as an OpenMM System: {error}") from error
    if not isinstance(found, openmm.System):
        raise InputError(f"{path.name} holds a {type(found).__name__}, expected an OpenMM System")
    return found


def _vectors(vectors: Any) -> FloatArray:
    plain = [getattr(v, "_value", v) for v in vectors]
    return np.array([[float(x) for x in v] for v in plain]) * NM


def _residue_numbers(topology: Any) -> IndexArray:
    """Returns the PDB's residue numbers (n,) where they are decimal and differ between neighbouring residues; else they
    are counted from 1."""
    residues = list(topology.residues())
    labels = [(r.id, r.insertionCode, r.name, r.chain.id) for r in residues]
    plain = all(re.fullmatch(r"-?\d{1,8}", r.id) for r in residues)
    if not plain or any(a == b for a, b in itertools.pairwise(labels)):
        numbers = list(range(1, len(residues) + 1))
    else:
        numbers = [int(r.id) for r in residues]
    return np.array([numbers[a.residue.index] for a in topology.atoms()], np.int32)


def names_of(topology: Any) -> AtomNames:
    """Returns the names of a topology's atoms, cut to eight characters."""
    atoms = list(topology.atoms())
    return AtomNames(
        name=np.array([a.name for a in atoms], "S8"),
        residue_name=np.array([a.residue.name for a in atoms], "S8"),
        residue_number=_residue_numbers(topology),
        segment=np.array([a.residue.chain.id.strip() for a in atoms], "S8"),
        insertion=np.array([a.residue.insertionCode.strip() for a in atoms], "S1"),
        atomic_number=np.array([a.element.atomic_number if a.element is not None else 0 for a in atoms], np.int32),
    )


def _read_places(path: Path, system: Any) -> tuple[AtomNames, Coordinates, Any]:
    """Reads names and places of a PDB or an mmCIF, or the places and velocities of a State, which has no names; returns
    also the State, if it is one."""
    from openmm import unit
    from openmm.app import PDBFile, PDBxFile

    text = read_text(path)
    if text.lstrip().startswith("<"):
        return names_of_elements(system), *_read_state(path, text, system)
    is_mmcif = path.suffix.lower() in (".cif", ".mmcif") or text.lstrip().startswith("data_")
    try:
        file = (PDBxFile if is_mmcif else PDBFile)(io.StringIO(text))
    except Exception as error:  # OpenMM raises many kinds of exceptions
        raise InputError(f"cannot read {path.name} as {'an mmCIF' if is_mmcif else 'a PDB'}: {error}") from error
    vectors = file.topology.getPeriodicBoxVectors()
    box = None if vectors is None else _vectors(vectors.value_in_unit(unit.nanometer))
    # OpenMM has converted to nanometres; a PDB has three decimals of Å.
    position = np.asarray(file.getPositions(asNumpy=True).value_in_unit(unit.angstrom))
    return names_of(file.topology), Coordinates(np.round(position, 10 if is_mmcif else 3), box), None


def _read_state(path: Path, text: str, system: Any) -> tuple[Coordinates, Any]:
    import openmm
    from openmm import unit

    try:
        state = openmm.XmlSerializer.deserialize(text)
        if not isinstance(state, openmm.State):
            raise InputError(f"{path.name} holds a {type(state).__name__}, expected a PDB, an mmCIF or an OpenMM State")
        position = np.asarray(state.getPositions(asNumpy=True).value_in_unit(unit.angstrom))
    except InputError:
        raise
    except Exception as error:  # OpenMM has its own exceptions, files raise others
        raise InputError(f"cannot read {path.name} as an OpenMM State with positions: {error}") from error
    try:
        velocity = np.asarray(state.getVelocities(asNumpy=True).value_in_unit(unit.angstrom / unit.picosecond))
    except Exception:  # a State holds what it was asked for
        velocity = None
    if len(position) != system.getNumParticles():
        raise InputError(
            f"the System has {system.getNumParticles()} particles and the State {path.name} {len(position)}"
        )
    return Coordinates(position, _vectors(state.getPeriodicBoxVectors()), velocity), state
