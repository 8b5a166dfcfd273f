"""Prepares the systems that are measured, once each, and keeps them in the work folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from bench.common.options import Common
from bench.common.process import Outcome, measure
from bench.common.results import ROOT

WATER = {"water3k": 3_000, "water24k": 24_000, "water300k": 300_000, "water1m": 999_999}
N_ATOMS = {"dhfr": 23_558, "apoa1": 92_224, "apoa1_1m": 1_106_688, **WATER}
TITLES = {"dhfr": "DHFR", "apoa1": "ApoA1", "apoa1_1m": "ApoA1, 2 × 2 × 3", **dict.fromkeys(WATER, "water")}
NAMES = tuple(N_ATOMS)
DHFR = ROOT / "examples" / "dhfr"
DHFR_BOX = 62.23  # Å
DHFR_PARAMETERS = ("par_all22_prot.inp", "toppar_water_ions.str")
DHFR_TOPOLOGY = "charmm22.rtf"


def apoa1_folder(common: Common, kind: str) -> Path:
    """Returns the folder of ApoA1's inputs; `kind` is charmm or gromacs."""
    if common.data is None:
        raise click.UsageError("ApoA1 does not come with Tessera: name the folder of the data sets with --data")
    folder = common.data.resolve() / "apoa1" / kind
    if not folder.is_dir():
        raise click.UsageError(f"there is no apoa1/{kind} in {common.data}")
    return folder


def tessera(arguments: list[str], folder: Path) -> Outcome:
    """Runs and measures `python -m tessera …`."""
    path = os.pathsep.join(p for p in (str(ROOT / "python"), os.environ.get("PYTHONPATH", "")) if p)
    return measure([sys.executable, "-m", "tessera", *arguments], folder=folder, environment={"PYTHONPATH": path})


def prepare_arguments(name: str, common: Common, output: Path) -> list[str]:
    """Returns the command that makes a system file, without `tessera`."""
    if name == "dhfr":
        parameters = [w for file in DHFR_PARAMETERS for w in ("--params", str(DHFR / file))]
        return [
            *("prepare", "charmm", "--psf", str(DHFR / "5dhfr_cube.psf"), "--coords", str(DHFR / "5dhfr_cube.pdb")),
            *(*parameters, "--topology", str(DHFR / DHFR_TOPOLOGY), "--box", *[str(DHFR_BOX)] * 3, "-o", str(output)),
        ]
    if name == "apoa1":
        folder = apoa1_folder(common, "gromacs")
        return [
            *("prepare", "gromacs", "--top", str(folder / "apoa1_merge.top")),
            *("--coords", str(folder / "apoa1_merge.gro"), "-o", str(output)),
        ]
    if name in WATER:
        return ["make", "water", "--atoms", str(WATER[name]), "-o", str(output)]
    if name == "apoa1_1m":
        return ["replicate", str(system(common, "apoa1")), "--nx", "2", "--ny", "2", "--nz", "3", "-o", str(output)]
    raise click.UsageError(f"no system {name!r}; known: {', '.join(NAMES)}")


def made(common: Common, name: str, arguments: Callable[[Path], list[str]]) -> Path:
    path = common.work / "systems" / f"{name}.tsr"
    if not path.exists():
        words = arguments(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        common.say(f"preparing {name}")
        tessera(words, path.parent)
    return path


def system(common: Common, name: str) -> Path:
    """Returns the system file, and makes it where it is not there yet."""
    return made(common, name, lambda path: prepare_arguments(name, common, path))


def replicated(common: Common, original: Path, copies: tuple[int, int, int]) -> Path:
    """Returns a system file with copies of a system side by side."""
    if copies == (1, 1, 1):
        return original
    counts = [word for axis, n in zip("xyz", copies) for word in (f"--n{axis}", str(n))]
    name = f"{original.stem}_{'x'.join(map(str, copies))}"
    return made(common, name, lambda path: ["replicate", str(original), *counts, "-o", str(path)])
