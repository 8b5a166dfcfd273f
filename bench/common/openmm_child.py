"""Does one timed run of OpenMM: `openmm_child.py FOLDER STEPS THREADS` prints its seconds as JSON.

With 0 threads it runs on a GPU, by CUDA and in mixed precision, at constant temperature (Langevin)."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import openmm
from openmm import unit

TIMESTEP = 0.002  # ps
WARM_UP, WARM_UP_ON_GPU = 5, 500  # steps


def main() -> None:
    folder, steps, threads = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    on_gpu = threads == "0"
    step = TIMESTEP * unit.picosecond
    if on_gpu:
        integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, step)
    else:
        integrator = openmm.VerletIntegrator(step)
    platform = openmm.Platform.getPlatformByName("CUDA" if on_gpu else "CPU")
    properties = {"Precision": "mixed"} if on_gpu else {"Threads": threads}
    context = openmm.Context(system, integrator, platform, properties)
    context.setPositions(np.load(folder / "positions.npy") * unit.nanometer)
    context.applyConstraints(1e-6)
    potential = context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilocalorie_per_mole)
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    integrator.step(WARM_UP_ON_GPU if on_gpu else WARM_UP)
    begin = time.perf_counter()
    integrator.step(steps)
    context.getState(getEnergy=True)  # waits for the last step
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "initial_potential": potential}))


main()
