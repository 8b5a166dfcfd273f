"""What Python gives to simulations, grids and transforms and can't be used is named, as what Tessera raises; nothing of
it is dropped, and what is made does not change behind its owner's back."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tests.support.samples import sample

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)


@pytest.fixture(scope="module")
def sim() -> Iterator[tessera.Simulation]:
    yield tessera.Simulation(sample("tripeptide"), {"interactions": {"electrostatics": "cut"}})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None,), "system is None"),
        ((5,), "system is 5"),
        ((b"a.tsr",), "system is b'a.tsr'"),
        (("a\udcff.tsr",), "expected a text in UTF-8"),
        (("a.tsr", {"output": 5}), "output"),
        (("a.tsr", {"output": "folder"}), "output"),
        (("a.tsr", {"dynamics": {"steps": 10**400}}), "more than 64 bits"),
        (("a.tsr", {"dynamics": {"steps": 2**64}}), "more than 64 bits"),
        (("a.tsr", {"dynamics": {"fixed": "\ud800"}}), "expected a text in UTF-8"),
        (("a.tsr", {"dynamics": {"\ud800": 1}}), "expected a text in UTF-8"),
        (("a.tsr", {"pme": {"grid": RECURSIVE}}), "too deep"),
        (("a.tsr", {"dynamics": {"timestep": 1j}}), "dynamics.timestep is 1j"),
        (("a.tsr", None, None, 2.5), "threads is 2.5"),
        (("a.tsr", None, None, "2"), "threads is '2'"),
        (("a.tsr", None, None, None), "threads is None"),
        (("a.tsr", None, None, float("nan")), "threads is nan"),
        (("a.tsr", None, None, 10**20), "threads is 1"),
        (("a.tsr", None, None, 1, 5), "input.start = 5"),
    ],
)
def test_simulations_are_made_of_what_can_be_used(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(tessera.InputError) as found:
        tessera.Simulation(*arguments)
    assert words in str(found.value)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda sim, at: sim.step(10**20), "64 bits"),
        (lambda sim, at: sim.add_hook(print, every=2**64), "64 bits"),
        (lambda sim, at: sim.minimize(max_force="much"), "max_force is 'much'"),
        (lambda sim, at: sim.minimize(max_force=None), "max_force is None"),
        (lambda sim, at: sim.minimize(max_force=1j), "max_force is 1j"),
        (lambda sim, at: sim.minimize(max_force=[1, 2]), "max_force is"),
        (lambda sim, at: sim.add_force(None), "the force is None, expected a function"),
        (lambda sim, at: sim.add_force(print, atoms=[[0], [1, 2]]), "atoms"),
        (lambda sim, at: sim.add_force(print, atoms=10**30), "atoms"),
        (lambda sim, at: sim.save(None), "the folder is None"),
        (lambda sim, at: sim.save("a\0b"), "zero byte"),
        (lambda sim, at: sim.restore(5), "the folder is 5"),
        (lambda sim, at: sim.restore("a\udcff"), "UTF-8"),
        (lambda sim, at: sim.restore(at), "holds no checkpoint to go on from"),
        (lambda sim, at: sim.restore(at / "none"), "holds no checkpoint to go on from"),
    ],
)
def test_members_are_told_what_is_wrong(
    sim: tessera.Simulation, tmp_path: Path, use: Callable[[tessera.Simulation, Path], object], words: str
) -> None:
    with pytest.raises(tessera.InputError) as found:
        use(sim, tmp_path)
    assert words in str(found.value)
    assert "--" not in str(found.value)  # words of the command line are of no use here
    sim.step(0)


def test_a_simulation_is_one(sim: tessera.Simulation) -> None:
    for use in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="can't be copied or pickled: `save`"):
            use(sim)


@pytest.mark.parametrize(
    "arguments",
    [
        {"periodic": 5},
        {"periodic": None},
        {"cell": np.array([1, 1, 1j])},
        {"cell": [10**400, 1, 1]},
        {"cell": "abc"},
        {"shape": [1, 2, float("nan")]},
        {"shape": 10**400},
        {"threads": 1.5},
        {"machine": 5},
    ],
)
def test_grids_are_made_of_what_can_be_used(arguments: dict[str, Any]) -> None:
    from tessera.grid import Grid, GridError

    with pytest.raises(GridError, match=next(iter(arguments))):
        Grid(**{"shape": (8, 8, 8), **arguments})


def test_what_operators_are_given() -> None:
    from tessera.grid import Grid, GridError, Stencil

    grid = Grid((8, 8, 8))
    for phases in (5, (1, 1), (10**400, 1, 1), (float("nan"), 1, 1)):
        with pytest.raises(GridError, match="phases"):
            grid.operator(grid.laplacian(), dtype=complex, phases=phases)  # type: ignore[arg-type]
    for tolerance in (10**400, None, "x", float("nan")):
        with pytest.raises(GridError, match="tolerance"):
            grid.poisson(tolerance=tolerance)  # type: ignore[arg-type]
    for offsets, coefficients in (
        ([[0, 0, 0]], np.array([1j])),
        ([[0, 0, 0]], [10**400]),
        (np.array([[2**63, 0, 0]], np.uint64), [1.0]),
        ([[0, 0, 10**30]], [1.0]),
    ):
        with pytest.raises(tessera.InputError):
            Stencil(offsets, coefficients)


def test_attributes_follow_from_what_things_were_made_with() -> None:
    from tessera.fft import Transform
    from tessera.grid import Grid

    grid = Grid((8, 8, 8))
    transform = Transform((8, 8, 8), batch=2)
    operator, solver = grid.operator(grid.laplacian()), grid.poisson()
    transfer = grid.restriction(grid.coarser())
    for one, names in (
        (grid, ("shape", "local_shape", "slices", "threads", "comm", "steps")),
        (transform, ("batch", "shape", "kind", "input_slices", "complex_dtype", "scheme")),
        (operator, ("dtype", "is_complex", "grid", "batch", "approach", "slope")),
        (transfer, ("dtype", "source", "target")),
        (solver, ("tolerance", "order", "iterations", "residual", "method")),
    ):
        for name in (*names, "nonsense"):
            before = getattr(one, name, None)
            with pytest.raises(AttributeError):
                setattr(one, name, 3)
            assert getattr(one, name, None) is before or getattr(one, name) == before
        with pytest.raises(AttributeError):
            delattr(one, names[0])
    assert solver(np.zeros((8, 8, 8))).shape == (8, 8, 8)
    assert solver.iterations == 0 or solver.residual >= 0

    class Own(Grid):
        def __init__(self) -> None:
            super().__init__((4, 4, 4))
            self.label = "mine"

    own = Own()
    own.note = "and more"  # type: ignore[attr-defined]
    assert (own.label, own.shape) == ("mine", (4, 4, 4))
    with pytest.raises(AttributeError):
        own.shape = (5, 5, 5)


def test_dir_has_what_users_need() -> None:
    assert {"Simulation", "InputError", "RunError", "__version__", "prepare_openmm"} <= set(dir(tessera))
    assert not {"Any", "TYPE_CHECKING", "annotations"} & set(dir(tessera))
