"""Defines what a CONTROL says, in either style."""

from __future__ import annotations

from dataclasses import dataclass, field

from tessera.prepare.dlpoly.units import KATM


@dataclass
class Control:
    """What a CONTROL says about a run: times in ps, distances in Å, pressures in bar."""

    name: str
    temperature: float = 0.0
    pressure: float = KATM / 1000  # 1 atm
    cutoff: float = 0.0
    vdw: float = 0.0  # 0: as the cut-off
    timestep: float = 0.0
    steps: int = 0
    equilibration: int = 0
    ensemble: str = "nve"
    method: str = ""
    tau_t: float = 0.0
    tau_p: float = 0.0
    friction: float = 0.0  # 1/ps
    electrostatics: str = "ewald"  # or "off", "cut"
    precision: float = 0.0  # of Ewald's sum
    alpha: float = 0.0  # 1/Å
    restart: str = "clean"  # clean, continue, scale, noscale
    stats_every: int = 100
    trajectory_every: int = 0
    dump_every: int = 1000
    removes_momentum: bool = True
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)  # directives that concern DL_POLY alone
    files: dict[str, str] = field(default_factory=dict)  # names in place of CONFIG, FIELD and TABLE

    @property
    def vdw_cutoff(self) -> float:
        """Returns where pair potentials end."""
        return self.vdw or self.cutoff or 12.0

    @property
    def scales_velocities(self) -> bool:
        """Tells whether velocities of CONFIG are scaled to the temperature."""
        return self.restart == "scale"


def instead(key: str) -> str:
    """Returns what a message adds about a directive that is refused."""
    return {
        "rescale_frequency": ': remove it, and equilibrate with ensemble = "nvt"',
        "scale": ': remove it, and equilibrate with ensemble = "nvt"',
        "nfold": ": use tessera replicate",
        "minimisation_criterion": ": use tessera minimize",
        "minim": ": use tessera minimize",
        "optim": ": use tessera minimize",
        "zero": ": use tessera minimize",
        "ignore_config_indices": ": remove the indices from CONFIG",
    }.get(key, "")
