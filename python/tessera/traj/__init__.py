"""Trajectories in segments: reading while a run writes, joining legs and stages, checking, and other formats.

`Trajectory` is what programs use. `manifest` and `parts` read the files that `docs/reference/trajectory.md` describes,
`writer` writes them (`tessera.io`), `find` finds them in folders of runs. After `import tessera.traj` MDAnalysis opens
`trajectory.segments` by itself: `reader` is registered with it as soon as it is imported.
"""

from tessera.traj.history_reader import History
from tessera.traj.merged import Merged
from tessera.traj.registration import register
from tessera.traj.trajectory import Frame, Trajectory

__all__ = ["Frame", "History", "Merged", "Trajectory"]

register()
