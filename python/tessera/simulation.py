"""Molecular dynamics in this process: the engine of `tessera run`, held by Python.

    sim = tessera.Simulation("dhfr.tsr", {"dynamics": {"timestep": 2.0, "seed": 7}})
    sim.step(40)
    sim.energies["potential"], sim.positions, sim.state_hash

Trajectories are the same bits as those of `tessera run` with the same settings, on any number of ranks and threads and
on any processor.
With a communicator of mpi4py, all members but `step_number`, `time`, `n_atoms`, `box` and `own_share` are collective:
all ranks use them, in the same order. Errors are raised by all ranks alike.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera import flavours, launch
from tessera.arguments import NO_NUMBERS, real_values
from tessera.errors import InputError, RunError
from tessera.printing import printable
from tessera.settings import Settings, input_of, sections_of, selections_of, toml_value, without_lines

if TYPE_CHECKING:
    import pandas

    from tessera.system import System

__all__ = ["Atoms", "Energies", "Minimization", "Share", "Simulation"]

FloatArray = NDArray[np.float64]


class Energies(Mapping[str, float]):
    """Energies by term, kcal/mol, as energy.csv names them, with `coulomb` (the sum of its parts), `potential`,
    `kinetic` and `total`, and `temperature` (K) and `pressure` (bar) beside them.

    `history` has those of earlier steps: at the start, at every output.energy_every steps, and wherever `step` ended.
    `virial`: xx, yy, zz, xy, xz, yz, kcal/mol.
    """

    def __init__(self, columns: list[str], values: list[float], history: FloatArray, virial: list[float]) -> None:
        self._values = dict(zip(columns, values))
        self.step_number = int(self._values.pop("step"))  # to which they belong
        self.time = self._values.pop("time")  # ps
        self._values["coulomb"] = sum(value for name, value in self._values.items() if name.startswith("coulomb_"))
        self.columns = columns  # names of columns of `history`
        self.history = history  # (rows, columns)
        self.virial = virial  # xx, yy, zz, xy, xz, yz, kcal/mol

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<energies of step {self.step_number}: {self._values}>"

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the history as a table, by step."""
        import pandas

        table = pandas.DataFrame(self.history, columns=self.columns)
        return table.astype({"step": int}).set_index("step")


class Share:
    """What this rank owns, in no particular order: `ids` (n,), and by atom `positions` Å, `velocities` Å/ps and
    `forces` kcal/mol/Å, (n, 3)."""

    def __init__(self, native: Any, quantity: Any) -> None:
        self.ids: NDArray[np.int64]  # (n,)
        self.ids, self.positions = native.own(quantity.position)
        self.velocities: FloatArray = native.own(quantity.velocity)[1]  # (n,3) Å/ps
        self.forces: FloatArray = native.own(quantity.force)[1]  # (n,3) kcal/mol/Å


class Atoms:
    """What an external force is told: `ids` (n,), `positions` (n, 3) Å, each in the box, which spans −½ to ½ of its
    vectors, `box` (3, 3) Å, and the `step_number` of these positions. A vacuum has a box of zeros, and its positions
    are anywhere."""

    def __init__(self, ids: NDArray[np.int64], positions: FloatArray, box: FloatArray, step_number: int) -> None:
        self.ids = ids  # (n,)
        self.positions = positions  # (n,3) Å
        self.box = box  # (3,3) Å, rows are vectors
        self.step_number = step_number  # of these positions

    def nearest_image(self, vectors: ArrayLike) -> FloatArray:
        """Returns the vectors (…, 3) Å less whole box vectors, so that each is the shortest along every edge of the
        box."""
        given = np.asarray(vectors, np.float64)
        if not self.box.any():
            return given
        return np.asarray(given - np.rint(given @ np.linalg.inv(self.box)) @ self.box)


@dataclass(frozen=True)
class Minimization:
    """How a minimisation ended. `max_force` is the greatest force on an atom, without its part along constraints."""

    energy: float  # kcal/mol, potential
    max_force: float  # kcal/mol/Å
    steps: int  # that were taken
    converged: bool  # whether `max_force` is as small as was asked for
    ending: str  # "converged", "out of steps" or "no lower energy found"


class Simulation:
    """A system under way.

    `system`: the path of a system file, or a `tessera.system.System`. `settings`: sections of a run file, as in
    `{"dynamics": {"timestep": 2.0}}`, with its keys, units and defaults; a section that may stand several times is a
    list, as in `{"restraint": [{"kind": "position", "select": "protein", "k": 1.0}]}`, also inside another, as
    `selection` in `output`. Paths are relative to the working directory. Or the path of a run file, whose paths are
    relative to it and whose system is left out. `comm`: an mpi4py communicator; None: this process alone. `threads` of
    each rank work on it. `start`: a run's folder or a checkpoint, from whose end it starts with these settings, as
    input.start of a run file; None: from the coordinates of the system. Raises `InputError`.
    """

    def __init__(
        self, system: str | os.PathLike[str] | System, settings: Settings | str | os.PathLike[str] | None = None,
        comm: Any = None, threads: int = 1, start: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        if comm is not None and not flavours.is_communicator(comm):
            raise InputError(f"comm is {comm!r}; expected an mpi4py communicator of one group, or None")
        module = flavours.module_of("md", comm)
        problem, text, image, selections = "", "", b"", ""
        sections: Settings = {}
        try:
            sections = sections_of(settings)
            text, image = input_of(system, sections, start)
            selections = selections_of(system, module.list_selections(text))
            if not isinstance(threads, int | np.integer) or not 1 <= threads <= 4096:
                raise InputError(f"threads is {threads!r}, expected a whole number from 1 to 4096")
        except InputError as error:
            problem = str(error)
        if comm is not None:
            problem = next((other for other in comm.allgather(problem) if other), "")
        if problem:
            raise InputError(problem)
        self._module = module
        output = sections.get("output")
        self._writes = isinstance(output, Mapping) and "folder" in output
        with without_lines():
            self._native = module.Simulation(
                settings=text,
                image=np.frombuffer(image, np.uint8),
                selections=selections,
                fortran_handle=flavours.handle_of(module, comm),
                threads=int(threads),
                kernels=str(launch.kernel_folder()),
            )
        for note in self._native.notes():
            warnings.warn(printable(note), stacklevel=2)
        self._hooks: list[Callable[[Simulation], object]] = []
        self._forces: dict[int, Callable[[Atoms], Any]] = {}  # by a number of its own, as the engine orders them
        self._one_at_a_time = threading.RLock()
        self._is_stepping = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Leaves to a derived class what it sets in its `__init__`, or names in its body. Raises `TypeError` where that
        hides what can be set here."""
        super().__init_subclass__(**arguments)
        for name, value in vars(cls).items():
            if _can_be_set(Simulation, name) and not hasattr(value, "__set__"):
                raise TypeError(f"{cls.__name__}.{name} hides that of Simulation: set it in __init__, or rename it")
        its_init = cls.__init__

        @functools.wraps(its_init)
        def init(self: Simulation, *arguments: Any, **named: Any) -> None:
            vars(self)["_inits"] = vars(self).get("_inits", 0) + 1
            try:
                its_init(self, *arguments, **named)
            finally:
                vars(self)["_inits"] -= 1

        cls.__init__ = init  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name.startswith("_") or _can_be_set(type(self), name)
        if not is_own and not hasattr(Simulation, name):
            derived = [one for one in type(self).__mro__ if one not in (Simulation, object)]
            is_own = any(name in (*vars(one), *vars(one).get("__annotations__", {})) for one in derived)
            may_be_new = vars(self).get("_inits", 0) > 0 or name in vars(self)
            is_own = is_own or (may_be_new and name not in _run_file_keys(vars(self).get("_module")))
        if not is_own:
            raise AttributeError(
                f"a {type(self).__name__} has no {name} to set; positions, velocities, box, temperature and pressure "
                'can be set, all else follows from its settings, such as {"dynamics": {"timestep": 2.0}}: make another '
                "one, with start= (a derived class names what is its own in its body)"
            )
        super().__setattr__(name, value)

    def step(self, n: int = 1) -> None:
        """Advances n steps. Raises `RunError` where the system blows up, and what a hook raises."""
        n = _whole(n, 0, "steps")
        with self._alone("step"):
            self._advance(self._native.step, n)

    def run(self) -> None:
        """Advances to dynamics.steps. Where the settings name output.folder, it gets all that `tessera run` writes;
        after `restore` from that folder, its files go on. Ctrl-C, and what a hook raises, end it with a checkpoint
        there."""
        with self._alone("run"):
            self._advance(self._native.run, self._writes)

    def minimize(self, max_force: float = 10.0, max_steps: int = 5000) -> Minimization:
        """Moves the atoms to a lower potential energy, until the force on every atom is below `max_force` (kcal/mol/Å),
        in at most so many steps. Constraints are kept, velocities lose what is along them, and neither step number nor
        time changes. Raises `InputError`."""
        with self._alone("minimize"):
            problem, asked = "", max_force
            try:
                max_force = float(max_force)
            except NO_NUMBERS:
                max_force = math.nan
            if not (max_force > 0 and math.isfinite(max_force)):
                problem = f"max_force is {asked!r}, expected a positive number of kcal/mol/Å"
            try:
                max_steps = _whole(max_steps, 0, "steps")
            except InputError as error:
                problem = problem or str(error)
            self._native.agree(problem)
            result: list[Any] = []
            self._advance(lambda: result.extend(self._native.minimize(max_force, max_steps)))
            energy, force, steps, ending = result
        return Minimization(energy, force, steps, ending == "converged", ending)

    def add_hook(
        self, function: Callable[[Simulation], object], every: int = 1, energies: bool = False
    ) -> None:  # fmt: skip
        """Calls `function(simulation)` after every so many steps. It may read the state, not change it; with `energies`
        it may read those of its step too, which take time to compute. What it raises ends the step: there, and as
        `RunError` on the other ranks."""
        every = _whole(every, 1, "steps between calls of a hook")
        if not callable(function):
            raise InputError(f"the hook is {function!r}, expected a function")
        with self._alone("add_hook"):
            index, this = len(self._hooks), weakref.ref(self)  # the engine may not keep alive what holds it
            self._hooks.append(function)

            def call() -> None:
                if (simulation := this()) is not None:
                    simulation._hooks[index](simulation)

            self._native.add_hook(every, energies, call)

    def add_force(self, function: Callable[[Atoms], Any], atoms: ArrayLike | None = None) -> None:
        """Adds a force that `function(atoms)` computes in every step, from now on.

        It is told of the atoms whose ids are listed in `atoms`, in that order, on every rank; without a list, on each
        rank of those that the rank owns. It returns the forces on them, (n, 3) kcal/mol/Å, or a tuple of these, the
        energy (kcal/mol) and the virial Σ r⊗F (xx, yy, zz, xy, xz, yz, kcal/mol), which count as 0 where they are left
        out. Energy and virial may be one for each atom, (n,) and (n, 6): these are summed so that the sum is the same
        bits on any number of ranks. Of a function with listed atoms, the energy and virial that rank 0
        returns are taken.

        The energy is the term `external` of `energies`. Checkpoints hold no function: a `restore` keeps the functions
        that the simulation has. What the function raises ends the step half way: there, and as `RunError` on the other
        ranks; `restore`, or setting positions and velocities, makes the simulation whole again. Raises `InputError`.
        """
        with self._alone("add_force"):
            problem, ids = "", None
            try:
                if not callable(function):
                    raise InputError(f"the force is {function!r}, expected a function")
                ids = None if atoms is None else self._ids(atoms)
            except InputError as error:
                problem = str(error)
            self._native.agree(problem)
            number = 1 + max(self._forces, default=0)
            this = weakref.ref(self)  # the engine may not keep alive what holds it

            def call(*told: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
                simulation = this()
                assert simulation is not None
                return _checked_force(simulation._forces[number], Atoms(*told))

            self._forces[number] = function
            try:
                self._advance(self._native.add_force, call, ids)
            except BaseException:
                del self._forces[number]
                raise

    def remove_force(self, function: Callable[[Atoms], Any]) -> None:
        """Takes a force away that `add_force` has added. Raises `InputError` where it was not added."""
        with self._alone("remove_force"):
            functions = list(self._forces.values())
            problem = "" if function in functions else f"{_name(function)} is no force of this simulation"
            self._native.agree(problem)
            index = functions.index(function)
            self._advance(self._native.remove_force, index)
            del self._forces[list(self._forces)[index]]

    @property
    def energies(self) -> Energies:
        """Of the last step of `step` or `run`, or, in a hook with energies, of its step. Raises `RunError` where those
        of the step were not computed."""
        with self._one_at_a_time:
            native = self._native
            if native.energies_step != native.current_step:
                raise RunError(
                    f"the energies of step {native.current_step} were not computed: add the hook with energies=True"
                )
            return Energies(native.columns(), native.energies(), native.history(), native.virial)

    @property
    def positions(self) -> FloatArray:
        """(n_atoms, 3) Å by atom id on every rank, each atom in the box, which spans −½ to ½ of its vectors, or in a
        vacuum wherever it is.

        Set: atoms stand there, and constrained distances are put right.
        """
        return self._all("position")

    @positions.setter
    def positions(self, values: ArrayLike) -> None:
        self._place(positions=values)

    @property
    def velocities(self) -> FloatArray:
        """(n_atoms, 3) Å/ps by atom id on every rank; with leapfrog those half a step before the positions. Set:
        velocities along constraints are taken away."""
        return self._all("velocity")

    @velocities.setter
    def velocities(self, values: ArrayLike) -> None:
        self._place(velocities=values)

    @property
    def forces(self) -> FloatArray:
        """(n_atoms, 3) kcal/mol/Å by atom id on every rank, without those of constraints."""
        return self._all("force")

    def forces_of(self, source: str) -> FloatArray:
        """Returns the forces of "bonded" terms, of the "direct" sum or of the "mesh" alone, (n_atoms, 3) kcal/mol/Å by
        atom id on every rank. They are known where `dynamics.direct_every` and `mesh_every` let them act at different
        times; sources that act together give the sum of theirs. Raises `InputError`."""
        sources = ("bonded", "direct", "mesh")
        if source not in sources:
            raise InputError(f"there are no forces of {source!r}, expected one of {', '.join(sources)}")
        return self._all(f"{source}_force")

    def own_share(self) -> Share:
        """Returns what this rank owns; no other is asked."""
        with self._one_at_a_time:
            return Share(self._native, self._module.Quantity)

    @property
    def box(self) -> FloatArray:
        """(3, 3) Å, rows are the box vectors; in a vacuum the edges of its frame, which double as atoms spread.

        Set: atoms keep their places relative to the box, groups of atoms with constrained distances as a whole.
        """
        return np.asarray(self._native.box())

    @box.setter
    def box(self, values: ArrayLike) -> None:
        from tessera.system.box import LONGEST

        with self._alone("a change of the box"):
            rows, problem = _rows(values, 3, "the box has")
            if not problem and (np.triu(rows, 1).any() or not (np.diag(rows) > 0).all()):
                problem = "the box is not lower triangular with a positive diagonal (a along x, b in the xy plane)"
            if not problem and (longest := float(np.linalg.norm(rows, axis=1).max())) > LONGEST:
                problem = f"box vectors must be at most {LONGEST:,.0f} Å long, found one of {longest:.6g} Å"
            self._native.agree(problem)
            self._native.set_box(rows)

    @property
    def temperature(self) -> float:
        """Of the heat bath now, K; that of the atoms is `energies["temperature"]`.

        Set: a number, or points in time as `dynamics.temperature` takes them, from the next step on; of all heat baths,
        if they have the same. Checkpoints hold it as a setting. Raises `InputError` where there is no bath.
        """
        with self._one_at_a_time:
            return float(self._native.bath("temperature"))

    @temperature.setter
    def temperature(self, value: float | Sequence[Sequence[float]]) -> None:
        self._set_bath("temperature", value)

    @property
    def pressure(self) -> float:
        """Of the pressure bath now, bar; that of the atoms is `energies["pressure"]`. Set: as `temperature`."""
        with self._one_at_a_time:
            return float(self._native.bath("pressure"))

    @pressure.setter
    def pressure(self, value: float | Sequence[Sequence[float]]) -> None:
        self._set_bath("pressure", value)

    @property
    def n_atoms(self) -> int:
        """The number of atoms of the system, on all ranks together."""
        return int(self._native.n_atoms)

    @property
    def step_number(self) -> int:
        """How many steps the state is from the start."""
        return int(self._native.current_step)

    @property
    def time(self) -> float:
        """ps."""
        return float(self._native.time)

    @property
    def state_hash(self) -> str:
        """SHA-256 of positions and velocities, as in report.json: the same bits, the same hash."""
        with self._one_at_a_time:
            return str(self._native.state_hash())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes a checkpoint into a folder that is there, as `tessera run` does; the one before stays beside it."""
        with self._one_at_a_time:
            path, problem = _path(folder)
            if not problem and not Path(path).is_dir():
                problem = f"{path}: there is no such folder; make it first"
            self._native.agree(problem)
            self._native.save(path)

    def restore(self, folder: str | os.PathLike[str]) -> None:
        """Continues from the newest good checkpoint of a folder, bit for bit. Raises `InputError` where it is of
        another system or of other settings."""
        with self._alone("restore"):
            path, problem = _path(folder)
            self._native.agree(problem)
            if note := self._native.restore(path):
                warnings.warn(printable(note), stacklevel=2)

    def _all(self, quantity: str) -> FloatArray:
        with self._one_at_a_time:
            return np.asarray(self._native.all(getattr(self._module.Quantity, quantity)))

    def _place(self, **arrays: ArrayLike) -> None:
        with self._alone("a change of positions or velocities"):
            problem, checked = "", {}
            for name, values in arrays.items():
                checked[name], found = _rows(values, self.n_atoms, f"{name} have")
                problem = problem or found
            self._native.agree(problem)
            self._native.place(positions=checked.get("positions"), velocities=checked.get("velocities"))

    def _set_bath(self, name: str, value: Any) -> None:
        with self._alone(f"a change of the {name}"):
            text, problem = "", ""
            try:
                text = toml_value(name, value)
            except InputError as error:
                problem = str(error)
            self._native.agree(problem)
            with without_lines():
                self._native.set_bath(name, text)

    def _ids(self, atoms: ArrayLike) -> list[int]:
        try:
            ids = np.asarray(atoms)
        except NO_NUMBERS as error:
            raise InputError(f"atoms is no list of atom ids: {error}") from None
        if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
            raise InputError(f"atoms is {atoms!r}, expected a list of atom ids")
        if len(ids) and not 0 <= ids.min() <= ids.max() < self.n_atoms:
            raise InputError(f"atoms lists {ids.min()} to {ids.max()}, expected ids from 0 to {self.n_atoms - 1}")
        if len(np.unique(ids)) < len(ids):
            raise InputError("atoms lists an atom twice")
        return [int(i) for i in ids]

    def _alone(self, what: str) -> threading.RLock:
        """Returns the lock; a hook has it already, and may not change what is under way."""
        with self._one_at_a_time:
            if self._is_stepping:
                raise RunError(f"{what} in a hook: a hook may read the state, not change it")
        return self._one_at_a_time

    def _advance(self, function: Callable[..., None], *arguments: Any) -> None:
        self._is_stepping = True
        try:
            function(*arguments)
        finally:
            self._is_stepping = False

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a Simulation can't be copied or pickled: `save` its state, and `restore` it in another one")

    def __repr__(self) -> str:
        return f"<tessera.Simulation: {self.n_atoms} atoms at step {self.step_number}>"


def _whole(value: Any, least: int, what: str) -> int:
    """Returns the value, if it is a whole number, not less than this. Raises `InputError`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{value!r} {what}, expected a whole number") from None
    if number < least:
        raise InputError(f"{number} {what}, expected {least} or more")
    if number >= 2**63:
        raise InputError(f"more {what} than 64 bits hold, expected at most {2**63 - 1:,}")
    return number


def _path(folder: Any) -> tuple[str, str]:
    """Returns the path as text, and what is wrong with it."""
    try:
        text = os.fsdecode(folder)
        text.encode()
    except TypeError:
        return "", f"the folder is {folder!r}, expected a path"
    except UnicodeEncodeError:
        return "", f"the folder is {folder!r}, expected a name in UTF-8"
    return text, "the name of the folder holds a zero byte" if "\0" in text else ""


def _can_be_set(owner: type, name: str) -> bool:
    """Tells whether a property, or what else takes values, stands for the name."""
    found = getattr(owner, name, None)
    return hasattr(found, "__set__") and getattr(found, "fset", found) is not None


@functools.cache
def _run_file_keys(module: Any) -> frozenset[str]:
    return frozenset((module or flavours.load("md", "serial")).run_file_keys())


def _rows(values: ArrayLike, n: int, subject: str) -> tuple[FloatArray, str]:
    """Returns the values as (n, 3), and what is wrong with them, as a sentence that begins with the subject and its
    verb."""
    try:
        rows = real_values(values)
    except NO_NUMBERS as error:
        return np.zeros((n, 3)), f"{subject} no numbers that can be read: {error}"
    if rows.shape != (n, 3):
        return rows, f"{subject} the shape {rows.shape}, expected {(n, 3)}"
    return rows, "" if np.isfinite(rows).all() else f"{subject} numbers that are not finite"


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _checked_force(function: Callable[[Atoms], Any], atoms: Atoms) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns forces (n, 3), parts of the energy (k,) and of the virial (m, 6). Raises `InputError` where it is not
    these."""
    returned = function(atoms)
    parts = returned if isinstance(returned, tuple) else (returned,)
    if not 1 <= len(parts) <= 3:
        raise InputError(f"{_name(function)} returns {len(parts)} values, expected forces, energy and virial")
    forces, problem = _rows(parts[0], len(atoms.ids), f"the forces that {_name(function)} returns have")
    if problem:
        raise InputError(problem)
    n = len(atoms.ids)
    try:
        energy = real_values(parts[1] if len(parts) > 1 else 0.0)
        virial = real_values(parts[2] if len(parts) > 2 else np.zeros(6))
    except NO_NUMBERS as error:
        raise InputError(f"the energy or virial that {_name(function)} returns can't be read: {error}") from None
    if energy.shape not in ((), (1,), (n,)):
        raise InputError(
            f"the energy that {_name(function)} returns has the shape {energy.shape}, expected one number, or "
            f"{n:,}, one for each atom"
        )
    if virial.shape not in ((6,), (1, 6), (n, 6)):
        raise InputError(
            f"the virial that {_name(function)} returns has the shape {virial.shape}, expected (6,), or "
            f"({n}, 6), a row for each atom"
        )
    energy, virial = energy.reshape(-1), virial.reshape(-1, 6)
    if not (np.isfinite(energy).all() and np.isfinite(virial).all()):
        raise InputError(f"the energy or virial that {_name(function)} returns is not finite")
    return forces, energy, virial
