"""How scripts/setup --gpaw builds GPAW's extension: with Libxc, ScaLAPACK, OpenBLAS and one of the MPI libraries that
Tessera is built for, which GPAW_FLAVOUR names: the system's Open MPI, or MPICH from the Python environment.

GPAW's setup.py reads it and knows these names.
"""

import os
import subprocess
import sys

flavour = os.environ["GPAW_FLAVOUR"]

mpi = True
scalapack = True  # without it GPAW can not divide grids over ranks
libraries = ["xc", f"scalapack-{flavour}", "openblas"]
if flavour == "openmpi":
    compiler = "/usr/bin/mpicxx.openmpi"
    headers = subprocess.run([compiler, "--showme:incdirs"], capture_output=True, text=True, check=True).stdout.split()
else:
    compiler = "g++"
    headers = [f"{sys.prefix}/include"]
    libraries += ["mpi"]
    library_dirs = [f"{sys.prefix}/lib"]
    # ScaLAPACK wants Debian's libmpich.so.12, for which lib/libmpich.so.12 stands: a link to that of the environment,
    # whose binary interface is the same. The older kind of search path, RPATH, serves libraries of this one as well,
    # before any other.
    extra_link_args = ["-Wl,--disable-new-dtags,-rpath,$ORIGIN/lib,-rpath,$ORIGIN/../lib"]
# These headers stand before those of the Python environment, which may be those of another MPI. Not -march=native: GCC
# 12 then makes the loops over a stencil's points several times slower.
compiler_args = ["-fPIC", "-O3", "-DNDEBUG", *(f"-I{folder}" for folder in headers)]
