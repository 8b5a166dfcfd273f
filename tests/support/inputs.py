"""Systems that several tests need. Each is prepared once a session."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from tessera.prepare.amber import prepare_amber
from tessera.prepare.charmm import prepare_charmm
from tessera.system import System

ROOT = Path(__file__).resolve().parents[2]
DHFR = ROOT / "examples" / "dhfr"
SMALL = ROOT / "tests" / "data"
DHFR_PARAMETERS = [DHFR / name for name in ("charmm22.rtf", "par_all22_prot.inp", "toppar_water_ions.str")]
ALA3_PARAMETERS = [DHFR / "charmm22.rtf", SMALL / "charmm22_cmap.par"]


def written(path: Path, text: str) -> Path:
    """Writes a file, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@cache
def dhfr() -> System:
    box = np.diag([62.23] * 3)
    return prepare_charmm(DHFR / "5dhfr_cube.psf", DHFR / "5dhfr_cube.pdb", DHFR_PARAMETERS, box)


@cache
def alanine_tripeptide() -> System:
    """Returns 33 atoms in vacuum, CHARMM22 with CMAP."""
    return prepare_charmm(SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb", ALA3_PARAMETERS, vacuum=True)


@cache
def alanine_dipeptide() -> System:
    """Returns 22 atoms in vacuum, AMBER."""
    name = SMALL / "alanine-dipeptide-implicit"
    return prepare_amber(name.with_suffix(".prmtop"), name.with_suffix(".inpcrd"))


def ordered_tripeptide(folder: Path) -> Path:
    """Writes the tripeptide's PDB with atoms in the order of the PSF; in the original the last residue's order
    differs."""
    words = [line.split() for line in (SMALL / "ala_ala_ala.psf").read_text().splitlines()]
    order = [(w[2], w[4]) for w in words if len(w) > 8 and w[1] == "AAL"]
    lines = [line for line in (SMALL / "ala_ala_ala.pdb").read_text().splitlines() if line.startswith("ATOM")]
    atoms = {(line[22:26].strip(), line[12:16].strip()): line for line in lines}
    path = folder / "ordered.pdb"
    path.write_text("\n".join([*(atoms[key] for key in order), "END", ""]))
    return path
