"""Runs a short simulation, of which the bits are known, on this machine: by one rank and by two of each MPI."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tessera.build.water import tiles
from tessera.doctor.finding import Finding, judged
from tessera.errors import InputError
from tessera.launch import NAMES, LaunchError, engines, launchers
from tessera.printing import told
from tessera.system import write

ATOMS, STEPS = 5184, 100
#: of positions and velocities after the last step, on any processor and any number of ranks and threads
HASH = "44ae9736542d7c9074510da114543636441c2452c6f8335e460538b1e65da667"
RUN_FILE = f"""[input]
system = "water.tsr"
[dynamics]
steps = {STEPS}
timestep = 2.0
[output]
energy_every = {STEPS}
"""
_SECONDS = 300  # in which a run makes a step, however slow its machine is


def sample() -> Iterator[Finding]:
    """Yields for each way to start an engine whether the simulation runs, has the right bits, and how fast it is."""
    try:
        with tempfile.TemporaryDirectory(prefix="tessera-doctor-") as name:
            folder = Path(name)
            write(tiles(ATOMS).in_memory(), folder / "water.tsr")
            (folder / "run.toml").write_text(RUN_FILE, encoding="utf-8")
            for flavour in _started():
                yield _run(folder, flavour)
    except (OSError, InputError) as error:
        mend = f"make room in {tempfile.gettempdir()}, or set TMPDIR to a folder in which files can be written"
        yield judged("simulation", told(error), fault=mend)


def _started() -> list[str]:
    """Returns the MPIs for which there are an engine and a launcher, and "serial" if one rank needs none."""
    built = engines()
    try:
        of_launchers = {launcher.flavour for launcher in launchers()}
    except LaunchError:  # another check says so
        of_launchers = set()
    return [flavour for flavour in built if flavour == "serial" or flavour in of_launchers]


def _run(folder: Path, flavour: str) -> Finding:
    how = ["-n", "1", "-t", "auto"] if flavour == "serial" else ["-n", "2", "--mpi", flavour]
    subject = f"simulation, {'1 rank' if flavour == 'serial' else f'2 ranks of {NAMES[flavour]}'}"
    output = folder / flavour
    words = ["run", "run.toml", *how, "--set", f"output.folder={output}"]
    with subprocess.Popen(
        [sys.executable, "-m", "tessera", *words],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            stderr = _said(process, output / "status.json")
        except BaseException:  # a request to stop: a launcher that is killed leaves files of its own behind
            process.terminate()
            raise
    if stderr is None:
        return judged(subject, f"made no step in {_SECONDS} s", fault="look whether its ranks can reach each other")
    if process.returncode:
        said = stderr.strip().splitlines()
        all_of_it = f"mend what the message says; `tessera run` of any run file with {' '.join(how)} shows all of it"
        return judged(subject, f"failed: {said[0] if said else f'status {process.returncode}'}", fault=all_of_it)
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    found = f"{report['ns_per_day']:.3g} ns/day of {ATOMS:,} atoms of water with {report['versions']['simd']}"
    if report["state_hash"] != HASH:
        found += f", but its bits are {report['state_hash'][:16]}…, expected {HASH[:16]}…"
        return judged(
            subject, found, fault="build Tessera anew; if it stays, report this line with processor and compiler"
        )
    return judged(subject, f"{found}, the right bits")


def _said(process: subprocess.Popen[str], status: Path) -> str | None:
    """Returns what a run has printed to its standard error, once it has ended; None where it has made no step for too
    long, and was killed."""
    step = -1
    while True:
        try:
            return process.communicate(timeout=_SECONDS)[1]
        except subprocess.TimeoutExpired:
            before, step = step, _step_of(status)
            if step <= before:
                process.kill()
                return None


def _step_of(status: Path) -> int:
    """Returns the step that a run has come to; -1 where its status does not say so."""
    try:
        return int(json.loads(status.read_text(encoding="utf-8"))["step"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1
