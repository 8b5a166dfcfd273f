"""The version; also in pyproject.toml and CMakeLists.txt."""

__version__ = "0.1.0"
