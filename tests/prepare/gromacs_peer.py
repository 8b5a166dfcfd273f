"""Computes energies with GROMACS in double precision, where `gmx_d` is on the path."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.programs import HANGS

GMX = shutil.which("gmx_d")

#: All atoms of a small neutral system are within the cut-offs, so GROMACS' shifts cancel.
PLAIN = """\
integrator = md
nsteps = 0
nstcalcenergy = 1
nstenergy = 1
cutoff-scheme = Verlet
coulombtype = cut-off
coulomb-modifier = none
rcoulomb = 2.5
rvdw = 2.5
vdw-modifier = none
epsilon-rf = 1
continuation = yes
define = {define}
"""


def gromacs_energies(folder: Path, top: str, gro: str, define: str = "", mdp: str = PLAIN) -> dict[str, float]:
    """Returns energies in kJ/mol by GROMACS' names of the terms. Files are given by their names in `folder`."""
    assert GMX is not None
    (folder / "plain.mdp").write_text(mdp.format(define=define))
    grompp = ["grompp", "-f", "plain.mdp", "-p", top, "-c", gro, "-o", "plain.tpr", "-po", "out.mdp", "-maxwarn", "9"]
    for words in (grompp, ["mdrun", "-s", "plain.tpr", "-deffnm", "plain", "-nt", "1"]):
        _run(folder, words)
    terms = "\n".join(str(n) for n in range(1, 40))
    _run(folder, ["energy", "-f", "plain.edr", "-o", "plain.xvg", "-dp"], terms)
    names: list[str] = []
    values: list[float] = []
    for line in (folder / "plain.xvg").read_text().splitlines():
        if line.startswith("@ s") and "legend" in line:
            names.append(line.split('"')[1])
        elif not line.startswith(("@", "#")):
            values = [float(word) for word in line.split()[1:]]
            break
    return dict(zip(names, values))


def _run(folder: Path, words: list[str], text: str = "") -> None:
    done = subprocess.run([str(GMX), *words], cwd=folder, input=text, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr[-3000:]
