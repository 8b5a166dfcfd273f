"""How scripts/setup --gpaw builds GPAW's extension: with the system's Open MPI, Libxc, ScaLAPACK and OpenBLAS.

GPAW's setup.py reads it and knows these names.
"""

import subprocess

mpi = True
compiler = "/usr/bin/mpicxx.openmpi"
scalapack = True  # without it GPAW can not divide grids over ranks
libraries = ["xc", "scalapack-openmpi", "openblas"]
# These stand before the folders of headers of the Python environment, where there may be those of another MPI. Not
# -march=native: GCC 12 then makes the loops over a stencil's points several times slower.
headers = subprocess.run([compiler, "--showme:incdirs"], capture_output=True, text=True, check=True).stdout.split()
compiler_args = ["-fPIC", "-O3", "-DNDEBUG", *(f"-I{folder}" for folder in headers)]
