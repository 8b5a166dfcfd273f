from spack_repo.builtin.packages.py_nanobind.package import PyNanobind as BuiltinPyNanobind

# isort: split
from spack.package import depends_on, version


class PyNanobind(BuiltinPyNanobind):
    """Spack's nanobind, and the version that Tessera needs, which is newer."""

    version("3.1.0", sha256="6661e3dc1434d78781ccf7913442d90361dab395c3424efadb63bbb6ddea7ea3")

    depends_on("python@3.10:", when="@3:", type=("build", "run"))
