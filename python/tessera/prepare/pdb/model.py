"""Adds hydrogens, water and ions to the molecules of a PDB with OpenMM's Modeller, and relaxes the result.

With one seed, and OpenMM on one thread, the same input gives the same molecules, and the same positions but for
rounding.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tessera.constants import KJ, NM
from tessera.errors import InputError
from tessera.prepare.openmm import names_of
from tessera.prepare.openmm.forces import AtomNames, Converted, convert
from tessera.prepare.pdb.check import advice_on, describe
from tessera.prepare.pdb.force_fields import CAPS, Parameters, sites_of
from tessera.printing import counted
from tessera.system.box import heights
from tessera.system.model import FloatArray

_UNMATCHED = re.compile(
    r"No template found for residue (\d+) \(\S*\)\.\s*(.*?)\s*(?:For more information|$)", re.DOTALL
)
_TOLERANCE = 10.0  # kJ/mol/nm: where relaxation may stop, as a root mean square
_STANDARD_STATES = {None, "ASP", "GLU", "LYS", "CYS"}
_SHOWN = 8  # residues that a note names
#: Modeller's boxes of water by the number of sites, from which waters of other models start
_BOXES = {4: "tip4pew", 5: "tip5p"}


#: rows are the vectors of boxes whose molecules are 1 from their nearest images; volumes 1, 0.71 and 0.77
BOX_SHAPES: dict[str, FloatArray] = {
    "cube": np.eye(3),
    "dodecahedron": np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, math.sqrt(0.5)]]),
    "octahedron": np.array([[3, 0, 0], [1, math.sqrt(8), 0], [-1, math.sqrt(2), math.sqrt(6)]]) / 3,
}


@dataclass(frozen=True)
class Solvent:
    """What surrounds the molecules: padding in Å, salt in mol/L, and a shape of `BOX_SHAPES`."""

    water: str
    padding: float
    salt: float
    shape: str = "cube"


@dataclass
class Model:
    """The molecules as they grow: a topology, positions (n,3) Å, and notes on what was done."""

    topology: Any
    position: FloatArray
    notes: list[str] = field(default_factory=list)


def add_hydrogens(model: Model, ph: float, seed: int) -> None:
    """Adds hydrogens at a pH, and takes out those that have no bond, because their names are not the PDB's."""
    from openmm import app

    random.seed(seed)
    modeller = app.Modeller(model.topology, _quantity(model.position))
    bonded = {atom for bond in model.topology.bonds() for atom in bond}
    loose = [a for a in model.topology.atoms() if a.element is not None and a.element.symbol == "H" and a not in bonded]
    if loose:
        modeller.delete(loose)
        model.notes.append(
            f"{len(loose)} hydrogen(s) with names that are not the PDB's are made anew, the first {loose[0].name} of "
            f"{describe(loose[0].residue)}"
        )
    before = modeller.topology.getNumAtoms()
    states = modeller.addHydrogens(pH=ph, platform=platform())
    added = modeller.topology.getNumAtoms() - before
    residues = list(modeller.topology.residues())
    chosen = [f"{describe(r)} {state}" for r, state in zip(residues, states) if state not in _STANDARD_STATES]
    more = f" and {len(chosen) - _SHOWN} more" if len(chosen) > _SHOWN else ""
    said = f"; {', '.join(chosen[:_SHOWN])}{more}" if chosen else ""
    model.notes.append(f"{counted(added, 'hydrogen')} added for pH {ph:g}{said}")
    model.topology, model.position = modeller.topology, _angstrom(modeller.positions)


def add_sites_to_waters(model: Model, water: str) -> None:
    """Gives waters of the PDB the virtual sites of the model, which structures do not have; they get their places
    later."""
    from openmm import app

    n_more = sites_of(water) - 3
    is_water = {r for r in model.topology.residues() if r.name == "HOH" and len(list(r.atoms())) == 3}
    if not n_more or not is_water:
        return
    out, position = app.Topology(), []
    atoms: dict[Any, Any] = {}
    for chain in model.topology.chains():
        new_chain = out.addChain(chain.id)
        for residue in chain.residues():
            new = out.addResidue(residue.name, new_chain, residue.id, residue.insertionCode)
            own = list(residue.atoms())
            for atom in own:
                atoms[atom] = out.addAtom(atom.name, atom.element, new)
                position.append(model.position[atom.index])
            for site in range(n_more if residue in is_water else 0):
                out.addAtom(f"M{site + 1}" if n_more > 1 else "M", None, new)
                position.append(model.position[own[0].index])
    for one, other in model.topology.bonds():
        out.addBond(atoms[one], atoms[other])
    out.setPeriodicBoxVectors(model.topology.getPeriodicBoxVectors())
    model.topology, model.position = out, np.array(position)


def with_caps_merged(topology: Any) -> Any:
    """Returns the topology with each cap as a part of its neighbour, as patches of CHARMM make it; the order of the
    atoms is the same."""
    from openmm import app

    out = app.Topology()
    atoms: dict[Any, Any] = {}
    for chain in topology.chains():
        new_chain, residues = out.addChain(chain.id), list(chain.residues())
        last: Any = None
        for index, residue in enumerate(residues):
            is_cap = residue.name in CAPS
            follows_ace = index > 0 and residues[index - 1].name == "ACE"
            if follows_ace and not is_cap:
                last.name = residue.name
            elif last is None or not is_cap or residue.name == "ACE":
                last = out.addResidue(residue.name, new_chain, residue.id, residue.insertionCode)
            for atom in residue.atoms():
                name = f"{atom.name}_{residue.name}" if is_cap else atom.name
                atoms[atom] = out.addAtom(name, atom.element, last)
    for one, other in topology.bonds():
        out.addBond(atoms[one], atoms[other])
    out.setPeriodicBoxVectors(topology.getPeriodicBoxVectors())
    return out


def make_system(parameters: Parameters, topology: Any, box: FloatArray | None = None) -> Any:
    """Returns OpenMM's System of the topology, periodic if there is a box (3,3) Å. Raises `InputError` that names a
    residue which the force field does not match."""
    from openmm import app

    settings: dict[str, Any] = {"constraints": None, "rigidWater": True, "removeCMMotion": False}
    if box is not None:
        settings |= {"nonbondedMethod": app.PME, "nonbondedCutoff": min(1.0, 0.49 * float(heights(box).min()) / NM)}
    for attempt in range(2):
        try:
            return parameters.force_field.createSystem(topology, **settings)
        except Exception as error:  # OpenMM raises many kinds of exceptions
            match = _UNMATCHED.match(str(error))
            if match and not attempt and parameters.choice.caps_are_patches:
                parameters.load_all()
                continue
            if match:
                residue = list(topology.residues())[int(match[1])]
                found = f"{describe(residue)} matches no residue of {' '.join(parameters.files)}"
                raise InputError(f"{found}{advice_on(residue)}. {match[2]}") from error
            raise InputError(f"OpenMM cannot apply {' '.join(parameters.files)}: {error}") from error
    raise AssertionError


def add_solvent(model: Model, parameters: Parameters, solvent: Solvent, seed: int) -> FloatArray:
    """Adds water and ions to a box around the molecules, and returns its vectors (3,3) Å."""
    import openmm
    from openmm import app, unit

    low, high = model.position.min(axis=0), model.position.max(axis=0)
    radius = float(np.linalg.norm(model.position - (low + high) / 2, axis=1).max())
    shape = BOX_SHAPES[solvent.shape]
    box = 2 * (radius + solvent.padding) * shape
    need, height, of_edge = 2 * parameters.choice.lennard_jones.cutoff, heights(box).min(), heights(shape).min()
    if height < need:
        raise InputError(
            f"--padding {solvent.padding:g} makes a box of {height:.1f} Å, less than twice the cut-off of "
            f"{parameters.choice.name}, {need:g} Å: give at least {need / 2 / of_edge - radius:.1f}"
        )
    random.seed(seed)
    modeller = app.Modeller(model.topology, _quantity(model.position))
    solute = _Solute(_with_plain_pairs(make_system(parameters, model.topology), model.topology))
    before = Counter(residue.name for residue in model.topology.residues())
    try:
        modeller.addSolvent(
            solute,
            model=_BOXES.get(sites_of(solvent.water), "spce" if solvent.water == "spce" else "tip3p"),
            boxVectors=[openmm.Vec3(*row) for row in (box / NM).tolist()] * unit.nanometer,
            ionicStrength=solvent.salt * unit.molar,
        )
    except IndexError:
        raise InputError(f"no room for the ions of --salt {solvent.salt:g} mol/L with 5 Å between them") from None
    after = Counter(residue.name for residue in modeller.topology.residues())
    added = {name: after[name] - before[name] for name in ("HOH", "NA", "CL")}
    model.notes.append(
        f"{counted(added['HOH'], 'water')}, {added['NA']} Na+ and {added['CL']} Cl- added: {solvent.water}, "
        f"{solvent.padding:g} Å from the molecules to the faces of the box, {solvent.salt:g} mol/L of salt beside "
        "the ions that neutralise"
    )
    model.topology, model.position = modeller.topology, _angstrom(modeller.positions)
    return box


class _Solute:
    """Stands for a force field where Modeller asks for radii and charges of the molecules.

    Modeller would make a system of molecules and water only to sum charges, which for patched residues takes seconds.
    """

    def __init__(self, system: Any) -> None:
        self._system = system

    def createSystem(self, topology: Any, **_: Any) -> Any:
        return self._system


def _with_plain_pairs(system: Any, topology: Any) -> Any:
    """Returns the System with Lennard-Jones in its NonbondedForce, without NBFIX.

    Modeller reads radii there, and OpenMM's processor platform computes this force a hundred times as fast as a table.
    """
    import openmm

    kinds = [type(force).__name__ for force in system.getForces()]
    if "CustomNonbondedForce" not in kinds:
        return system
    found = convert(system, names_of(topology))
    sigma, epsilon = found.force_field.type_lj[found.flat.type].T
    out = openmm.XmlSerializer.clone(system)
    base = out.getForce(kinds.index("NonbondedForce"))
    for index in range(system.getNumParticles()):
        charge, *_ = base.getParticleParameters(index)
        base.setParticleParameters(index, charge, sigma[index] / NM, epsilon[index] / KJ)
    out.removeForce(kinds.index("CustomNonbondedForce"))
    return out


def relax(model: Model, system: Any, steps: int) -> None:
    """Minimises the energy by at most so many steps."""
    import openmm
    from openmm import unit

    context = openmm.Context(_with_plain_pairs(system, model.topology), openmm.VerletIntegrator(0.001), platform())
    context.setPositions(_quantity(model.position))
    context.computeVirtualSites()
    before, after = context.getState(getEnergy=True).getPotentialEnergy(), None
    openmm.LocalEnergyMinimizer.minimize(context, _TOLERANCE, steps)
    state = context.getState(getEnergy=True, getPositions=True)
    after = state.getPotentialEnergy()
    model.position = _angstrom(state.getPositions())
    one, other = (energy.value_in_unit(unit.kilocalories_per_mole) for energy in (before, after))
    model.notes.append(
        f"{counted(steps, 'step')} of relaxation took the energy from {one:,.0f} to {other:,.0f} kcal/mol"
    )


def converted(system: Any, model: Model, solute: AtomNames) -> Converted:
    """Converts the System; the first atoms have the names that they had before caps were merged."""
    names = names_of(model.topology)
    n = len(solute.name)
    for column in ("name", "residue_name", "residue_number", "segment"):
        getattr(names, column)[:n] = getattr(solute, column)
    return convert(system, names)


def platform() -> Any:
    import openmm

    names = [openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())]
    found = openmm.Platform.getPlatformByName("CPU" if "CPU" in names else "Reference")
    if found.getName() == "CPU":
        found.setPropertyDefaultValue("Threads", "1")
    return found


def _quantity(position: FloatArray) -> Any:
    import openmm
    from openmm import unit

    return [openmm.Vec3(*row) for row in (position / NM).tolist()] * unit.nanometer


def _angstrom(positions: Any) -> FloatArray:
    from openmm import unit

    return np.array([[x, y, z] for x, y, z in positions.value_in_unit(unit.nanometer)]).reshape(-1, 3) * NM
