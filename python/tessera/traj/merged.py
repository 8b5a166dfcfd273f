"""Frames of all atoms, put together from trajectories of some atoms each.

A run that writes water rarely and all else often (`[[output.selection]]`) has two trajectories. `Merged` shows them as
one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tessera.errors import InputError
from tessera.traj.manifest import IdArray, Manifest
from tessera.traj.parts import Floats
from tessera.traj.trajectory import Frame, Trajectory


class Merged(Trajectory):
    """The atoms of several trajectories of one run, at the steps that all of them have.

    With `hold` there is a frame at each step of any of them from the first that all have, and atoms that were not
    written then stand where they were last. Where several trajectories have an atom, the last one given decides.
    Positions alone are put together.

    Raises as `Trajectory` does, and `InputError` where the trajectories are of different systems, have no step in
    common, or have steps that begin anew.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]], *, hold: bool = False) -> None:
        self._given, self._hold = paths, hold
        members = [Trajectory(path) for path in paths]
        if not members:
            raise InputError("no trajectory is given: merge those of a run")
        self.__dict__.update(members[0].__dict__)
        self.paths = [path for member in members for path in member.paths]  # of all of them
        self.manifests = [manifest for member in members for manifest in member.manifests]  # of all of them
        for member in members:
            if member.system_atoms != self.system_atoms:
                raise InputError(
                    f"{member.paths[0]} is of a system of {member.system_atoms:,} atoms, and {self.paths[0]} of one of "
                    f"{self.system_atoms:,}: merge trajectories of one run"
                )
            if (np.diff(member.steps) <= 0).any():
                raise InputError(f"{member.paths[0]} has steps that begin anew: merge the trajectories of one stage")
        common = reduce(np.intersect1d, [member.steps for member in members])
        if not len(common):
            raise InputError(
                f"{', '.join(map(str, self.paths))} have no step in common: there is no frame of all atoms"
            )
        steps = common
        if hold:
            steps = np.unique(np.concatenate([member.steps for member in members]))
            steps = steps[steps >= common[0]]
        self._members = members
        self._index = [np.searchsorted(member.steps, steps, side="right") - 1 for member in members]
        # The trajectory that has a frame at each step gives its time and box.
        exact = np.array([member.steps[index] == steps for member, index in zip(members, self._index)])
        self._leader = np.argmax(exact, axis=0)
        self.steps = steps  # (n,)
        self.times = np.array([members[k].times[self._index[k][i]] for i, k in enumerate(self._leader)])  # (n,) ps
        self._ids = np.unique(np.concatenate([member.ids for member in members]))
        self._places = [np.searchsorted(self._ids, member.ids) for member in members]

    @property
    def n_atoms(self) -> int:
        """The number of atoms in each frame."""
        return len(self._ids)

    @property
    def ids(self) -> IdArray:
        """The ids (n_atoms,) of the atoms of a frame, in order."""
        return np.asarray(self._ids, np.int64)

    @property
    def quantities(self) -> list[str]:
        """What a frame has: positions alone."""
        return ["positions"]

    def _slice(self, index: slice) -> Trajectory:
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)
        part.steps, part.times, part._leader = self.steps[index], self.times[index], self._leader[index]
        part._index = [one[index] for one in self._index]
        return part

    def refresh(self) -> int:
        """Does as `Trajectory.refresh`, of all trajectories."""
        Merged.__init__(self, self._given, hold=self._hold)
        return len(self)

    def entry(self, index: int) -> tuple[Manifest, Any]:
        """Returns where the frame of that index stands."""
        leader = int(self._leader[index])
        return self._members[leader].entry(int(self._index[leader][index]))

    def read(self, index: int, quantities: Sequence[str] | None = None, positions: Floats | None = None) -> Frame:
        """Returns a frame with positions. Raises as `Trajectory.read` does."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"frame {index} of {len(self)}")
        out = np.empty((self.n_atoms, 3), np.float32) if positions is None else positions
        frames = [
            member.read(int(of_member[index]), ("positions",)) for member, of_member in zip(self._members, self._index)
        ]
        for places, frame in zip(self._places, frames):
            out[places] = frame.positions
        return Frame(int(self.steps[index]), float(self.times[index]), self.box(index), out)
