"""The recipes for Spack and EasyBuild name the options, the version and the dependencies of this tree."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPACK = "spack/spack_repo/tessera/packages/tessera_md/package.py"
EASYBUILD = "easybuild/tessera-md-0.1.0-foss-2024a.eb"

#: Debian's package: Spack's, EasyBuild's. A compiler comes with EasyBuild's toolchain.
DEBIAN = {
    "g++": ("cxx", "foss"),
    "cmake": ("cmake", "CMake"),
    "pkg-config": ("pkgconfig", "pkgconf"),
    "python3": ("python", "Python"),
    "python3-dev": ("python", "Python"),
    "openmpi-bin": ("mpi", "foss"),
    "libopenmpi-dev": ("mpi", "foss"),
    "libhwy-dev": ("highway", "Highway"),
    "libfmt-dev": ("fmt", "fmt"),
    "librandom123-dev": ("random123", "random123"),
    "libhwloc-dev": ("hwloc", "hwloc"),
    "libssl-dev": ("openssl", "OpenSSL"),
    "libxxhash-dev": ("xxhash", "xxHash"),
    "libblosc-dev": ("c-blosc", "Blosc"),
    "libhdf5-dev": ("hdf5", "HDF5"),
    "libnetcdf-dev": ("netcdf-c", "netCDF"),
    "libtomlplusplus-dev": ("tomlplusplus", "tomlplusplus"),
    "nlohmann-json3-dev": ("nlohmann-json", "nlohmann_json"),
    "libcli11-dev": ("cli11", "CLI11"),
}
#: not in a recipe: they bring their own generator and environment; the two libraries are for Debian's Open MPI alone
#: (cmake/TesseraIo.cmake)
LEFT_OUT = {"ninja-build", "ccache", "python3-venv", "libpnetcdf-dev", "libhdf5-openmpi-dev"}
#: PyPI's package: Spack's, EasyBuild's, which may be a bundle
PYPI = {
    "numpy": ("py-numpy", "SciPy-bundle"),
    "scipy": ("py-scipy", "SciPy-bundle"),
    "h5py": ("py-h5py", "h5py"),
    "xxhash": ("py-xxhash", "python-xxhash"),
    "numcodecs": ("py-numcodecs", "zarr"),
    "click": ("py-click", "Python-bundle-PyPI"),
    "rich": ("py-rich", "Python-bundle-PyPI"),
    "threadpoolctl": ("py-threadpoolctl", "Python-bundle-PyPI"),
    "matplotlib": ("py-matplotlib", "matplotlib"),
    "mpi4py": ("py-mpi4py", "mpi4py"),
    "nanobind": ("py-nanobind", "nanobind"),
}
#: only `pip install` needs them
OF_PIP = {"scikit-build-core", "nanobind-backend"}


def debian_packages() -> set[str]:
    """Returns what packages.txt names to build, link and run: all that stands above the tests."""
    text = (ROOT / "packages.txt").read_text(encoding="utf-8").split("# tests:")[0]
    return {line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")}


def pypi_packages() -> set[str]:
    """Returns what pyproject.toml names to build and run, and for ranks in Python."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = about["project"]
    lines = [*about["build-system"]["requires"], *project["dependencies"], *project["optional-dependencies"]["mpi"]]
    return {re.split(r"[<>=~!\[; ]", line)[0] for line in lines}


def options() -> set[str]:
    """Returns the options of CMake that a user may set."""
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return set(re.findall(r"option\((TESSERA_\w+)", text)) | set(re.findall(r"set\((TESSERA_\w+)[^\n]* CACHE ", text))


def version() -> str:
    """Returns the version of this tree."""
    found = re.search(r"project\(tessera VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def spack_options(text: str) -> set[str]:
    """Returns the options of CMake that Spack's recipe sets, with a name for each kind of MPI."""
    kinds = re.findall(r'^    "(\w+)": \(', text, re.MULTILINE)
    names = re.findall(r'define(?:_from_variant)?\(\s*f?"(TESSERA_[\w{}]+)"', text)
    return {name.format(kind=kind) for name in names for kind in kinds}


def faults(examples: Path) -> list[str]:
    """Returns what recipes in a copy of examples/ have that this tree has not, and the other way round."""
    spack = (examples / SPACK).read_text(encoding="utf-8")
    easybuild = (examples / EASYBUILD).read_text(encoding="utf-8")
    needed = {"Spack": set(re.findall(r'(?:depends_on|extends)\(\s*"([\w-]+)', spack))}
    needed["EasyBuild"] = set(re.findall(r"^    \('([\w-]+)', '", easybuild, re.MULTILINE))
    needed["EasyBuild"] |= set(re.findall(r"toolchain = {'name': '(\w+)'", easybuild))
    found = []
    for package in sorted((debian_packages() - LEFT_OUT) | (pypi_packages() - OF_PIP)):
        names = {**DEBIAN, **PYPI}.get(package)
        if names is None:
            found.append(f"{package} has no counterpart in the tables of this test")
            continue
        found += [f"{kind} lacks {name} ({package})" for kind, name in zip(needed, names) if name not in needed[kind]]
    passed = {"Spack": spack_options(spack), "EasyBuild": set(re.findall(r"-D(TESSERA_\w+)=", easybuild))}
    for kind, those in passed.items():
        found += [f"{kind} sets {name}, which is no option" for name in sorted(those - options())]
        found += [] if those else [f"{kind} sets no option"]
    versions = {"Spack": re.findall(r'^    version\("([^"]+)"', spack, re.MULTILINE)}
    versions["EasyBuild"] = re.findall(r"^version = '([^']+)'", easybuild, re.MULTILINE)
    found += [f"{kind} is for {named}" for kind, named in versions.items() if named != [version()]]
    return found


def test_recipes_are_in_step_with_the_tree() -> None:
    assert faults(ROOT / "examples") == []
    assert version() in EASYBUILD


@pytest.mark.parametrize(
    ("recipe", "old", "new", "fault"),
    [
        (SPACK, '"TESSERA_PYTHON"', '"TESSERA_SNAKE"', "Spack sets TESSERA_SNAKE, which is no option"),
        (SPACK, '"TESSERA_{kind}_BIN"', '"TESSERA_{kind}_DIR"', "Spack sets TESSERA_mpich_DIR, which is no option"),
        (EASYBUILD, "-DTESSERA_TESTS", "-DTESSERA_TEST", "EasyBuild sets TESSERA_TEST, which is no option"),
        (SPACK, 'depends_on("hwloc@2:")', "", "Spack lacks hwloc (libhwloc-dev)"),
        (EASYBUILD, "('zarr',", "('tar',", "EasyBuild lacks zarr (numcodecs)"),
        (SPACK, 'version("0.1.0"', 'version("0.0.1"', "Spack is for ['0.0.1']"),
        (EASYBUILD, "\nversion = '0.1.0'", "\nversion = '0.0.1'", "EasyBuild is for ['0.0.1']"),
    ],
)
def test_a_recipe_out_of_step_is_found(tmp_path: Path, recipe: str, old: str, new: str, fault: str) -> None:
    for file in (SPACK, EASYBUILD):
        (tmp_path / file).parent.mkdir(parents=True)
        shutil.copy(ROOT / "examples" / file, tmp_path / file)
    text = (tmp_path / recipe).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / recipe).write_text(text.replace(old, new), encoding="utf-8")
    assert fault in faults(tmp_path)
