"""Converts Lennard-Jones tables of A and B of every pair of types to σ, ε and exceptions."""

from __future__ import annotations

import numpy as np

from tessera.system import ForceField
from tessera.system.model import PAIR_PARAMETERS, FloatArray, IndexArray

_SAME = 1e-6  # relative; input files have about eight digits


def sigma_epsilon(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Converts A kcal/mol Å¹² and B kcal/mol Å⁶ to σ Å and ε kcal/mol; ε = 0 (σ = 1) where A or B is 0."""
    both = (a > 0) & (b > 0)
    safe_a, safe_b = np.where(both, a, 1.0), np.where(both, b, 1.0)
    sigma = np.where(both, (safe_a / safe_b) ** (1 / 6), 1.0)
    epsilon = np.where(both, safe_b * safe_b / (4 * safe_a), 0.0)
    return sigma, epsilon


def force_field_of(names: list[str], a: FloatArray, b: FloatArray, rule: str) -> ForceField:
    """Returns types from the diagonals of A and B (T,T); every pair for which `rule` gives other values is an nbfix.

    Where a pair is a pure repulsion or attraction, all exceptions are written as A, B.
    """
    sigma, epsilon = sigma_epsilon(np.diag(a), np.diag(b))
    if rule == "geometric":
        mixed = np.sqrt(np.outer(sigma, sigma))
    else:
        mixed = 0.5 * (sigma[:, None] + sigma[None, :])
    depth = np.sqrt(np.outer(epsilon, epsilon))
    rule_a, rule_b = 4 * depth * mixed**12, 4 * depth * mixed**6
    differs = (np.abs(rule_a - a) > _SAME * np.abs(a)) | (np.abs(rule_b - b) > _SAME * np.abs(b))
    pairs = np.argwhere(np.triu(differs)).astype(np.int32)
    i, j = pairs.T
    pair_a, pair_b = a[i, j], b[i, j]
    lopsided = bool(((pair_a > 0) != (pair_b > 0)).any())
    return ForceField(
        type_name=names,
        type_lj=np.stack([sigma, epsilon], axis=1),
        nbfix_types=pairs,
        nbfix_lj=np.stack(sigma_epsilon(pair_a, pair_b), axis=1).reshape(-1, 2),
        nbfix_ab=np.stack([pair_a, pair_b], axis=1) if lopsided else None,
    )


def replace_pairs(field: ForceField, pairs: IndexArray, kinds: list[str], parameters: FloatArray) -> None:
    """Gives pairs of types (P,2) potentials in place of Lennard-Jones; exceptions of Lennard-Jones for them go."""
    field.pair_types, field.pair_kind, field.pair_parameter = pairs, kinds, parameters
    replaced = {(min(i, j), max(i, j)) for i, j in pairs.tolist()}
    keep = np.array([(min(i, j), max(i, j)) not in replaced for i, j in field.nbfix_types.tolist()], bool)
    field.nbfix_types, field.nbfix_lj = field.nbfix_types[keep], field.nbfix_lj[keep]
    if field.nbfix_ab is not None:
        field.nbfix_ab = field.nbfix_ab[keep]


def add_ions(field: ForceField, a: FloatArray, b: FloatArray, c: FloatArray) -> None:
    """Gives pairs of types with a C (kcal/mol Å⁴) in the tables (T,T) the potential A/r¹² − B/r⁶ − C/r⁴."""
    pairs = np.argwhere(np.triu(c != 0)).astype(np.int32)
    if not len(pairs):
        return
    i, j = pairs.T
    parameter = np.zeros((len(pairs), PAIR_PARAMETERS))
    parameter[:, :3] = np.stack([table[i, j] for table in (a, b, c)], axis=1)
    replace_pairs(field, pairs, ["12-6-4"] * len(pairs), parameter)
