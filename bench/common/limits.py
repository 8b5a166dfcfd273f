"""Measures how many operations and bytes a second the cores of this machine can do at most (limits.c)."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import click

from bench.common.options import Common

SOURCE = Path(__file__).with_name("limits.c")


def program(common: Common) -> Path:
    """Compiles the program, which needs a C compiler."""
    path = common.work / "limits"
    if not path.exists() or path.stat().st_mtime < SOURCE.stat().st_mtime:
        compiler = os.environ.get("CC") or shutil.which("cc")
        if compiler is None:
            raise click.ClickException("no C compiler (cc, or $CC) to measure the machine's limits with")
        common.work.mkdir(parents=True, exist_ok=True)
        options = ["-O3", "-march=native", "-ffp-contract=fast", "-funroll-loops", "-pthread"]
        subprocess.run([compiler, *options, "-o", str(path), str(SOURCE)], check=True, timeout=120)
    return path


@cache
def measured(common: Common, *words: str) -> float:
    done = subprocess.run([program(common), *words], check=True, capture_output=True, text=True, timeout=120)
    return float(done.stdout)


def flops(common: Common, cores: int) -> float:
    """Returns operations/s of single precision; a fused multiply-add counts as two."""
    return measured(common, "flops", str(cores))


def clock(common: Common) -> float:
    """Returns the cycles/s of a core at work."""
    return measured(common, "clock", "1")


def bandwidth(common: Common, cores: int, size: int) -> float:
    """Returns bytes/s that are read and written when arrays of `size` bytes in all are copied."""
    return measured(common, "copy", str(cores), str(size))


def triad(common: Common, cores: int, size: int) -> float:
    """Returns bytes/s of STREAM's triad (McCalpin 1995) with plain stores on three arrays of `size` bytes in all."""
    return measured(common, "triad", str(cores), str(size))
