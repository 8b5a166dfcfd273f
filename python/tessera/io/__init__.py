"""What other programs write with, and how fast ranks write files (`tessera io bench`).

    with SegmentWriter("own.segments", len(own), ids=own, every=10, comm=MPI.COMM_WORLD) as writer:
        writer.append(step, time, box, positions)      # of this rank's atoms

`tessera.traj.Trajectory` and MDAnalysis read what it writes, also while it is being written.
"""

from tessera.traj.writer import SegmentWriter

__all__ = ["SegmentWriter"]
