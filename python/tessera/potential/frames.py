"""The frames whose potential is averaged, and their charges."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from tessera.arguments import Slices
from tessera.constants import KCAL
from tessera.errors import InputError
from tessera.files import check_free
from tessera.potential.mesh import FINEST, MeanPotential
from tessera.ranks import ALONE, Ranks
from tessera.system import System, read
from tessera.system.model import FloatArray

ALPHA = 0.25  # Å⁻¹, as Aksimentiev and Schulten (2005) have it
_BOLTZMANN = 0.831446262 / KCAL  # kcal/mol/K
_MILLIVOLTS = 43.3641153  # of a kcal/mol/e


@dataclass(frozen=True)
class Request:
    """Which frames are averaged (the first, the last and the stride; None: to either end), of which atoms, and the
    system file in place of that of the run."""

    frames: tuple[int | None, int | None, int] = (None, None, 1)  # first, last, stride
    select: str | None = None  # a selection of MDAnalysis; None: all atoms
    system: Path | None = None  # in place of that of the run


@dataclass
class Frames:
    """Positions (n,3) Å and boxes (3,3) Å of frames, and the charges (n,) e that are in all of them."""

    each: Callable[[], Iterator[tuple[NDArray[Any], FloatArray]]]  # positions (n,3), boxes (3,3), Å, from the first on
    count: int  # frames
    charges: FloatArray  # (n,) e
    coulomb: float  # kcal Å mol⁻¹ e⁻²
    notes: list[str]  # for the user

    def __len__(self) -> int:
        return self.count

    @property
    def n_charges(self) -> int:
        """The number of atoms with a charge."""
        return int(np.count_nonzero(self.charges))

    @property
    def net_charge(self) -> float:
        """The sum of charges, e."""
        return float(np.round(self.charges.sum(), 6))


@dataclass(frozen=True)
class Mean:
    """The mean potential in kcal/mol/e at this rank's points, `slices` of all, and the mean box (3,3) Å."""

    values: FloatArray  # (nx,ny,nz) kcal/mol/e, of this rank's points
    slices: Slices  # this rank's points, along each edge
    shape: tuple[int, int, int]  # points of the mesh along each edge
    box: FloatArray  # (3,3) Å, the mean
    alpha: float  # Å⁻¹
    frames: int  # that were averaged

    @property
    def spacing(self) -> float:
        """The largest distance of neighbouring points, Å."""
        return max(_spacings(self.box, self.shape))

    def scale(self, unit: str, temperature: float) -> float:
        """Returns how many of this unit a kcal/mol/e is. `temperature`: K."""
        return {"kcal/mol/e": 1.0, "kT/e": 1 / (_BOLTZMANN * temperature), "mV": _MILLIVOLTS}[unit]

    def range(self, ranks: Ranks = ALONE) -> tuple[float, float]:
        """Returns the lowest and the highest value of all ranks. Collective."""
        own = (self.values.min(), self.values.max()) if self.values.size else (np.inf, -np.inf)
        lowest, highest = zip(*ranks.all((float(own[0]), float(own[1]))))
        return min(lowest), max(highest)


def check_output(path: Path, force: bool) -> None:
    """Raises `InputError` where the file can't be written, and where something is there already."""
    if path.suffix.lower() != ".dx":
        raise InputError(f"{path}: the ending says no format; expected .dx")
    check_free(path, force)


def frames_of(source: Path, request: Request) -> Frames:
    """Opens the trajectory of a run, or a system file. Raises `InputError`."""
    if source.is_dir():
        return _of_run(source, request)
    if request.frames != (None, None, 1) or request.system is not None:
        raise InputError(
            f"--first, --last, --stride and --system need the output folder of a run, found the file {source}"
        )
    if not source.exists():
        raise InputError(f"{source} is not there: expected a system file, or the output folder of a run")
    system = read(source)
    _check_box(source, system.periodic)
    charges = np.array(system.atom_field("charge"), np.float64)
    if request.select is not None:
        charges = _of_selection(system, request.select, charges)
    return Frames(lambda: iter([(system.positions(), system.box)]), 1, charges, system.coulomb_constant, [])


def _of_run(source: Path, request: Request) -> Frames:
    from tessera.traj.convert import chosen, rows_of, structure_for, system_of
    from tessera.traj.trajectory import Trajectory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told of as a note
        whole = Trajectory([source])
    trajectory = chosen(whole, *request.frames)
    _check_box(source, whole.periodic)
    system = system_of(whole, request.system)
    charges = np.array(system.atom_field("charge"), np.float64)[whole.ids]
    notes = [whole.damage()] if whole.damaged else []
    if request.select is not None:
        rows = rows_of(whole, structure_for(system, source.name), system, request.select)
        chosen_charges = np.zeros_like(charges)
        chosen_charges[rows] = charges[rows]
        charges = chosen_charges
    elif whole.n_atoms < whole.system_atoms:
        notes.append(
            f"frames hold {whole.n_atoms:,} of {whole.system_atoms:,} atoms, and the potential is that of their charges"
        )

    def each() -> Iterator[tuple[NDArray[Any], FloatArray]]:
        for frame in trajectory:
            if frame.box is None:
                raise InputError(f"{source}: the frame of step {frame.step:,} has no box")
            yield frame.positions, frame.box

    return Frames(each, len(trajectory), charges, system.coulomb_constant, notes)


def _of_selection(system: System, text: str, charges: FloatArray) -> FloatArray:
    from tessera.select.universe import selected
    from tessera.traj.convert import structure_for

    structure = structure_for(system, "potential")
    found = np.zeros_like(charges)
    ids = structure.ids[selected(structure, text, system)]
    found[ids] = charges[ids]
    return found


def _check_box(source: Path, periodic: bool) -> None:
    if not periodic:
        raise InputError(f"{source}: the system has no periodic box, which the mesh needs")


def mean_of(
    frames: Frames, spacing: float, alpha: float | None, ranks: Ranks, progress: Callable[[int], None] = lambda _: None
) -> Mean:
    """Returns the mean potential of all frames on a mesh whose points are at most `spacing` Å apart in the first one.
    Collective. Raises `InputError`."""
    mean: MeanPotential | None = None
    boxes = np.zeros((3, 3))
    for positions, box in frames.each():
        if mean is None:
            shape = _shape_of(box, spacing)
            alpha = _alpha_of(alpha, max(_spacings(box, shape)))
            mean = MeanPotential(shape, alpha, frames.coulomb, ranks)
        mean.add(positions, frames.charges, box)
        boxes += box
        progress(1)
    assert mean is not None and alpha is not None
    return Mean(mean.mean(), mean.slices, mean.shape, boxes / mean.frames, alpha, mean.frames)


def _spacings(box: FloatArray, shape: tuple[int, int, int]) -> list[float]:
    return [float(np.linalg.norm(vector)) / n for vector, n in zip(box, shape)]


def _shape_of(box: FloatArray, spacing: float) -> tuple[int, int, int]:
    """Returns numbers of points along the vectors that are quick to transform."""
    lengths = np.linalg.norm(box, axis=1)
    if lengths.max() / spacing > 2**20:
        raise InputError(f"--spacing {spacing:g}: a box of {lengths.max():,.0f} Å would have too many points")
    x, y, z = (next_fast_len(max(8, int(np.ceil(length / spacing))), real=True) for length in lengths)
    return x, y, z


def _alpha_of(alpha: float | None, spacing: float) -> float:
    if alpha is None:
        return min(ALPHA, FINEST / spacing)
    if alpha * spacing > FINEST:
        raise InputError(
            f"--alpha {alpha:g}: Gaussians are too narrow for points {spacing:.3g} Å apart: expected at most "
            f"{FINEST / spacing:.3g}, or --spacing of at most {FINEST / alpha:.3g}"
        )
    return alpha
