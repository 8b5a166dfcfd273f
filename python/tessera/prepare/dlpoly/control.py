"""Reads DL_POLY's CONTROL, in the old style (`ensemble nvt hoover 0.5`) and the new one (`keyword value unit`)."""

from __future__ import annotations

from pathlib import Path

from tessera.errors import InputError
from tessera.prepare.dlpoly import control_new, control_old
from tessera.prepare.dlpoly.control_model import Control
from tessera.prepare.dlpoly.lines import Line, Lines

__all__ = ["Control", "read_control"]


def read_control(path: str | Path) -> Control:
    """Reads the file. Raises `InputError` for a directive that is not understood, or that changes the physics and has
    no counterpart; those that concern DL_POLY alone are in `notes` and `unused`."""
    lines = Lines.read(path, "CONTROL file")
    control = Control(lines.path.name)
    left = [line for line in lines.found if line.words]
    if not lines.first.words and not left:
        raise InputError(f"{control.name} has no directives")
    if _is_new(lines.first, left):
        control_new.read(control, [line for line in (lines.first, *left) if line.words])
    else:
        control_old.read(control, left)
    _check(control)
    return control


def _is_new(first: Line, left: list[Line]) -> bool:
    """Tells the styles apart by the keys that one of them has alone, since the first line of the old style is a title,
    whatever it holds, and the new style has its keys in any order. Raises `InputError` where a file has both."""
    new = next((line for line in left if control_new.is_own(line.key)), None)
    old = next((line for line in left if control_old.is_own(line.key)), None)
    if new and old:
        raise old.wrong(
            f"{old.key} is of the old style and {new.key} in line {new.number} of the new one (keyword value unit): "
            "write all in one style"
        )
    if old:
        return False
    return new is not None or control_new.is_own(first.key) or any(line.key == "title" for line in (first, *left))


def _check(control: Control) -> None:
    if control.timestep <= 0:
        raise InputError(f"{control.name} has no timestep")
    if control.cutoff <= 0:
        raise InputError(f"{control.name} has no cutoff")
    if control.temperature < 0:
        raise InputError(f"{control.name} has a temperature of {control.temperature:g} K, expected at least 0")
    if control.precision and not 0 < control.precision * control.cutoff < 1:
        raise InputError(
            f"{control.name}: Ewald's precision is {control.precision:g}, expected a number above 0 and well below "
            f"{1 / control.cutoff:.2g}, such as 1e-6"
        )
    if control.ensemble == "nst":
        raise InputError(f"{control.name}: ensemble nst (a box that changes its shape) is not supported: use npt")
    if control.restart == "continue":
        control.notes.append("restart: velocities are those of CONFIG; REVOLD is not read")
    if control.equilibration:
        control.notes.append(
            f"the first {control.equilibration} steps are DL_POLY's equilibration: leave them out of averages"
        )
