"""Reads molecules that were built or prepared before, to put them into water of the same force field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.system import System, read
from tessera.system.box import describe_box

_SAME = 1e-6  # of a value, by which parameters of one force field may differ


def read_solute(path: Path, table: CharmmParameters) -> System:
    """Reads molecules that `check_solute` accepts."""
    system = read(path)
    check_solute(path, system, table)
    return system


def check_solute(path: Path, system: System, table: CharmmParameters) -> None:
    """Raises `InputError` for a system with a box, and where Lennard-Jones parameters are others than those of the
    force field, which water and ions will have."""
    if system.periodic:
        raise InputError(f"{path} has a box of {describe_box(system.box)} already, expected molecules without a box")
    _check_rule(path, system, table)
    _check_types(path, system, table)
    _check_pairs(path, system, table)


def _check_rule(path: Path, system: System, table: CharmmParameters) -> None:
    field = system.force_field
    if len(field.pair_types) or field.nbfix_ab is not None:
        raise InputError(f"{path} has pairs of types that are not of Lennard-Jones, expected a CHARMM force field")
    if system.lj_rule != table.lj_rule:
        raise InputError(
            f"{path} has the combination rule {system.lj_rule!r}, expected {table.lj_rule!r}, that of the files of "
            "--toppar: give the files with which it was made"
        )


def _check_types(path: Path, system: System, table: CharmmParameters) -> None:
    for name, own in zip(system.force_field.type_name, system.force_field.type_lj, strict=True):
        expected = table.lj(name)
        if expected is None:
            raise InputError(
                f"{path} has atoms of the type {name}, which none of the files of --toppar has: give the files with "
                "which it was made, and toppar_water_ions.str"
            )
        if not np.allclose(own, expected[:2], rtol=_SAME, atol=0):
            raise InputError(
                f"{path} has σ = {own[0]:.6g} Å and ε = {own[1]:.6g} kcal/mol for the type {name}, the files of "
                f"--toppar {expected[0]:.6g} and {expected[1]:.6g}: give the files with which it was made"
            )


def _check_pairs(path: Path, system: System, table: CharmmParameters) -> None:
    field = system.force_field
    names = field.type_name
    expected = {frozenset(key): values[:2] for key, values in table.nbfix(names).items()}
    own = {
        frozenset((names[one], names[other])): values
        for (one, other), values in zip(field.nbfix_types.tolist(), field.nbfix_lj)
    }
    for pair in sorted(own.keys() | expected.keys(), key=sorted):
        of_file, of_toppar = (_text(values.get(pair)) for values in (own, expected))
        if of_file != of_toppar:
            raise InputError(
                f"the types {' and '.join(sorted(pair))} have {of_file} in {path} and {of_toppar} in the files of "
                "--toppar: give the files with which it was made"
            )


def _text(values: Sequence[float] | None) -> str:
    return "no NBFIX" if values is None else f"σ = {values[0]:.6g} Å and ε = {values[1]:.6g} kcal/mol by NBFIX"
