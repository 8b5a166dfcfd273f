"""Reads harmonic forces on single atoms (CustomExternalForce) as restraints of positions, which a run file describes.

An energy is understood by its values and not by its text: it must be Σ k_d (d − d₀)² over x, y and z at every place
that is tried, whatever its parameters are called and however it is written.
"""

from __future__ import annotations

import ast
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tessera.constants import KJ, NM
from tessera.errors import InputError
from tessera.files import replaced
from tessera.prepare.numbering import selection_of
from tessera.prepare.openmm.gathered import Gathered, Restraint
from tessera.system import System, write
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, IdArray
from tessera.system.vacuum import with_positions

_AXES = "xyz"
_SAME_PLACE = 2e-3  # Å: a PDB has three decimals
_UNKNOWN = "{} in its energy is not understood"


class _Energy:
    """An expression in the notation of OpenMM: an energy, and definitions of what it names."""

    def __init__(self, text: str) -> None:
        energy, *definitions = [part.strip() for part in text.split(";") if part.strip()] or [""]
        self._energy = _parsed(energy)
        self._definitions = {}
        for definition in definitions:
            name, _, body = definition.partition("=")
            self._definitions[name.strip()] = _parsed(body)

    def __call__(self, values: dict[str, Any]) -> FloatArray:
        return np.asarray(self._value(self._energy, dict(values)), np.float64)

    def _value(self, node: ast.expr, values: dict[str, Any]) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                if name not in values:
                    if name not in self._definitions:
                        raise InputError(_UNKNOWN.format(repr(name)))
                    values[name] = None  # a definition by itself ends as arithmetic with nothing
                    values[name] = self._value(self._definitions[name], values)
                return values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand, values)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._value(left, values), self._value(right, values))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*(self._value(argument, values) for argument in arguments))
        raise InputError(_UNKNOWN.format(repr(ast.unparse(node).replace("**", "^"))))


_OPERATORS: dict[type, Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
_FUNCTIONS: dict[str, Any] = {
    "sqrt": np.sqrt,
    "abs": np.abs,
    # A run takes the nearest image, too.
    "periodicdistance": lambda x, y, z, x0, y0, z0: np.sqrt((x - x0) ** 2 + (y - y0) ** 2 + (z - z0) ** 2),
}


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(_UNKNOWN.format(repr(text[:60]))) from None


def read_custom_external(force: Any, out: Gathered) -> None:
    """Adds the restraints of a CustomExternalForce. Raises `InputError` where its energy is not harmonic."""
    n = force.getNumParticles()
    if not n:
        return
    rows = [force.getParticleParameters(i) for i in range(n)]
    columns = [force.getPerParticleParameterName(i) for i in range(force.getNumPerParticleParameters())]
    table = np.array([list(parameters) for _, parameters in rows], np.float64).reshape(n, len(columns))
    values: dict[str, Any] = dict(zip(columns, table.T))
    for i in range(force.getNumGlobalParameters()):
        values[force.getGlobalParameterName(i)] = force.getGlobalParameterDefaultValue(i)
    try:
        with np.errstate(all="ignore"):
            k, places = _harmonic(force.getEnergyFunction(), values, n)
    except (InputError, TypeError, ArithmeticError, RecursionError) as error:
        reason = f" ({error})" if isinstance(error, InputError) else ""
        raise InputError(
            f"the System has a CustomExternalForce with the energy {force.getEnergyFunction()!r}{reason}: only "
            "harmonic forces towards a place are read. Remove it from the System, and say in the run file what it "
            "does: [[restraint]] holds positions, distances, angles and dihedrals, dynamics.fixed holds atoms still"
        ) from None
    atoms = np.array([atom for atom, _ in rows], np.int64)
    out.restraints += _restraints(k * KJ / NM**2, atoms, places * NM)


def _harmonic(text: str, values: dict[str, Any], n: int) -> tuple[FloatArray, FloatArray]:
    """Returns k (n,3) and the places (n,3) of Σ k_d (d − d₀)² in the units of the expression."""
    energy = _Energy(text)

    def at(place: FloatArray) -> FloatArray:
        found = np.broadcast_to(energy({**values, **dict(zip(_AXES, place.T))}), (n,))
        if not np.isfinite(found).all():
            raise InputError("its energy is not finite")
        return found

    k, places = np.zeros((n, 3)), np.zeros((n, 3))
    zero = at(np.zeros((n, 3)))
    for d, step in enumerate(np.eye(3)):
        above, below = at(np.tile(step, (n, 1))), at(np.tile(-step, (n, 1)))
        k[:, d] = 0.5 * (above + below) - zero
        slope = 0.5 * (above - below)
        held = np.abs(k[:, d]) > 1e-9 * (np.abs(above) + np.abs(below) + np.abs(zero))
        k[~held, d] = 0
        places[held, d] = -0.5 * slope[held] / k[held, d]
    if (k < 0).any():
        raise InputError("it pushes atoms away")
    scale = 1 + np.abs(zero)
    for seed in range(8):  # near the place and far from it, where a flat bottom or another power would show
        away = np.random.default_rng(seed).normal(scale=0.02 * 3.0**seed, size=(n, 3))
        expected = (k * away**2).sum(axis=1)
        if (np.abs(at(places + away) - expected) > 1e-7 * (scale + expected)).any():
            raise InputError("it is not harmonic")
    return k, places


def _restraints(k: FloatArray, atoms: IdArray, places: FloatArray) -> list[Restraint]:
    """Returns a restraint for each constant and set of axes."""
    found = []
    for row in np.unique(np.round(k, 9), axis=0):
        mine = np.flatnonzero((np.round(k, 9) == row).all(axis=1))
        for constant in np.unique(row[row > 0]).tolist():
            axes = "".join(axis for axis, value in zip(_AXES, row) if value == constant)
            found.append(Restraint(constant, axes, atoms[mine], places[mine]))
    return found


def run_file_text(restraints: list[Restraint], system: str, reference: str, periodic: bool = True) -> str:
    """Returns a run file with the restraints; `system` and `reference` are paths as seen from it. Without a box it has
    no mesh, so that it runs as it is."""
    lines = ["# The restraints of the System's CustomExternalForce.", "[input]", f'system = "{system}"']
    lines += [] if periodic else ["", "[interactions]", 'electrostatics = "cut"']
    for one in restraints:
        lines += ["", "[[restraint]]", 'kind = "position"', f'select = "{selection_of(one.atoms)}"']
        lines += [f"k = {one.k:.9g}  # kcal/mol/Å²", f'reference = "{reference}"']
        lines += [f'axes = "{one.axes}"'] if one.axes != _AXES else []
    return "\n".join(lines) + "\n"


def _moved_by(system: System, moved: FloatArray) -> System:
    """Returns the system with its atoms moved by so much, (n,3) Å."""
    if not system.periodic:
        return replace(with_positions(system, system.positions() + moved), velocity=None)
    return replace(system, fraction=system.fraction + to_fraction(moved, system.box), velocity=None)


def write_restraints(system: System, restraints: list[Restraint], position: FloatArray, output: Path) -> None:
    """Writes a run file with the restraints beside the system file `output`, and a system file with their places where
    these are not `position` (n,3) Å, where the atoms are. Notes say so."""
    reference, moved = output, np.zeros_like(position)
    furthest = 0.0
    for one in restraints:
        held = np.array([axis in one.axes for axis in _AXES])
        away = np.where(held, one.places - position[one.atoms], 0.0)
        moved[one.atoms] += away
        furthest = max(furthest, float(np.abs(away).max()))
    if furthest > _SAME_PLACE:
        reference = output.with_name(f"{output.stem}.reference.tsr")
        write(_moved_by(system, moved), reference)
        system.notes.append(f"{reference} has the places at which the CustomExternalForce holds atoms")
    run_file = output.with_name(f"{output.stem}.restraints.toml")
    with replaced(run_file) as temporary:
        name, places = (Path(os.path.relpath(path, run_file.parent)).as_posix() for path in (output, reference))
        Path(temporary).write_text(run_file_text(restraints, name, places, system.periodic))
    system.notes.append(f"{run_file} has the {len(restraints)} restraint(s) of the CustomExternalForce: run it")
