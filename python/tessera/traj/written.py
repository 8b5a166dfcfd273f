"""Compares a trajectory with what its run says that it wrote: in checkpoints, its report and its table.

Segments that are cut between frames have right checksums: only the rest of the run tells that there were more.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.errors import SENSELESS, InputError
from tessera.export.checkpoint import candidates, read_header
from tessera.files import open_regular, read_regular
from tessera.traj.find import settings_of
from tessera.traj.manifest import FOLDER, Manifest
from tessera.traj.trajectory import Trajectory

REPORT = "report.json"
TABLE = "energy.csv"
MAIN = Path(FOLDER).stem  # the name of a run's own trajectory
_TAIL = 1 << 20  # bytes, of which a row of the table needs a few hundred


@dataclass(frozen=True)
class Claim:
    """A file of a run by which it has written all frames up to a step."""

    file: str
    step: int
    frames: int | None = None  # up to that step, where the file counts them
    every: int = 0  # steps between frames, where it does not; 0: those of the last segment
    after_step: int = -1  # of the leg that it tells of
    certain: bool = True  # False: the run goes on, or ended before its last frames were written


def claims_of(run: Path, name: str, kind: str = "segments") -> list[Claim]:
    """Returns what a run's folder says of the trajectory of this name, which is in this format. The best comes first.
    Read it before the trajectory, to which a run may be adding."""
    return [*_of_checkpoints(run, name, kind), *_of_report(run, name, kind), *_of_table(run, name, kind)]


def _of_checkpoints(run: Path, name: str, kind: str) -> list[Claim]:
    try:
        settings = settings_of(run)
        if settings and _every(settings, name, kind) is None:
            return []  # it counts a file of another format, which has the same name
    except SENSELESS:
        pass
    for path in candidates(run):
        try:
            header = read_header(path)
            return [Claim(path.name, int(header["state"]["step"]), int(header["frames"].get(name, 0)))]
        except (InputError, *SENSELESS):
            continue
    return []


def _every(settings: Any, name: str, kind: str) -> int | None:
    """Returns the steps between frames of a trajectory; None where settings have no such one in this format, and 0
    where there are no settings to tell."""
    if not settings:
        return 0 if name == MAIN else None
    output = settings["output"]
    if name == MAIN:
        return int(output["trajectory_every"]) if output["trajectory"] == kind else None
    selections = settings.get("output.selection", output.get("selection", []))  # as a report and a run file name them
    return next((int(one["every"]) for one in selections if one["name"] == name), None)


def _of_report(run: Path, name: str, kind: str) -> list[Claim]:
    try:
        report = json.loads(read_regular(run / REPORT))
        every, last = _every(report["settings"], name, kind), int(report["last_step"])
        after = int(report["legs"][-1]["first_step"])
        return [] if every is None else [Claim(REPORT, last, every=every, after_step=after or -1)]
    except (OSError, *SENSELESS):
        return []


def _of_table(run: Path, name: str, kind: str) -> list[Claim]:
    try:
        with open(open_regular(run / TABLE), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            rows = file.read().split(b"\n")[:-1]  # what follows the last line end was being written
        every, last = _every(settings_of(run), name, kind), int(rows[-1].split(b",")[0])
    except (OSError, *SENSELESS):
        return []
    return [] if every is None else [Claim(TABLE, last, every=every, certain=False)]


def missing_at_the_end(claims: list[Claim], trajectory: Trajectory | None) -> tuple[str, bool] | None:
    """Says in what a trajectory falls short of the first claim that it does not meet, and whether that is certain; None
    where it meets all."""
    steps = [] if trajectory is None else trajectory.steps.tolist()
    manifests: list[Manifest] = [] if trajectory is None else trajectory.manifests
    for claim in claims:
        found = sum(step <= claim.step for step in steps)
        expected = claim.frames
        if expected is None:
            begin = max([claim.after_step, *steps[-1:], *(one.after_step for one in manifests[-1:])])
            every = claim.every or (manifests[-1].every if manifests else 0)
            expected = found + (max(0, claim.step // every - begin // every) if every > 0 else 0)
        if found >= expected:
            continue
        if trajectory is None or (found == len(steps) and not trajectory.gaps()):
            text = f"ends after frame {found:,} of {expected:,}: by {claim.file} there are as many up to step "
        else:
            text = f"holds {found:,} of the {expected:,} frames that {claim.file} counts up to step "
        return text + f"{claim.step:,}", claim.certain
    return None
