"""Parts that are cut out of a system have the terms of the whole among their atoms."""

from __future__ import annotations

import numpy as np
import pytest

from bench.common.polymer import make_polymer
from tessera.system import TERM_ATOMS, System, layout, part
from tessera.system.layout import divided
from tessera.system.part import Cutter


def rows(atoms: np.ndarray, parameter: np.ndarray) -> list[tuple[int, ...]]:
    return sorted(map(tuple, np.column_stack([atoms, parameter]).tolist()))


@pytest.mark.parametrize("is_divided", [False, True])
def test_a_part_has_the_terms_among_its_atoms(is_divided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whole molecules and of units, from the middle of a chain and with ions; in several templates."""
    monkeypatch.setattr(layout, "LEAST_BYTES", 100_000)
    monkeypatch.setattr(part, "_LEAST", 100)
    system: System = make_polymer([1500, 4, 1200], ions=3)
    system = divided(system) if is_divided else system
    assert bool(len(system.chains)) == is_divided
    cutter, random = Cutter(system), np.random.default_rng(3)
    instances = np.arange(len(cutter.template))
    if is_divided:
        instances = np.sort(random.choice(instances, len(instances) * 2 // 3, replace=False))
    atoms, residue = cutter.atoms_of(instances), cutter.residues_of(instances)
    assert len(np.unique(residue)) < len(atoms)
    is_kept = (residue % 7 > 0) & (residue // 50 % 3 < 2)
    kept = atoms[is_kept]
    position = system.positions()[kept] - 5.0
    found = cutter.part(instances, is_kept, position)
    assert len(found.templates) > 3
    assert found.n_atoms == len(kept)
    assert found.positions() == pytest.approx(position, abs=1e-5)
    assert found.atom_field("atom_name").tolist() == system.atom_field("atom_name")[kept].tolist()
    assert found.atom_field("type").tolist() == system.atom_field("type")[kept].tolist()
    assert kept[found.group_key()].tolist() == system.group_key(kept).tolist()
    assert not found.atom_field("charge").any()
    for kind in TERM_ATOMS:
        whole, parameter = system.expand(kind)
        among = np.isin(whole, kept).all(axis=1)
        own, of_own = found.expand(kind)
        assert rows(kept[own], of_own) == rows(whole[among], parameter[among]), kind
    pairs = system.expand_exclusions()
    among = np.isin(pairs, kept).all(axis=1)
    assert rows(kept[found.expand_exclusions()], np.zeros(among.sum())) == rows(pairs[among], np.zeros(among.sum()))
