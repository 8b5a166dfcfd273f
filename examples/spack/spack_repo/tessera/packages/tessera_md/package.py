import os
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

# isort: split
from spack.package import (
    depends_on,
    extends,
    license,
    requires,
    variant,
    version,
)

CHECKOUT = pathlib.Path(__file__).resolve().parents[6]

#: the MPI libraries of each kind of binary interface, as cmake/TesseraMpi.cmake tells them apart
KINDS = {
    "openmpi": ("openmpi",),
    "mpich": ("mpich", "mvapich", "mvapich2", "intel-oneapi-mpi", "cray-mpich"),
}


class TesseraMd(CMakePackage):
    """Molecular simulation for parallel machines, with the same bits on any number of ranks."""

    homepage = "https://example.org/tessera"
    git = CHECKOUT.as_uri()

    license("Apache-2.0")

    # What is committed in the checkout that has this recipe; `spack dev-build` takes its files.
    version("0.1.0", branch="main")

    variant("mpi", default=True, description="Build the engine for MPI, too")
    variant("python", default=True, description="Build the Python package and its command")
    variant("tests", default=False, description="Build the unit tests")
    variant("netcdf", default=False, description="Let tessera-io measure what NetCDF does")
    variant(
        "instruction_sets",
        default="target",
        values=("target", "all", "common", "host", "native"),
        multi=False,
        description="For which processors the kernels are; target: the best set of Spack's",
    )

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("highway@1.0.3:")
    depends_on("fmt@9:")
    depends_on("random123@1.14:")
    depends_on("hwloc@2:")
    depends_on("openssl")
    depends_on("xxhash@0.8:")
    depends_on("c-blosc@1.21:")
    # Without MPI: the engines for one rank and for ranks of MPI share it.
    depends_on("hdf5@1.10:~mpi")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("cli11@2.3:")
    depends_on("netcdf-c~mpi", when="+netcdf")
    depends_on("googletest", when="+tests")

    depends_on("mpi", when="+mpi")
    requires(
        *(f"^[virtuals=mpi] {name}" for names in KINDS.values() for name in names),
        policy="one_of",
        when="+mpi",
        msg="Tessera knows Open MPI, and MPICH with its kin",
    )

    extends("python@3.11:", when="+python")
    depends_on("py-nanobind@3.1:3", when="+python", type="build")
    depends_on("py-packaging", when="+python", type="build")
    # To build, too: the command's man page is written by the command.
    depends_on("py-numpy@1.26:", when="+python", type=("build", "run"))
    depends_on("py-scipy@1.11:", when="+python", type=("build", "run"))
    depends_on("py-h5py@3.10:~mpi", when="+python", type=("build", "run"))
    depends_on("py-xxhash@3:", when="+python", type=("build", "run"))
    depends_on("py-numcodecs@0.13:", when="+python", type=("build", "run"))
    depends_on("py-click@8.1:", when="+python", type=("build", "run"))
    depends_on("py-rich@13:", when="+python", type=("build", "run"))
    depends_on("py-threadpoolctl@3:", when="+python", type=("build", "run"))
    depends_on("py-matplotlib@3.8:", when="+python", type=("build", "run"))
    depends_on("py-mpi4py@4:", when="+python+mpi", type=("build", "run"))

    def instruction_sets(self):
        """Returns the value of CMake's TESSERA_INSTRUCTION_SETS."""
        chosen = self.spec.variants["instruction_sets"].value
        if chosen != "target":
            return chosen
        target = self.spec.target
        if target.family == "aarch64":
            return "NEON"
        if all(f"avx512{part}" in target for part in ("f", "vl", "dq", "bw", "cd")):
            return "AVX3"
        return "AVX2" if "avx2" in target else "EMU128"

    def mpi_args(self):
        """Returns the options that name the one MPI of this build, whatever the path has."""
        if self.spec.satisfies("~mpi"):
            return [self.define("TESSERA_MPI", "none")]
        mpi = self.spec["mpi"]
        kind = next(kind for kind, names in KINDS.items() if mpi.name in names)
        folder = os.path.dirname(mpi.mpicxx)
        return [self.define("TESSERA_MPI", kind), self.define(f"TESSERA_{kind}_BIN", folder)]

    def cmake_args(self):
        args = [
            self.define_from_variant("TESSERA_TESTS", "tests"),
            self.define_from_variant("TESSERA_PYTHON", "python"),
            self.define("TESSERA_INSTRUCTION_SETS", self.instruction_sets()),
            self.define("CMAKE_CXX_FLAGS_RELEASE", "-O2 -DNDEBUG"),
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            *self.mpi_args(),
        ]
        if self.spec.satisfies("+python"):
            # Not that of a virtual environment, whose packages would be copied.
            args.append(self.define("Python_EXECUTABLE", self["python"].command.path))
        return args
