"""Solves the nonlinear equation of Poisson and Boltzmann around atoms by the program APBS (Jurrus et al. 2018).

APBS runs on a coarse lattice, whose faces have the potential of a charged sphere, and inside of it on a fine one. Atoms
have the dielectric constant 2 inside their molecular surface (a ball of 1.4 Å), water that of `debye`; ions stay 2 Å
away from atoms.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.build.charges.core import Core
from tessera.build.charges.debye import PERMITTIVITY, TEMPERATURE
from tessera.build.charges.surface import Lattice
from tessera.errors import InputError
from tessera.printing import printable
from tessera.system.model import FloatArray, IdArray

_PROGRAM = "apbs"
_MISSING = (
    "the program apbs, which solves the equation of Poisson and Boltzmann, is not installed: on Debian and Ubuntu "
    "`apt-get install apbs` does it; elsewhere see https://www.poissonboltzmann.org"
)
_COARSE = 97  # points of the coarse lattice in each direction
_WIDER = 2.0  # times the fine lattice
_SIZES = 32  # the shape of a lattice is a multiple of this and one, for four levels of its multigrid
BYTES_PER_POINT = 310  # of APBS on its fine lattice, measured, and of Tessera afterwards less
_LAST_LINES = 3  # of what APBS has printed where it fails
_SETTINGS = """    mol 1
    npbe
    ion charge 1 conc {salt} radius 2.0
    ion charge -1 conc {salt} radius 2.0
    pdie 2.0
    sdie {permittivity}
    temp {temperature}
    srfm mol
    chgm spl2
    srad 1.4
    swin 0.3
    sdens 10.0
    calcenergy no
    calcforce no
"""


@dataclass(frozen=True)
class Potential:
    """The potential in kT/e at the points of a lattice."""

    lattice: Lattice
    value: FloatArray  # (nx,ny,nz)

    def field(self, index: IdArray) -> FloatArray:
        """Returns the field (n,3) in kT/(e Å) at points (n,3) of the lattice that are two or more from its faces, by
        differences of fourth order."""
        found = np.empty(index.shape)
        for axis in range(3):
            one = np.eye(3, dtype=np.int64)[axis]
            near, far = (
                self.value[tuple((index + step * one).T)] - self.value[tuple((index - step * one).T)] for step in (1, 2)
            )
            found[:, axis] = (far - 8 * near) / (12 * self.lattice.spacing[axis])
        return found


def lattice_around(position: FloatArray, margin: float, spacing: float) -> Lattice:
    """Returns a lattice that reaches at least this far (Å) beyond atoms (n,3) Å, with about this spacing in Å."""
    middle = (position.min(axis=0) + position.max(axis=0)) / 2
    length = np.ptp(position, axis=0) + 2 * margin
    cells = _SIZES * np.ceil(length / spacing / _SIZES).astype(np.int64)
    x, y, z = (cells + 1).tolist()
    return Lattice(middle - cells * spacing / 2, np.full(3, spacing), (x, y, z))


def require_apbs() -> str:
    """Returns the path of APBS. Raises `InputError` where it is not installed."""
    found = shutil.which(_PROGRAM)
    if found is None:
        raise InputError(_MISSING)
    return found


def solve(core: Core, salt: float, lattice: Lattice) -> Potential:
    """Returns the potential around atoms in a monovalent salt in mol/L. Raises `InputError` where APBS is not installed
    or fails."""
    program = require_apbs()
    with tempfile.TemporaryDirectory(prefix="tessera-apbs-") as name:
        folder = Path(name)
        (folder / "core.pqr").write_text(_pqr(core))
        (folder / "apbs.in").write_text(_input(salt, lattice))
        done = subprocess.run([program, "apbs.in"], cwd=folder, capture_output=True, text=True, errors="replace")
        written = sorted(folder.glob("potential*.dx"))
        if done.returncode != 0 or not written:
            said = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-_LAST_LINES:])
            raise InputError(f"apbs ended with status {done.returncode} and no potential; it said: {printable(said)}")
        found = read_potential(written[0])
    if found.lattice.shape != lattice.shape or not np.isfinite(found.value).all():
        raise InputError(f"apbs gave no finite potential at the {lattice.shape} points that it was asked for")
    return found


def _pqr(core: Core) -> str:
    rows = zip(core.position.tolist(), core.charge.tolist(), core.radius.tolist())
    return "".join(
        f"ATOM {number} X RES 1 {x:.4f} {y:.4f} {z:.4f} {charge:.4f} {radius:.4f}\n"
        for number, ((x, y, z), charge, radius) in enumerate(rows, start=1)
    )


def _input(salt: float, lattice: Lattice) -> str:
    settings = _SETTINGS.format(salt=salt, permittivity=PERMITTIVITY, temperature=TEMPERATURE)
    cells = np.array(lattice.shape) - 1
    length, centre = cells * lattice.spacing, lattice.origin + cells * lattice.spacing / 2
    parts = ((_WIDER * length, np.full(3, _COARSE), "bcfl sdh"), (length, cells + 1, "bcfl focus"))
    text = "read\n    mol pqr core.pqr\nend\n"
    for number, (edges, shape, faces) in enumerate(parts):
        places = (("dime", shape), ("glen", edges), ("gcent", centre))
        text += "elec\n    mg-manual\n" + "".join(f"    {key} {_words(value)}\n" for key, value in places)
        text += f"    {faces}\n{settings}"
        text += "    write pot dx potential\nend\n" if number else "end\n"
    return text + "quit\n"


def _words(values: FloatArray | IdArray) -> str:
    return " ".join(f"{value:.10g}" for value in values)


def read_potential(path: Path) -> Potential:
    """Reads a potential in the format OpenDX, as APBS writes it. Raises `InputError` where it is not understood."""
    origin, spacing, shape = np.zeros(3), [], (0, 0, 0)
    try:
        with path.open("rb") as file:
            for line in file:
                words = line.split()
                if words[:1] == [b"origin"]:
                    origin = np.array(words[1:4], np.float64)
                elif words[:1] == [b"delta"]:
                    spacing.append(np.array(words[1:4], np.float64))
                elif b"gridpositions" in words:
                    x, y, z = (int(word) for word in words[-3:])
                    shape = (x, y, z)
                elif b"follows" in words:
                    break
            value = np.fromstring(file.read().partition(b"attribute")[0], sep=" ")  # type: ignore[call-overload]
        steps = np.array(spacing).reshape(3, 3)
        if (steps != np.diag(np.diag(steps))).any() or not (np.diag(steps) > 0).all():
            raise ValueError("its lattice is not along x, y and z")
        return Potential(Lattice(origin, np.diag(steps), shape), value.reshape(shape))
    except (ValueError, OSError) as error:
        raise InputError(f"{path.name}: expected a potential on a lattice in OpenDX: {error}") from None
