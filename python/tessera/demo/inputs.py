"""Finds the input files of the demonstration: dihydrofolate reductase in water, from the test systems of OpenMM (MIT
licence, in the README.md beside them)."""

from __future__ import annotations

from pathlib import Path

from tessera.errors import InputError

RUN_FILE = "run.toml"
#: what `tessera prepare charmm` is given; paths are of `folder_of_inputs`
_PSF, _PDB, _TOPOLOGY = "5dhfr_cube.psf", "5dhfr_cube.pdb", "charmm22.rtf"
_PARAMETERS = ("par_all22_prot.inp", "toppar_water_ions.str")
_EDGE = "62.23"  # Å, of the cube


def folder_of_inputs() -> Path:
    """Returns the folder of the input files: in an installed package, or in the checkout. Raises `InputError`."""
    package = Path(__file__).resolve().parents[1]
    folders = (package / "demo" / "dhfr", package.parents[1] / "examples" / "dhfr")
    for folder in folders:
        if all((folder / name).is_file() for name in (_PSF, _PDB, _TOPOLOGY, *_PARAMETERS, RUN_FILE)):
            return folder
    raise InputError(
        f"the files of the demonstration are in none of {', '.join(map(str, folders))}; install Tessera anew"
    )


def arguments_of_prepare(folder: Path, output: str) -> list[str]:
    """Returns the words of `tessera` that make the system file `output` of the files in `folder`."""
    parameters = [str(folder / name) for name in _PARAMETERS]
    files = ["--psf", str(folder / _PSF), "--coords", str(folder / _PDB), "--topology", str(folder / _TOPOLOGY)]
    return ["prepare", "charmm", *files, "--params", *parameters, "--box", _EDGE, _EDGE, _EDGE, "-o", output]
