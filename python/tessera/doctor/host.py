"""Looks at the host: cores, memory, limits of this user, clocks."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

from tessera.build.memory import memory_of_machine
from tessera.doctor.finding import Finding, judged
from tessera.launch import SHARED_FILE_BYTES, usable_cores
from tessera.machine.quantities import whole_of

_QUOTA = "sys/fs/cgroup/cpu.max"
_CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
_QUICK_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
_GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
_SHARED = "dev/shm"
_LEAST_MEMORY, _LEAST_SHARED = 2e9, 64e6  # bytes: of the host, and of the files in which ranks share memory
_LEAST_FILES = 1024
_READINGS = 10_000


def cores(root: Path = Path("/")) -> Iterator[Finding]:
    """Yields the cores that this process may use, of those that there are, and what a container leaves of them."""
    usable, there = usable_cores(), os.cpu_count() or 1
    found = f"{usable} of {there}" if usable < there else f"{usable}"
    quota, _, period = _text(root / _QUOTA).partition(" ")
    allowed = (whole_of(quota) or 0) / (whole_of(period) or 1)
    warning = ""
    if 0 < allowed < usable:
        found += f", of which a container leaves the time of {allowed:.3g}"
        warning = f"start at most {max(1, int(allowed))} ranks × threads, since more of them wait for each other"
    yield judged("cores", found, warning)


def memory() -> Iterator[Finding]:
    """Yields the memory of the host, or that of a container."""
    there = memory_of_machine()
    small = "" if there >= _LEAST_MEMORY else "take systems of fewer atoms, or a larger host: an atom takes about 1 kB"
    yield judged("memory", f"{there / 1e9:,.1f} GB", small)


def limits(root: Path = Path("/")) -> Iterator[Finding]:
    """Yields the limits of this user that runs come up against."""
    size, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if size != resource.RLIM_INFINITY:
        least = size < SHARED_FILE_BYTES
        text = "raise the limit (ulimit -f): trajectories and system files are often longer"
        yield judged("longest file", f"{size:,} bytes", "" if least else text, text if least else "")
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY:
        yield judged("memory of a process", f"{space / 1e9:,.1f} GB", "raise the limit (ulimit -v) for large systems")
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = "" if files >= _LEAST_FILES else f"raise the limit (ulimit -n) to {_LEAST_FILES:,}: ranks have open files"
    yield judged("open files", f"{files:,}", few)
    try:
        disk = os.statvfs(root / _SHARED)
    except OSError:
        yield judged("/dev/shm", "missing", "mount it: ranks of a host share memory there, and are slower without")
        return
    free = disk.f_bavail * disk.f_frsize
    small = (
        "" if free >= _LEAST_SHARED else "enlarge it (in containers --shm-size=1g): ranks of a host share memory there"
    )
    yield judged("/dev/shm", f"{free / 1e9:,.2f} GB free", small)


def clocks(root: Path = Path("/")) -> Iterator[Finding]:
    """Yields by which clock times are measured, and whether the processor saves power."""
    source = _text(root / _CLOCK)
    readings = [time.perf_counter() for _ in range(_READINGS)]
    each = median(after - before for before, after in pairwise(readings))
    slow = "" if source in _QUICK_CLOCKS or not source else (
        f"choose a quicker clock source for the system than {source}: times of phases and trials are coarse with it"
    )  # fmt: skip
    yield judged("clock", f"{source or 'unknown'}, {1e9 * each:.0f} ns to read", slow)
    governor = _text(root / _GOVERNOR)
    if governor:
        saving = "choose the governor performance (cpupower frequency-set -g performance)"
        yield judged("clock rates", governor, saving if governor == "powersave" else "")


def _text(path: Path) -> str:
    """Returns the content of a file of the system; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
