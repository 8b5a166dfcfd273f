"""The checks, in the order in which they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tessera.doctor.disk import files
from tessera.doctor.finding import Finding
from tessera.doctor.gpu import gpus
from tessera.doctor.host import clocks, cores, limits, memory
from tessera.doctor.programs import programs
from tessera.doctor.sample import sample

CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (cores, memory, limits, clocks, files, programs, gpus, sample)


def findings() -> Iterator[Finding]:
    """Yields what all checks find, each as soon as it is found."""
    for check in CHECKS:
        yield from check()
