"""Files whose frames all have one size: DCD and H5MD.

A library of each format makes the file with all that stands beside the frames. What each frame adds are plain numbers,
which any number of threads make, and one appends: the system lets one thread at a time write to a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.constants import KJ_PER_KCAL
from tessera.traj.trajectory import FloatArray, Frame, Trajectory

_MOST_BYTES = 2**31 - 1  # of a record of DCD, whose sizes have 4 bytes
_KJ_PER_KCAL = np.float32(KJ_PER_KCAL)


@dataclass
class Layout:
    """Where the numbers of frames go in a file that has room for them, or ends before them."""

    #: bytes at which the arrays of the first frame begin; those of the next ones follow them
    begins: list[int]
    #: makes the arrays of a frame, on any thread
    encode: Callable[[Frame], list[NDArray[Any]]]

    def write(self, descriptor: int, number: int, arrays: list[NDArray[Any]]) -> None:
        """Writes what `encode` has made of the frame of this number. Raises `OSError`."""
        for begin, values in zip(self.begins, arrays, strict=True):
            rest, at = values.reshape(-1).view(np.uint8).data, begin + number * values.nbytes
            while len(rest):
                done = os.pwrite(descriptor, rest, at)
                rest, at = rest[done:], at + done


def dcd(path: Path, trajectory: Trajectory, n_atoms: int, every: int) -> Layout:
    """Makes a DCD of frames that are `every` steps apart. Raises `ValueError` for more atoms than it can hold, and
    `OSError`."""
    from MDAnalysis.coordinates.DCD import DCDWriter

    if 4 * n_atoms > _MOST_BYTES:
        raise ValueError(f"{4 * n_atoms:,} bytes of a frame together, of {_MOST_BYTES:,} at most")
    interval = trajectory.interval
    first = round(float(trajectory.times[0]) / interval) * every if interval > 0 else 0
    DCDWriter(str(path), n_atoms, dt=interval, nsavc=every, istart=first, remarks="tessera traj").close()
    _set(path, 8, np.array(len(trajectory), "<i4"))
    values: dict[str, Any] = {"cell": ("<f8", 6), **dict.fromkeys("xyz", ("<f4", n_atoms))}
    record = np.dtype(
        [  # Fortran's records: the number of bytes stands before and after each.
            field
            for name, kind in values.items()
            for field in ((f"{name}_", "<i4"), (name, *kind), (f"_{name}", "<i4"))
        ]
    )

    def encode(frame: Frame) -> list[NDArray[Any]]:
        data = np.empty((), record)
        for name in values:
            data[f"{name}_"] = data[f"_{name}"] = record[name].itemsize
        a, b, c, alpha, beta, gamma = _dimensions(frame.box)
        cosines = np.sin(np.deg2rad(90 - np.array([gamma, beta, alpha])))
        data["cell"] = a, cosines[0], b, cosines[1], cosines[2], c
        for column, axis in enumerate("xyz"):
            data[axis] = frame.positions[:, column]
        return [data]

    return Layout([path.stat().st_size], encode)


def h5md(path: Path, trajectory: Trajectory, n_atoms: int, quantities: list[str]) -> Layout:
    """Makes an H5MD file. Raises `ValueError` where steps fall or only some frames have a box, and `OSError`."""
    from MDAnalysis.lib.mdamath import triclinic_vectors

    from tessera.system.hdf5 import reserve, written
    from tessera.version import __version__

    if (np.diff(trajectory.steps) < 0).any():
        raise ValueError("steps begin anew, and those of H5MD rise")
    boxes = [trajectory.box(index) for index in range(len(trajectory))]
    edges = [triclinic_vectors(_dimensions(box)) for box in boxes if box is not None]
    if len(edges) not in (0, len(boxes)):
        raise ValueError("only some frames have a box")
    members = {"positions": "position", "velocities": "velocity", "forces": "force"}
    units = {"positions": "Angstrom", "velocities": "Angstrom ps-1", "forces": "kJ mol-1 Angstrom-1"}
    with written(path, libver="earliest") as file:
        about = file.create_group("h5md")
        about.attrs["version"] = np.array([1, 1])
        about.create_group("author").attrs["name"] = "tessera traj"
        about.create_group("creator").attrs.update({"name": "tessera", "version": __version__})
        group = file.create_group("particles").create_group("trajectory")
        box = group.create_group("box")
        box.attrs["dimension"], box.attrs["boundary"] = 3, 3 * ["periodic" if edges else "none"]
        elements = {quantity: group.create_group(members[quantity]) for quantity in quantities}
        begins = [reserve(elements[one], "value", (len(trajectory), n_atoms, 3), "<f4") for one in quantities]
        for quantity, element in elements.items():
            element["value"].attrs["unit"] = units[quantity]
        if edges:
            elements["box"] = box.create_group("edges")
            elements["box"]["value"] = np.array(edges, np.float32)
            elements["box"]["value"].attrs["unit"] = units["positions"]
        moments = elements["positions"]
        moments["step"], moments["time"] = trajectory.steps, trajectory.times.astype(np.float32)
        moments["time"].attrs["unit"] = "ps"
        for element in elements.values():
            if element != moments:
                element["step"], element["time"] = moments["step"], moments["time"]

    def encode(frame: Frame) -> list[NDArray[Any]]:
        found = {"positions": frame.positions, "velocities": frame.velocities, "forces": frame.forces}
        if frame.forces is not None:
            found["forces"] = frame.forces * _KJ_PER_KCAL
        return [np.ascontiguousarray(found[quantity], "<f4") for quantity in quantities]

    return Layout(begins, encode)


def _dimensions(box: FloatArray | None) -> NDArray[np.float32]:
    """Returns lengths in Å and angles in degrees of a box (3,3) Å, zeros where there is none."""
    from MDAnalysis.lib.mdamath import triclinic_box

    return np.zeros(6, np.float32) if box is None else np.asarray(triclinic_box(*box), np.float32)


def _set(path: Path, at: int, value: NDArray[Any]) -> None:
    """Puts the number of frames into a header."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(value.tobytes())
