"""Draws systems of any shape for Hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tessera.system import FORCE_FIELD_COLUMNS, TERM_ATOMS, ForceField, LennardJones, System, Template, Terms


@st.composite
def systems(draw: st.DrawFn) -> System:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    field = ForceField(
        type_name=["A", "B", "Ω"],
        type_lj=rng.random((3, 2)),
        tables={kind: rng.random((2, columns)) for kind, columns in FORCE_FIELD_COLUMNS.items()},
        cmap=rng.random((1, 4, 4)),
    )
    templates = [_template(rng, draw(st.integers(1, 9)), index) for index in range(draw(st.integers(1, 3)))]
    size = st.tuples(st.integers(0, len(templates) - 1), st.integers(1, 6))
    runs = np.array(draw(st.lists(size, min_size=1, max_size=5)), np.int64)
    n = int((np.array([t.n_atoms for t in templates])[runs[:, 0]] * runs[:, 1]).sum())
    box = np.diag(rng.uniform(5, 60, 3))
    if (periodic := draw(st.booleans())) and draw(st.booleans()):
        box[2, 0] = 1.5
    return System(
        box=box,
        periodic=periodic,
        coulomb_constant=332.0,
        coulomb_source="charmm",
        lj_rule="geometric",
        lennard_jones=LennardJones("force-switch", 9.5, 8.0, True),
        source="test – ä",
        force_field=field,
        templates=templates,
        runs=runs,
        fraction=rng.integers(-(2**31), 2**31, (n, 3)).astype(np.int32),
        velocity=rng.normal(size=(n, 3)) if draw(st.booleans()) else None,
    )


def _template(rng: np.random.Generator, n: int, index: int) -> Template:
    key = rng.integers(0, n)
    terms = {}
    for kind, atoms in TERM_ATOMS.items():
        count = int(rng.integers(0, 4))
        rows = len(["one"]) if kind == "cmap" else 2
        terms[kind] = Terms(
            rng.integers(0, n, (count, atoms)).astype(np.int32), rng.integers(0, rows, count).astype(np.int32)
        )
    pairs = np.argwhere(np.triu(rng.random((n, n)) < 0.4, 1)).astype(np.int32)
    return Template(
        name=f"kind{index}",
        atom_name=np.array([f"X{i}" for i in range(n)]),
        type=rng.integers(0, 3, n).astype(np.int32),
        charge=rng.normal(size=n),
        mass=rng.uniform(1, 20, n),
        atomic_number=rng.integers(0, 20, n).astype(np.int32),
        residue=np.zeros(n, np.int32),
        residue_name=np.array(["RES"]),
        segment_name=np.array([""]),
        residue_number=np.array([-4], np.int32),
        # all atoms are one group, or each atom is a group
        group=np.full(n, key, np.int32) if rng.random() < 0.5 else np.arange(n, dtype=np.int32),
        terms=terms,
        exclusions=pairs,
    )
