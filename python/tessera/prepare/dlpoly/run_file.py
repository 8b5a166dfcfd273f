"""Writes a run file of what a CONTROL says."""

from __future__ import annotations

import math

from tessera.errors import InputError
from tessera.prepare.dlpoly.control import Control

_THERMOSTATS = {"hoover": "nose-hoover", "lang": "langevin", "ber": "berendsen"}


def run_file_of(
    control: Control, system: str, has_velocities: bool, periodic: bool, frozen: str, charged: bool = True
) -> str:
    """Returns the text. `system` is the path of the system file as seen from the run file, `frozen` a selection;
    `charged` tells whether any atom has a charge.

    Raises `InputError` for ensembles without a counterpart.
    """
    lines = [f"# The run that {control.name} of DL_POLY describes.", "[input]", f'system = "{system}"', ""]
    lines += ["[interactions]", f"cutoff = {control.vdw_cutoff:g}"]
    ewald = control.electrostatics == "ewald" and periodic
    if control.electrostatics == "off" and charged:
        raise InputError(f"{control.name} has no electrostatics: set the charges in FIELD to 0 instead")
    if not ewald:
        lines.append('electrostatics = "cut"')
    lines.append("")
    if ewald:
        alpha = control.alpha or alpha_of_precision(control.precision or 1e-6, control.cutoff)
        lines += ["[pme]", f"cutoff = {max(control.cutoff, control.vdw_cutoff):g}", f"alpha = {alpha:.6g}"]
        lines += ["order = 6", ""]
    lines += ["[dynamics]", f"steps = {control.steps}", f"timestep = {control.timestep * 1e3:g}  # fs"]
    lines += _ensemble(control)
    lines.append(f"temperature = {control.temperature:g}")
    generates = control.restart == "clean" or not has_velocities
    lines.append(f'velocities = "{"generate" if generates else "file"}"')
    if control.seed:
        lines.append(f"seed = {control.seed}")
    lines.append('constraints = "none"  # beside those of FIELD, which the system holds in every run')
    lines.append(f"com_removal_every = {1 if control.removes_momentum else 0}")
    if frozen:
        lines.append(f'fixed = "{frozen}"')
    lines += ["", "[output]", f"energy_every = {control.stats_every}", f"checkpoint_every = {control.dump_every}"]
    if control.trajectory_every:
        lines.append(f"trajectory_every = {control.trajectory_every}")
    return "\n".join(lines) + "\n"


def alpha_of_precision(precision: float, cutoff: float) -> float:
    """Returns DL_POLY's Ewald parameter, 1/Å, for a relative precision and a cut-off in Å."""
    target = precision * cutoff
    tolerance = math.sqrt(abs(math.log(target)))
    return math.sqrt(abs(math.log(target * tolerance))) / cutoff


def _ensemble(control: Control) -> list[str]:
    kind, method = control.ensemble, control.method
    lines = [f'ensemble = "{kind}"']
    if kind == "nve":
        return lines
    if kind not in ("nvt", "npt"):
        raise InputError(f"{control.name}: ensemble {kind} is not supported; known: nve, nvt, npt")
    thermostat = next((name for start, name in _THERMOSTATS.items() if method.startswith(start)), None)
    if kind == "npt" and method.startswith("mtk"):
        thermostat = "nose-hoover"
    if thermostat is None:
        raise InputError(
            f"{control.name}: ensemble {kind} {method} is not supported; known: hoover, langevin, berendsen"
            f'{", mtk" if kind == "npt" else ""} (or set thermostat = "bussi" in a run file of your own)'
        )
    tau = 1 / control.friction if thermostat == "langevin" and control.friction else control.tau_t
    lines.append(f'thermostat = "{thermostat}"')
    if tau:
        lines.append(f"tau_t = {tau:g}")
    if kind == "nvt" and thermostat == "nose-hoover":
        lines.append("chain = 1")
        control.notes.append(
            "nvt hoover: the run file has chain = 1, one variable as in DL_POLY, where usual chains have three"
        )
    elif thermostat == "nose-hoover":
        control.notes.append(
            f"npt {method}: the baths of the run file are chains of three variables; those of DL_POLY have one"
        )
    if kind == "npt":
        barostat = {"berendsen": "berendsen", "nose-hoover": "mtk", "langevin": "c-rescale"}[thermostat]
        lines += [f'barostat = "{barostat}"', f"pressure = {control.pressure:.6g}  # bar"]
        if control.tau_p:
            lines.append(f"tau_p = {control.tau_p:g}")
        if not method.startswith(("ber", "mtk")):
            control.notes.append(
                f'npt {method}: the run file has barostat = "{barostat}", which samples the same ensemble'
            )
    every = max(1, min(10, int((tau or 1.0) / (20 * control.timestep))))
    lines.append(f"coupling_every = {every}")
    return lines
