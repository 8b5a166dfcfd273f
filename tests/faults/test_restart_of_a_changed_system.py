"""A restart goes on with the system that its run began with: a change of any number of its file is refused by name."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from parallel.runs import Runs, Settings
from parallel.samples import changed

from tessera.system import FORCE_FIELD_COLUMNS, TERM_ATOMS, System, Terms

VACUUM: Settings = {
    "interactions.electrostatics": "cut",
    "dynamics.steps": 2,
    "dynamics.constraints": "none",
    "output.energy_every": 0,
}
Change = tuple[str, str, Callable[[System], None]]  # its name, the part that the refusal names, what it does


def full() -> System:
    """A tripeptide whose file has every table with a row to spare, and every kind of term."""
    system = changed("tripeptide")
    field, template = system.force_field, system.templates[0]
    for kind, columns in FORCE_FIELD_COLUMNS.items():
        rows = field.table(kind)
        spare = rows[-1:] if len(rows) else np.zeros((1, columns))
        field.tables[kind] = np.concatenate([rows, spare, spare])
        if len(template.term(kind)) == 0:
            atoms = np.arange(TERM_ATOMS[kind], dtype=np.int32)[None]
            template.terms[kind] = Terms(atoms, np.zeros(1, np.int32))
    field.cmap = np.concatenate([field.cmap, field.cmap[-1:]])
    field.nbfix_types = np.array([[0, 1]], np.int32)
    field.nbfix_lj = np.array([[3.0, 0.1]])
    return system


def add(array: np.ndarray, at: object, value: float) -> np.ndarray:
    out = array.copy()
    out[at] += value  # type: ignore[index]
    return out


def replace_field(part: str, name: str, change: Callable[[np.ndarray], np.ndarray]) -> Change:
    def do(system: System) -> None:
        setattr(system.force_field, name, change(getattr(system.force_field, name)))

    return part, f"forcefield/{part}", do


def replace_template(name: str, change: Callable[[np.ndarray], np.ndarray], part: str = "") -> Change:
    def do(system: System) -> None:
        setattr(system.templates[0], name, change(getattr(system.templates[0], name)))

    return f"template {name}", f"templates/{part or name}", do


def of_tables() -> Iterator[Change]:
    for kind, columns in FORCE_FIELD_COLUMNS.items():
        for column in range(columns):

            def do(system: System, kind: str = kind, column: int = column) -> None:
                system.force_field.tables[kind] = add(system.force_field.table(kind), (0, column), 1e-9)

            yield f"{kind} column {column}", f"forcefield/{kind}", do
    for column in range(2):
        yield replace_field("type_lj", "type_lj", lambda a, c=column: add(a, (0, c), 1e-9))  # type: ignore[misc]
        yield replace_field("nbfix", "nbfix_types", lambda a, c=column: add(a, (0, c), 1))  # type: ignore[misc]
        yield replace_field("nbfix", "nbfix_lj", lambda a, c=column: add(a, (0, c), 1e-9))  # type: ignore[misc]
    yield replace_field("cmap", "cmap", lambda a: add(a, (0, 3, 4), 1e-9))
    yield replace_field("type_name", "type_name", lambda names: ["changed", *names[1:]])  # type: ignore[arg-type, list-item, return-value]
    yield "nbfix_ab", "forcefield/nbfix", lambda s: setattr(s.force_field, "nbfix_ab", np.array([[1e6, 1e3]]))


def of_terms() -> Iterator[Change]:
    for kind in TERM_ATOMS:

        def atoms(system: System, kind: str = kind) -> None:
            terms = system.templates[0].term(kind)
            terms.atoms = terms.atoms.copy()
            terms.atoms[0] = terms.atoms[0][::-1]

        def parameter(system: System, kind: str = kind) -> None:
            terms = system.templates[0].term(kind)
            terms.parameter = terms.parameter.copy()
            terms.parameter[0] = len(system.force_field.table(kind)) - 1

        def fewer(system: System, kind: str = kind) -> None:
            terms = system.templates[0].term(kind)
            system.templates[0].terms[kind] = Terms(terms.atoms[1:], terms.parameter[1:])

        for name, do in (("atoms", atoms), ("parameter", parameter), ("fewer", fewer)):
            yield f"{kind} {name}", f"templates/{kind}", do


def of_templates() -> Iterator[Change]:
    for name in ("charge", "mass"):
        yield replace_template(name, lambda a: add(a, 5, 1e-9))
    for name in ("atomic_number", "residue_number"):
        yield replace_template(name, lambda a: add(a, 0, 1))
    yield replace_template("type", lambda a: np.concatenate([[a[0] + 1], a[1:]]).astype(np.int32))
    yield replace_template("residue", lambda a: np.concatenate([[a[-1]], a[1:]]).astype(np.int32))
    yield replace_template("group", lambda a: np.arange(len(a), dtype=np.int32))
    yield replace_template("exclusions", lambda a: a[1:])
    for name in ("atom_name", "residue_name", "segment_name"):
        yield replace_template(name, lambda a: np.array(["X", *a[1:]]))
    yield replace_template("name", lambda _: "other")  # type: ignore[arg-type, return-value]
    yield replace_template("always_rigid", lambda _: True, "rigid_water")  # type: ignore[arg-type, return-value]


def of_the_rest() -> Iterator[Change]:
    yield "coulomb_constant", "coulomb_constant", lambda s: setattr(s, "coulomb_constant", s.coulomb_constant + 1e-9)
    yield "lj_rule", "lj_rule", lambda s: setattr(s, "lj_rule", "geometric")
    yield "periodic", "periodic", lambda s: setattr(s, "periodic", True)
    for row, column in ((0, 0), (1, 1), (2, 2)):
        yield f"box {row}{column}", "box", lambda s, at=(row, column): setattr(s, "box", add(s.box, at, 1e-9))  # type: ignore[misc]


CHANGES = [*of_tables(), *of_terms(), *of_templates(), *of_the_rest()]


@pytest.fixture(scope="module")
def begun(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run file and the system file that its run began with."""
    system = tmp_path_factory.mktemp("system") / "system.tsr"
    full().write(system)
    path = runs.run_file(system, VACUUM)
    runs.start(path)
    return path, system


@pytest.mark.parametrize(("part", "change"), [change[1:] for change in CHANGES], ids=[change[0] for change in CHANGES])
def test_every_number_counts(runs: Runs, begun: tuple[Path, Path], part: str, change: Callable[[System], None]) -> None:
    path, file = begun
    system = copy.deepcopy(full())
    change(system)
    system.write(file)
    found = runs.start(path, "--restart", "--set", "dynamics.steps=4", check=False)
    assert found.process.returncode == 2, found.process.stderr
    assert "input.system (its content: " in found.process.stderr and part in found.process.stderr


def test_the_length_of_a_settled_water(runs: Runs, tmp_path: Path) -> None:
    system = changed("peptide")
    system.write(tmp_path / "system.tsr")
    path = runs.run_file(tmp_path / "system.tsr", {"dynamics.steps": 2})
    runs.start(path)
    water = system.templates[1]
    assert water.settle is not None
    for change in ({"settle": (water.settle[0] + 1e-9, water.settle[1])}, {"rigid_water": False, "settle": None}):
        system.templates[1] = dataclasses.replace(water, **change)  # type: ignore[arg-type]
        system.write(tmp_path / "system.tsr")
        found = runs.start(path, "--restart", "--set", "dynamics.steps=4", check=False)
        assert found.process.returncode == 2 and "templates/settle" in found.process.stderr, found.process.stderr


def test_coordinates_and_the_source_do_not_count(runs: Runs, begun: tuple[Path, Path]) -> None:
    """A checkpoint has its own."""
    path, file = begun
    system = full()
    system.source = "another way to the same system"
    system.fraction = system.fraction[:, [1, 2, 0]].copy()
    system.velocity = np.ones((system.n_atoms, 3))
    system.write(file)
    runs.start(path, "--restart", "--set", "dynamics.steps=4")
