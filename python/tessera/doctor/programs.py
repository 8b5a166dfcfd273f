"""Looks at what is installed: the engines, the launchers of MPI, and the MPI libraries that engines find."""

from __future__ import annotations

import importlib
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tessera.doctor.finding import Finding, judged
from tessera.launch import FLAVOURS, NAMES, LaunchError, engines, launchers

_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_LIBRARY = re.compile(r"^\s*(libmpi\S*) => (\S+)", re.MULTILINE)
_SECONDS = 20  # in which a program says what it is


def programs() -> Iterator[Finding]:
    """Yields the compiled modules, the engines, the library that each finds, and the launchers."""
    yield _modules()
    built = engines()
    if not built:
        yield judged("engines", "none", fault="build them with `make build`, or set TESSERA_BIN to their folder")
        return
    lacking = [NAMES[flavour] for flavour in FLAVOURS if flavour not in built]
    text = f"build them where {' and '.join(lacking)} is installed, if runs are to use it" if lacking else ""
    yield judged("engines", ", ".join(NAMES[flavour] for flavour in FLAVOURS if flavour in built), text)
    for flavour, path in built.items():
        yield from _libraries(flavour, path)
    yield from _launchers(built)


def _modules() -> Finding:
    """Returns whether the compiled modules are there, and are those of this Python."""
    try:
        importlib.import_module("tessera._core")
    except ImportError as error:
        return judged("compiled modules", str(error), fault="build them with `make build`, or install tessera-md anew")
    return judged("compiled modules", f"loaded, by Python {platform.python_version()}")


def _libraries(flavour: str, path: Path) -> Iterator[Finding]:
    """Yields which MPI library an engine finds, and what it does not find."""
    said = _said(["ldd", str(path)])
    missing = _MISSING.findall(said)
    mend = "install it, or name its folder in LD_LIBRARY_PATH (on clusters: load the module with which it was built)"
    if missing:
        yield judged(f"engine of {NAMES[flavour]}", f"{', '.join(missing)} not found", fault=mend)
        return
    library = _LIBRARY.search(said)
    if flavour != "serial" and library is not None:
        yield judged(f"engine of {NAMES[flavour]}", f"{library[1]}, {library[2]}")


def _launchers(built: dict[str, Path]) -> Iterator[Finding]:
    try:
        found = list(launchers())
    except LaunchError as error:
        yield judged("launcher", os.environ.get("TESSERA_MPIRUN", ""), fault=str(error))
        return
    if not found and any(flavour != "serial" for flavour in built):
        yield judged("launcher", "none", "install an mpirun (Debian: openmpi-bin; PyPI: mpich), or use threads (-t)")
    for launcher in found:
        flavour = launcher.flavour
        has_engine = flavour in built or (flavour is None and "TESSERA_MPIRUN" in os.environ)
        text = "" if has_engine else "no engine is built for it: take another, or build one"
        yield judged("launcher", f"{' '.join(launcher.words)}, {NAMES.get(flavour or '', 'of an unknown MPI')}", text)


def _said(words: list[str]) -> str:
    """Returns what a program prints; nothing where there is none."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr
