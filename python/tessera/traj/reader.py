"""MDAnalysis' reader of trajectories in segments: format SEGMENTS, Å, ps, Å/ps and kJ/(mol·Å)."""

from __future__ import annotations

from typing import Any, ClassVar

from MDAnalysis.coordinates import base
from MDAnalysis.lib.mdamath import triclinic_box
from MDAnalysis.lib.util import store_init_arguments

from tessera.constants import KJ_PER_KCAL
from tessera.traj.trajectory import Trajectory


class SegmentsReader(base.ReaderBase):  # type: ignore[misc]
    """Reads a run's output folder, a folder of segments, a list of them, or a `Trajectory`.

    Forces are in kJ/(mol·Å), as everywhere in MDAnalysis, and in kcal/mol/Å with `convert_units=False`.
    `ts.data["step"]` is the step. Raises what `Trajectory` raises.
    """

    format = "SEGMENTS"
    units: ClassVar[dict[str, str]] = {
        "time": "ps",
        "length": "Angstrom",
        "velocity": "Angstrom/ps",
        "force": "kcal/(mol*Angstrom)",
    }

    @store_init_arguments  # type: ignore[untyped-decorator]
    def __init__(self, filename: Any, convert_units: bool = True, **kwargs: Any) -> None:
        super().__init__(filename, convert_units=convert_units, **kwargs)
        self._trajectory = filename if isinstance(filename, Trajectory) else Trajectory(filename)
        self.n_atoms = self._trajectory.n_atoms
        self.ts = self._new_timestep()
        self._frame = -1
        if self.n_frames:
            self._read_next_timestep()

    def _new_timestep(self) -> Any:
        names = self._trajectory.quantities
        return self._Timestep(
            self.n_atoms, velocities="velocities" in names, forces="forces" in names, **self._ts_kwargs
        )

    @staticmethod
    def parse_n_atoms(filename: Any, **kwargs: Any) -> int:
        """Returns the number of atoms, without a topology."""
        return Trajectory(filename).n_atoms

    @property
    def n_frames(self) -> int:
        return len(self._trajectory)

    @property
    def dt(self) -> float:
        """ps between the first two frames."""
        given = self._ts_kwargs.get("dt")
        return self._trajectory.interval if given is None else float(given)

    def refresh(self) -> int:
        """Finds the frames that a run has written meanwhile, and returns their number."""
        return self._trajectory.refresh()

    def _reopen(self) -> None:
        self._frame = -1

    def _read_next_timestep(self, ts: Any = None) -> Any:
        if self._frame + 1 >= self.n_frames:
            raise OSError("the trajectory ends here")
        return self._read_frame(self._frame + 1)

    def _read_frame(self, i: int) -> Any:
        ts = self.ts
        frame = self._trajectory.read(i, positions=ts._pos)
        self._frame = ts.frame = i
        ts.dimensions = None if frame.box is None else triclinic_box(*frame.box)
        if ts.has_velocities and frame.velocities is not None:
            ts._velocities[:] = frame.velocities
        if ts.has_forces and frame.forces is not None:
            ts._forces[:] = frame.forces
            if self.convert_units:
                ts._forces *= KJ_PER_KCAL
        given = self._ts_kwargs.get("dt")
        ts.data["step"] = frame.step
        ts.data["dt"] = self.dt
        ts.data["time"] = frame.time if given is None else i * given + ts.data.get("time_offset", 0.0)
        return ts

    def close(self) -> None:
        """Closes the files that are open; they are opened again when a frame is read."""
        if hasattr(self, "_trajectory"):
            self._trajectory.close()
