"""Makes a solvated system from a PDB of molecules, with the force fields that come with OpenMM.

`records` chooses what is read of the file, `force_fields` has the force fields and waters, `check` names what is
missing, `repair` builds it with PDBFixer, and `model` adds hydrogens, water and ions; `process` runs it all.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tessera.errors import InputError
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.openmm import assembled, names_of
from tessera.prepare.openmm.forces import Converted
from tessera.prepare.pdb.check import check_chains, check_names, check_space, missing_atoms, refuse_missing
from tessera.prepare.pdb.force_fields import FORCE_FIELDS, Parameters, bond_definitions
from tessera.prepare.pdb.model import (
    BOX_SHAPES,
    Model,
    Solvent,
    add_hydrogens,
    add_sites_to_waters,
    add_solvent,
    converted,
    make_system,
    relax,
    with_caps_merged,
)
from tessera.prepare.pdb.process import in_new_process
from tessera.prepare.pdb.records import read_records
from tessera.prepare.pdb.repair import has_pdbfixer, repair
from tessera.prepare.text import require_file
from tessera.system import System
from tessera.system.model import FloatArray

_SEEDS = 2**31


def prepare_pdb(
    pdb: str | Path,
    force_field: str,
    water: str | None = None,
    padding: float = 10.0,
    salt: float = 0.15,
    ph: float = 7.0,
    keep_water: bool = False,
    extra: Sequence[str | Path] = (),
    box_shape: str = "cube",
    relax_steps: int = 100,
    seed: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Makes the system: `padding` Å from the molecules to the faces of the box, `salt` mol/L, hydrogens for `ph`.

    `force_field` is "amber19", "amber14" or "charmm36"; `water` None takes its usual one. `keep_water`: waters of the
    PDB stay. `extra` are more force-field files of OpenMM; `box_shape` is "cube", "dodecahedron" or "octahedron".
    OpenMM lowers the energy by `relax_steps` steps. `seed` decides which waters become ions. `report` is called with
    each step of the work. Raises `InputError`.
    """
    choice = FORCE_FIELDS.get(force_field)
    if choice is None:
        raise InputError(f"--force-field {force_field} is not known; these are: {', '.join(FORCE_FIELDS)}")
    if box_shape not in BOX_SHAPES:
        raise InputError(f"--box-shape {box_shape} is not known; these are: {', '.join(BOX_SHAPES)}")
    for name, value, low, high in (("padding", padding, 0, 1e3), ("salt", salt, 0, 10), ("ph", ph, -2, 16)):
        if not (math.isfinite(value) and low <= value <= high):
            raise InputError(f"--{name} {value:g}: expected a number from {low:g} to {high:g}")
    if relax_steps < 0 or not 0 <= seed < _SEEDS:
        raise InputError(f"--relax and --seed need whole numbers from 0, found {relax_steps} and {seed}")
    solvent = Solvent(choice.water(water), padding, salt, box_shape)
    path = require_file(pdb, "PDB file")
    files = [require_file(name, "force-field file") for name in extra]
    report("adding hydrogens and solvent, and relaxing: minutes for a large protein")
    found, position, box = in_new_process(
        build, path, force_field, solvent, ph, keep_water, files, relax_steps, seed, has_pdbfixer()
    )
    found.lennard_jones = choice.lennard_jones
    line = f"prepare pdb: {path.name} {force_field} {solvent.water}"
    return assembled(found, Coordinates(position, box), line, file=path.name, report=report, says_what_is_held=False)


def build(
    path: Path,
    force_field: str,
    solvent: Solvent,
    ph: float,
    keep_water: bool,
    extra: Sequence[Path],
    relax_steps: int,
    seed: int,
    use_pdbfixer: bool,
) -> tuple[Converted, FloatArray, FloatArray]:
    """Returns what `convert` reads, positions (n,3) Å and the box (3,3) Å. Changes settings of OpenMM and of
    random numbers for the whole process. Raises `InputError`."""
    from openmm import app

    app.Topology.loadBondDefinitions(bond_definitions(extra))
    records = read_records(path, keep_water)
    model = Model(*_read(records.text, path.name), records.notes)
    parameters = Parameters(
        FORCE_FIELDS[force_field], solvent.water, extra, {r.name for r in model.topology.residues()}
    )
    model.notes.insert(0, f"force field {force_field}: {' '.join(parameters.files)}")
    check_names(model.topology, parameters)
    check_space(model.topology, model.position)
    if use_pdbfixer:
        repair(model, records.text, seed)
    refuse_missing(missing_atoms(model.topology))
    check_chains(model.topology, model.position)
    add_hydrogens(model, ph, seed)
    add_sites_to_waters(model, solvent.water)
    solute = names_of(model.topology)
    if parameters.choice.caps_are_patches:
        model.topology = with_caps_merged(model.topology)
    box = add_solvent(model, parameters, solvent, seed)
    system = make_system(parameters, model.topology, box)
    if relax_steps:
        relax(model, system, relax_steps)
    found = converted(system, model, solute)
    found.notes = [*model.notes, *found.notes]
    return found, model.position, box


def _read(text: str, file: str) -> tuple[Any, FloatArray]:
    """Returns the topology and the positions (n,3) Å of a PDB."""
    from openmm import app, unit

    try:
        pdb = app.PDBFile(io.StringIO(text))
    except Exception as error:  # OpenMM raises many kinds of exceptions
        raise InputError(f"cannot read {file} as a PDB: {error}") from error
    return pdb.topology, np.round(np.asarray(pdb.getPositions(asNumpy=True).value_in_unit(unit.angstrom)), 3)
