"""A restart continues with the system with which its run began: it names and refuses a change of any number."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from tessera.system import FORCE_FIELD_COLUMNS, TERM_ATOMS, System, Terms, write
from tests.support.runs import Runs, Settings
from tests.support.samples import changed, edited

VACUUM: Settings = {
    "interactions.electrostatics": "cut",
    "dynamics.steps": 2,
    "dynamics.constraints": "none",
    "output.energy_every": 0,
}
Change = tuple[str, str, Callable[[System], None]]  # name, part in the message, function that changes the system


def full() -> System:
    """Returns a tripeptide with every kind of term, an unused row in every table and an unused template."""
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
    system.templates.append(copy.deepcopy(template))
    system.residue_numbers = np.array([[0, 1, 1, 1]])
    return system


def part_of(dataset: str) -> str:
    """Returns the name of the fingerprint's part that covers a dataset."""
    part = re.sub(r"^templates/[0-9]+", "templates", dataset)
    return re.sub(r"/(atoms|parameter)$|(?<=nbfix)_(types|lj|ab)$", "", part)


def columns(file: Path) -> list[tuple[str, int]]:
    """Returns all columns of all datasets, without those that a checkpoint holds too and those of the second
    template."""
    found: list[tuple[str, int]] = []

    def visit(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith(("coordinates/", "templates/1/")):
            found.extend((name, column) for column in range(item.shape[1] if item.ndim > 1 else 1))

    with h5py.File(file) as opened:
        opened.visititems(visit)
    return found


def places(dataset: h5py.Dataset, column: int) -> list[tuple[int, ...]]:
    """Returns the places at which a column may be changed. Zeros of box vectors have to stay."""
    if dataset.name == "/box":
        return [(column, column)]
    rows = [0, len(dataset) - 1, len(dataset) // 2]
    return [(row, column, 1)[: dataset.ndim] for row in rows]


def others(dataset: h5py.Dataset, place: tuple[int, ...]) -> Iterator[object]:
    """Yields other values for a place. Not every one of them makes a valid file."""
    value = dataset[place]
    if isinstance(value, bytes):
        yield b"#" + value[1:]
    elif dataset.dtype.kind == "f":
        yield value + 1e-9
    else:
        yield value + 1
        if value > 0:
            yield value - 1
            yield 0


def of_attributes() -> Iterator[Change]:
    yield "template name", "templates/name", lambda s: setattr(s.templates[0], "name", "other")
    yield "always rigid", "templates/rigid_water", lambda s: setattr(s.templates[0], "always_rigid", True)
    yield "flexible", "templates/flexible", lambda s: setattr(s.templates[0], "flexible", True)
    yield "coulomb_constant", "coulomb_constant", lambda s: setattr(s, "coulomb_constant", s.coulomb_constant + 1e-9)
    yield "lj_rule", "lj_rule", lambda s: setattr(s, "lj_rule", "geometric")
    yield "periodic", "periodic", lambda s: setattr(s, "periodic", True)
    yield "origin", "origin", lambda s: setattr(s, "origin", np.array([0.0, 1e-9, 0.0]))


def of_rows() -> Iterator[Change]:
    for kind in TERM_ATOMS:

        def fewer(system: System, kind: str = kind) -> None:
            terms = system.templates[0].term(kind)
            system.templates[0].terms[kind] = Terms(terms.atoms[1:], terms.parameter[1:])

        yield f"{kind} fewer", f"templates/{kind}", fewer
    yield "nbfix_ab", "forcefield/nbfix", lambda s: setattr(s.force_field, "nbfix_ab", np.array([[1e6, 1e3]]))


CHANGES = [*of_attributes(), *of_rows()]


@pytest.fixture(scope="module")
def begun(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Returns a run file and the system file with which its run began."""
    system = tmp_path_factory.mktemp("system") / "system.tsr"
    write(full(), system)
    path = runs.run_file(system, VACUUM)
    runs.start(path)
    return path, system


@pytest.mark.parametrize(("part", "change"), [change[1:] for change in CHANGES], ids=[change[0] for change in CHANGES])
def test_attributes_and_numbers_of_rows_count(
    runs: Runs, begun: tuple[Path, Path], part: str, change: Callable[[System], None]
) -> None:
    path, file = begun
    system = copy.deepcopy(full())
    change(system)
    write(system, file)
    found = runs.start(path, "--restart", "--set", "dynamics.steps=4", status=2)
    assert "input.system (its content: " in found.process.stderr and part in found.process.stderr


def test_every_column_of_every_dataset_counts(runs: Runs, begun: tuple[Path, Path]) -> None:
    path, file = begun
    write(full(), file)
    good = file.read_bytes()
    unnoticed = []
    parts = set()
    for name, column in columns(file):
        refusals = []
        with h5py.File(file) as opened:
            dataset = opened[name]
            tries = [(place, value) for place in places(dataset, column) for value in others(dataset, place)]
        for place, value in tries:
            file.write_bytes(good)
            with edited(file) as opened:
                opened[name][place] = value
            found = runs.start(path, "--restart", "--set", "dynamics.steps=4", status=2)
            refusals.append(found.process.stderr)
            if f"input.system (its content: {part_of(name)})" in found.process.stderr:
                parts.add(part_of(name))
                break
        else:
            unnoticed.append((name, column, refusals))
    # Another number of molecules does not fit the coordinates; other residue numbers do not fit the one molecule.
    refused_anyway = [("instances/residue_numbers", 0), ("instances/residue_numbers", 1), ("instances/runs", 1)]
    assert [(name, column) for name, column, _ in unnoticed] == refused_anyway, unnoticed
    assert {f"{group}/{kind}" for group in ("forcefield", "templates") for kind in TERM_ATOMS} <= parts


def test_the_length_of_a_settled_water(runs: Runs, tmp_path: Path) -> None:
    system = changed("peptide")
    write(system, tmp_path / "system.tsr")
    path = runs.run_file(tmp_path / "system.tsr", {"dynamics.steps": 2})
    runs.start(path)
    water = system.templates[1]
    assert water.settle is not None
    for change in ({"settle": (water.settle[0] + 1e-9, water.settle[1])}, {"rigid_water": False, "settle": None}):
        system.templates[1] = dataclasses.replace(water, **change)  # type: ignore[arg-type]
        write(system, tmp_path / "system.tsr")
        found = runs.start(path, "--restart", "--set", "dynamics.steps=4", status=2)
        assert "templates/settle" in found.process.stderr, found.process.stderr


def test_coordinates_blocks_and_the_source_do_not_count(runs: Runs, begun: tuple[Path, Path]) -> None:
    """A checkpoint has its own coordinates, and the other two change nothing."""
    path, file = begun
    system = full()
    system.source = "another way to the same system"
    system.fraction = system.fraction[:, [1, 2, 0]].copy()
    system.velocity = np.ones((system.n_atoms, 3))
    write(system, file)
    with edited(file) as opened:
        coordinates = opened["coordinates"]
        for name in ("id", "fraction", "velocity"):
            coordinates[name][...] = coordinates[name][()][::-1]
        del coordinates["block_offset"]
        coordinates["block_grid"][...] = 1
        coordinates["block_offset"] = np.array([0, system.n_atoms])
    runs.start(path, "--restart", "--set", "dynamics.steps=4")
