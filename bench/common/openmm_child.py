"""Does one timed run of OpenMM: `openmm_child.py FOLDER STEPS THREADS` prints its seconds as JSON."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import openmm
from openmm import unit

TIMESTEP = 0.002  # ps
WARM_UP = 5  # steps


def main() -> None:
    folder, steps, threads = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    integrator = openmm.VerletIntegrator(TIMESTEP * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("CPU")
    context = openmm.Context(system, integrator, platform, {"Threads": threads})
    context.setPositions(np.load(folder / "positions.npy") * unit.nanometer)
    context.applyConstraints(1e-6)
    potential = context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilocalorie_per_mole)
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    integrator.step(WARM_UP)
    begin = time.perf_counter()
    integrator.step(steps)
    context.getState(getEnergy=True)  # waits for the last step
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "initial_potential": potential}))


main()
