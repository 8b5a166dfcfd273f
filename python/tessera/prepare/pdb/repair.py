"""Builds missing atoms and residues with PDBFixer, where it is installed."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

import numpy as np

from tessera.errors import InputError
from tessera.prepare.pdb.check import describe, missing_atoms
from tessera.prepare.pdb.model import Model, platform
from tessera.system.model import FloatArray

_SHOWN = 6  # residues that a note names


def has_pdbfixer() -> bool:
    return importlib.util.find_spec("pdbfixer") is not None


def repair(model: Model, text: str, seed: int) -> None:
    """Adds atoms that residues lack, and residues inside chains that SEQRES lists. Those that SEQRES lists before the
    first or after the last residue of a chain are left out. A model that lacks nothing stays as it is."""
    lacking = missing_atoms(model.topology)
    if not lacking and "SEQRES" not in text:
        return
    import pdbfixer

    try:
        fixer = pdbfixer.PDBFixer(pdbfile=io.StringIO(text), platform=platform())
        fixer.findMissingResidues()
        ends = _take_ends_out(fixer)
        loops = {place: names for place, names in fixer.missingResidues.items() if names}
        if not lacking and not loops:
            return
        fixer.findMissingAtoms()
        fixer.addMissingAtoms(seed=seed + 1)  # 0 would mean a seed from the clock
        topology, position = fixer.topology, _angstrom(fixer.positions)
    except Exception as error:  # PDBFixer and OpenMM raise many kinds of exceptions
        raise InputError(f"PDBFixer cannot build the missing atoms: {type(error).__name__}: {error}") from error
    if lacking:
        count = sum(len(m.atoms) for m in lacking)
        listed = "; ".join(m.text() for m in lacking[:_SHOWN])
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        model.notes.append(f"PDBFixer built {count} heavy atom(s) of {len(lacking)} residue(s): {listed}{more}")
    chains = list(model.topology.chains())
    for (chain, index), names in loops.items():
        after = describe(list(chains[chain].residues())[index - 1])
        model.notes.append(f"PDBFixer built {len(names)} residue(s) after {after}: {' '.join(names)}")
    if ends:
        model.notes.append(f"{ends} residue(s) of SEQRES before the first or after the last of a chain are left out")
    model.topology, model.position = topology, position


def _take_ends_out(fixer: Any) -> int:
    """Takes from the missing residues those at the ends of chains, and returns how many they are."""
    chains = list(fixer.topology.chains())
    count = 0
    for place in list(fixer.missingResidues):
        chain, index = place
        if index in (0, sum(1 for _ in chains[chain].residues())):
            count += len(fixer.missingResidues.pop(place))
    return count


def _angstrom(positions: Any) -> FloatArray:
    from openmm import unit

    return np.array([[x, y, z] for x, y, z in positions.value_in_unit(unit.angstrom)]).reshape(-1, 3)
