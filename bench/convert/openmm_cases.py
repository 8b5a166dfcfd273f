"""Systems that OpenMM reads and calculates here: its XML is converted and prepared, and the energies are compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.constants import KJ


@dataclass(frozen=True)
class OpenmmCase:
    """A prmtop with coordinates in the data sets, and options of `createSystem`."""

    title: str
    prmtop: str
    inpcrd: str
    cutoff: float  # nm
    switch: float | None = None  # nm
    tolerance: float = 5e-4

    def write(self, data: Path, folder: Path) -> float:
        """Writes system.xml, integrator.xml and state.xml; returns the potential energy by OpenMM's Reference platform
        in kcal/mol."""
        import openmm
        from openmm import app, unit

        prmtop = app.AmberPrmtopFile(str(data / self.prmtop))
        places = app.AmberInpcrdFile(str(data / self.inpcrd))
        options: dict[str, Any] = {} if self.switch is None else {"switchDistance": self.switch * unit.nanometer}
        system = prmtop.createSystem(
            nonbondedMethod=app.PME,
            nonbondedCutoff=self.cutoff * unit.nanometer,
            ewaldErrorTolerance=self.tolerance,
            constraints=app.HBonds,
            **options,
        )
        if places.boxVectors is not None:
            system.setDefaultPeriodicBoxVectors(*places.boxVectors)
        integrator = openmm.LangevinMiddleIntegrator(300, 1, 0.002)
        platform = openmm.Platform.getPlatformByName("Reference")
        context = openmm.Context(system, integrator, platform)
        context.setPositions(places.positions)
        state = context.getState(getEnergy=True, getPositions=True)
        for name, one in {"system": system, "integrator": integrator, "state": state}.items():
            (folder / f"{name}.xml").write_text(openmm.XmlSerializer.serialize(one))
        return float(state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)) * KJ


_SMALL, _DHFR = "openmm_systems/alanine-dipeptide-explicit", "dhfr/openmm_amber/dhfr_ff99sb"
CASES = (
    OpenmmCase("alanine dipeptide in water", f"{_SMALL}.prmtop", f"{_SMALL}.inpcrd", 0.9),
    OpenmmCase("alanine dipeptide, switched", f"{_SMALL}.prmtop", f"{_SMALL}.inpcrd", 0.9, 0.75, 1e-5),
    OpenmmCase("DHFR", f"{_DHFR}.prmtop", f"{_DHFR}.inpcrd", 0.9),
)
