"""Copies the packages that Tessera needs out of this Python's environment, for `cmake --install`.

python copy_packages.py PYPROJECT FOLDER [MPICH]    copy them into FOLDER, and PyPI's MPICH into MPICH

An installed folder has to work when the environment that it was built with is gone. Packages of the system's Python
stay where they are.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

#: optional parts that are copied where they are installed
EXTRAS = ("formats", "pdb", "ase")


def distributions(requirements: list[str]) -> dict[str, importlib.metadata.Distribution]:
    """Returns the distributions that are installed of these and of all that they require, by their names."""
    found: dict[str, importlib.metadata.Distribution] = {}
    wanted = [(Requirement(text), "") for text in requirements]
    while wanted:
        requirement, of_extra = wanted.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        try:
            one = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if one.name not in found:
            found[one.name] = one
            extras = ["", *requirement.extras]
            wanted += [(Requirement(text), extra) for text in one.requires or [] for extra in extras]
    return found


def main(project: Path, folder: Path) -> None:
    if sys.prefix == sys.base_prefix:
        return
    about = tomllib.loads(project.read_text())["project"]
    optional = [text for extra in EXTRAS for text in about["optional-dependencies"][extra]]
    for one in distributions([*about["dependencies"], *optional]).values():
        for file in one.files or []:
            source = Path(str(one.locate_file(file)))
            is_of_package = ".." not in file.parts and "__pycache__" not in file.parts  # no scripts with paths in them
            if is_of_package and source.is_file():
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)


def copy_mpich(folder: Path) -> None:
    """Copies the launcher, the libraries and their headers, which are beside this Python, in its lib and include."""
    for file in importlib.metadata.distribution("mpich").files or []:
        source = Path(str(file.locate())).resolve()
        below = source.relative_to(Path(sys.prefix).resolve())
        is_needed = below.parts[0] in ("include", "lib") and "site-packages" not in below.parts
        if is_needed or source.name.startswith(("mpiexec", "mpirun", "hydra")):
            target = folder / below
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
    if len(sys.argv) > 3:
        copy_mpich(Path(sys.argv[3]))
