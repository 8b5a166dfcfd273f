"""Reads CHARMM topology, parameter and stream files through ParmEd and looks terms up in them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tessera.prepare.constants import RMIN_TO_SIGMA
from tessera.prepare.errors import InputError, require_file
from tessera.system.model import FloatArray

Key = tuple[str, ...]


class _TypesOnDemand(OrderedDict):  # type: ignore[type-arg]
    """Atom types by name, made when first asked for.

    ParmEd stops assigning Lennard-Jones parameters at the first type that no MASS line declared,
    and drops NBFIX pairs of such types. Masses come from the PSF here, so no MASS is needed.
    """

    def __missing__(self, name: str) -> Any:
        from parmed.topologyobjects import AtomType

        self[name] = AtomType(name=name, number=-1, mass=0.0, atomic_number=0)
        return self[name]


def read_parameters(paths: Sequence[str | Path]) -> CharmmParameters:
    """Files in any order and mix: topologies first, then parameters, then streams.

    Raises `InputError` that names the file which cannot be read.
    """
    from parmed.charmm import CharmmParameterSet

    found = CharmmParameterSet()
    found.atom_types_str = _TypesOnDemand()
    readers = (
        ("topology", found.read_topology_file),
        ("parameter", found.read_parameter_file),
        ("stream", found.read_stream_file),
    )
    files = [require_file(path, "parameter file") for path in paths]
    kinds = [_kind(path) for path in files]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, reader in readers:
            for path in (p for p, k in zip(files, kinds) if k == kind):
                try:
                    reader(str(path))
                except Exception as error:  # ParmEd raises many kinds
                    raise InputError(f"cannot read {kind} file {path.name}: {error}") from error
    return CharmmParameters(found)


def _kind(path: Path) -> str:
    """`topology`, `parameter` or `stream`, by the ending or, where that says nothing, by content."""
    by_suffix = {".rtf": "topology", ".top": "topology", ".str": "stream"}
    by_suffix |= {".prm": "parameter", ".par": "parameter"}
    if path.suffix.lower() in by_suffix:
        return by_suffix[path.suffix.lower()]
    text = path.read_text(errors="replace").upper()
    heads = {" ".join(line.split()[:2]) for line in text.splitlines() if line[:1] not in "*!"}
    if any(head.startswith(("READ RTF", "READ PARA")) for head in heads):
        return "stream"
    first_words = {head.split()[0] for head in heads if head}
    is_topology = "RESI" in first_words and "NONBONDED" not in first_words
    return "topology" if is_topology else "parameter"


class CharmmParameters:
    """Lookups by type names (upper case); `None` where a parameter is missing. Radians, kcal, Å."""

    def __init__(self, parameters: Any) -> None:
        self._set = parameters

    @property
    def lj_rule(self) -> str:
        is_geometric = self._set.combining_rule == "geometric"
        return "geometric" if is_geometric else "lorentz-berthelot"

    def electrostatic_14_scale(self) -> float:
        """E14FAC: ParmEd keeps its inverse with the dihedrals."""
        for dihedrals in self._set.dihedral_types.values():
            return 1.0 / float(dihedrals[0].scee)
        return 1.0

    def type_name(self, name: str, mass: float) -> str:
        """The name of a type that a CHARMM-format PSF gives as a number.

        Streams number their MASS lines anew, so a number may stand for several names; the mass
        (amu) of the PSF tells them apart, or `InputError` says that it cannot.
        """
        if not name.isdigit():
            return name.upper()
        types = self._set.atom_types_tuple.items()
        claims = {n: float(t.mass) for (n, number), t in types if number == int(name)}
        fitting = sorted(n for n, found in claims.items() if abs(found - mass) < 0.02)
        if len(fitting) > 1:
            raise InputError(
                f"the PSF has atom types as numbers, and number {name} is claimed by the MASS lines "
                f"of {' and '.join(fitting)}: give only the files that the PSF was made with, or an "
                "X-PLOR PSF, which has names"
            )
        return fitting[0] if fitting else name

    def lj(self, name: str) -> tuple[float, float, float, float] | None:
        """σ Å, ε kcal/mol, and both for 1-4 pairs."""
        found = self._set.atom_types_str.get(name)
        if found is None or found.epsilon is None:
            return None
        to_sigma = 2.0 * RMIN_TO_SIGMA
        return (
            float(found.rmin) * to_sigma,
            abs(float(found.epsilon)),
            float(found.rmin_14) * to_sigma,
            abs(float(found.epsilon_14)),
        )

    def nbfix(self, names: Sequence[str]) -> dict[Key, tuple[float, float, float, float]]:
        """Pairs of `names` with parameters of their own: σ, ε, and both for 1-4 pairs."""
        wanted = {name: index for index, name in enumerate(names)}
        out: dict[Key, tuple[float, float, float, float]] = {}
        for name in names:
            for partner, values in self._set.atom_types_str[name].nbfix.items():
                if partner in wanted and wanted[name] <= wanted[partner]:
                    rmin, epsilon, rmin14, epsilon14 = (float(v) for v in values)
                    out[name, partner] = (
                        rmin * RMIN_TO_SIGMA,
                        abs(epsilon),
                        rmin14 * RMIN_TO_SIGMA,
                        abs(epsilon14),
                    )
        return out

    def bond(self, key: Key) -> tuple[float, float] | None:
        found = self._either_way(self._set.bond_types, key)
        return None if found is None else (float(found.k), float(found.req))

    def angle(self, key: Key) -> tuple[float, float] | None:
        found = self._either_way(self._set.angle_types, key)
        return None if found is None else (float(found.k), float(np.radians(found.theteq)))

    def urey_bradley(self, key: Key) -> tuple[float, float] | None:
        found = self._either_way(self._set.urey_bradley_types, key)
        if found is None or not hasattr(found, "req") or not found.k:
            return None
        return float(found.k), float(found.req)

    def dihedral(self, key: Key) -> list[tuple[float, float, float]] | None:
        """Cosines k, n, δ; a multiplicity of 0 is CHARMM's harmonic form."""
        a, b, c, d = key
        for candidate in (key, ("X", b, c, "X"), ("X", b, c, d), (a, b, c, "X")):
            found = self._either_way(self._set.dihedral_types, candidate)
            if found is not None:
                return [(float(t.phi_k), float(t.per), float(np.radians(t.phase))) for t in found]
        return None

    def improper(self, key: Key) -> tuple[float, ...] | None:
        """(k, φ₀), or (k, n, δ) where the parameter has a multiplicity."""
        a, b, c, d = key
        candidates = (key, (a, "X", "X", d), ("X", b, c, d), ("X", b, c, "X"), ("X", "X", c, d))
        for candidate in candidates:
            found = self._either_way(self._set.improper_types, candidate)
            if found is not None:
                return float(found.psi_k), float(np.radians(found.psi_eq))
            found = self._either_way(self._set.improper_periodic_types, candidate)
            if found is not None:
                return float(found.phi_k), float(found.per), float(np.radians(found.phase))
        return None

    def cmap(self, key: Key) -> FloatArray | None:
        found = self._either_way(self._set.cmap_types, key)
        if found is None:
            return None
        n = int(found.resolution)
        return np.array([float(x) for x in found.grid], np.float64).reshape(n, n)

    @staticmethod
    def _either_way(table: Any, key: Key) -> Any:
        found = table.get(key)
        return found if found is not None else table.get(key[::-1])
