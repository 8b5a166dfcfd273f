"""The series of a run, or of a protocol's stage that runs now."""

from __future__ import annotations

from pathlib import Path

from tessera.watch.liveness import folder_of_stage
from tessera.watch.series import Series
from tessera.watch.status import Status


class Tracks:
    """Follows the table of the stage that a status tells of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stage: str | None = None
        self._series: Series | None = None

    def of(self, status: Status | None) -> Series | None:
        """Returns the series, read as far as the run has written; None where nothing has begun."""
        if status is None:
            return None
        if self._series is None or status.stage != self._stage:
            self._stage = status.stage
            self._series = Series(folder_of_stage(self._folder, status))
        self._series.update()
        return self._series
