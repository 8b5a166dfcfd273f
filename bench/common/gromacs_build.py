"""Builds GROMACS from Debian's source for one instruction set, once, as its users do on their machines: Debian's own
package knows SSE4.1 alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bench.common.options import Common, script

#: GROMACS' names of Tessera's instruction sets
SETS = {"AVX3": "AVX_512", "AVX2": "AVX2_256"}
SOURCES = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"
OPTIONS = (
    *("-DCMAKE_BUILD_TYPE=Release", "-DGMX_FFT_LIBRARY=fftw3", "-DGMX_HWLOC=OFF", "-DGMX_BUILD_HELP=OFF"),
    *("-DGMX_BUILD_UNITTESTS=OFF", "-DBUILD_TESTING=OFF", "-DGMXAPI=OFF", "-DGMX_INSTALL_NBLIB_API=OFF"),
)
TOOLS = ("apt-get", "dpkg-source", "cmake", "ninja", "g++")


def built(common: Common, instruction_set: str) -> Path:
    """Returns where the program for this set is or will be."""
    return common.work / "gromacs" / SETS[instruction_set] / "bin" / "gmx"


def build(common: Common, instruction_set: str) -> Path:
    """Returns the program gmx for one of SETS. Builds it where it is not there yet, which takes 20 to 40 minutes of two
    cores. Raises ClickException where a tool is missing or a step fails."""
    gmx = built(common, instruction_set)
    if gmx.exists():
        return gmx
    if missing := what_is_missing():
        raise click.ClickException(
            f"building GROMACS needs {', '.join(missing)}: apt-get install dpkg-dev cmake ninja-build g++ libfftw3-dev"
        )
    folder = gmx.parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    source = unpacked_source(common)
    common.say(f"building GROMACS for {SETS[instruction_set]} in {folder}; this takes 20 to 40 minutes")
    _run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DGMX_SIMD={SETS[instruction_set]}", *OPTIONS], folder)
    _run(["ninja", "-C", folder, "gmx"], folder)
    return gmx


def what_is_missing() -> list[str]:
    """Returns the tools and libraries that GROMACS is built with and that are not installed."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if "g++" not in missing:
        words = ["g++", "-x", "c", "-", "-o", "/dev/null", "-lfftw3f"]
        text = "#include <fftw3.h>\nint main(void) { return fftwf_version[0] == 0; }\n"
        if subprocess.run(words, input=text, capture_output=True, text=True, check=False).returncode != 0:
            missing.append("FFTW in single precision")
    return missing


def unpacked_source(common: Common) -> Path:
    """Returns the folder of Debian's source package, of the release that runs here. It is fetched with lists of its
    own, so that the machine's package manager is left as it is."""
    folder = common.work / "gromacs" / "source"
    if not (found := list(folder.glob("gromacs-*/CMakeLists.txt"))):
        common.say("fetching GROMACS' source from Debian")
        (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (folder / "sources.list").write_text(SOURCES.format(_release()))
        apt = [
            "apt-get",
            "-o",
            f"Dir::Etc::sourcelist={folder / 'sources.list'}",
            "-o",
            "Dir::Etc::sourceparts=/dev/null",
        ]
        apt += ["-o", f"Dir::State::lists={folder / 'lists'}", "-o", "APT::Sandbox::User="]
        _run([*apt, "update"], folder)
        _run([*apt, "source", "gromacs"], folder)
        found = list(folder.glob("gromacs-*/CMakeLists.txt"))
    if len(found) != 1:
        raise click.ClickException(f"{folder} should hold one gromacs-VERSION; remove it and try again")
    return found[0].parent


def _release() -> str:
    """Returns the code name of the Debian that runs here, or that of Debian 12 elsewhere."""
    lines = Path("/etc/os-release").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("VERSION_CODENAME", "bookworm") if values.get("ID") == "debian" else "bookworm"


def _run(words: Sequence[str | Path], folder: Path) -> None:
    log = folder / "build.log"
    with log.open("a") as file:
        done = subprocess.run(
            [str(word) for word in words], cwd=folder, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise click.ClickException(f"{words[0]} failed; the end of {log}:\n{tail}")


@script()
@click.argument("instruction_sets", nargs=-1, type=click.Choice(list(SETS)), required=True)
def command(common: Common, instruction_sets: tuple[str, ...]) -> None:
    """Build GROMACS for each of these instruction sets, which the benchmarks then find.

    \b
    Example:
      python -m bench.common.gromacs_build AVX2
    """
    for one in instruction_sets:
        click.echo(build(common, one))


if __name__ == "__main__":
    sys.exit(command())
