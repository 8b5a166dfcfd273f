"""Inputs of DL_POLY whose CONTROL becomes a run file, and the energies that DL_POLY printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tessera.constants import KJ
from tessera.prepare.dlpoly.control import read_control
from tessera.prepare.dlpoly.folder import prepare_dlpoly_folder
from tessera.prepare.dlpoly.lines import Lines
from tessera.system import write

_UNIT = 0.01 * KJ  # kcal/mol in DL_POLY's internal unit of 10 J/mol


@dataclass(frozen=True)
class DlpolyCase:
    """A CONTROL in the data sets, with FIELD and STATIS beside it, and a CONFIG that several have."""

    control: str
    statis: str
    config: str

    def write(self, data: Path, system: Path) -> str:
        """Writes the system; returns the run file's text."""
        control = data / self.control
        field, run_file = control.parent / "FIELD", system.with_suffix(".toml")
        write(prepare_dlpoly_folder(None, field, data / self.config, control, None, system, run_file), system)
        return run_file.read_text()

    def counts(self, data: Path) -> dict[str, int]:
        """Returns how many directives are translated, without meaning and refused."""
        path = data / self.control
        lines = [line for line in Lines.read(path, "CONTROL file").found if line.words and line.key != "finish"]
        ignored = len(read_control(path).unused)
        return {"translated": len(lines) - ignored, "ignored": ignored, "refused": 0}

    def energy(self, data: Path) -> float:
        """Returns the potential energy of step 0, with the correction beyond the cut-off, in kcal/mol."""
        lines = (data / self.statis).read_text().splitlines()
        return float(lines[3].split()[2]) * _UNIT


_NACL, _OLD = "dlpoly/nacl27000", "dlpoly/nacl27000_oldstyle"
CASES = (
    DlpolyCase(f"{_NACL}/CONTROL.TEST001.nvt_hoover", f"{_NACL}/STATIS.TEST001", f"{_NACL}/CONFIG"),
    DlpolyCase(f"{_NACL}/CONTROL.TEST030.nve", f"{_NACL}/STATIS.TEST030", f"{_NACL}/CONFIG"),
    DlpolyCase(f"{_OLD}/CONTROL", f"{_OLD}/STATIS", f"{_NACL}/CONFIG"),
)
