# %% [markdown]
# # A salt solution and its structure
#
# Sodium chloride in water, from nothing to radial distribution functions, in one process of Python: OpenMM's force
# field puts ions and waters into a box, Tessera minimises and runs it, and NumPy counts neighbours.
#
# `jupytext --to notebook salt_solution.py` makes a notebook of this file; each `# %%` is a cell.
# `TESSERA_STUDY=short` is
# a run of seconds that shows that all of it works; the figures of a study need the lengths below.

# %%
import os

import numpy as np
import openmm.app as app
import openmm.unit as unit
from MDAnalysis.lib.distances import capped_distance

import tessera

IS_SHORT = os.environ.get("TESSERA_STUDY") == "short"
EDGE = 2.4 if IS_SHORT else 4.0  # nm
CONCENTRATION = 1.0  # mol/l
SETTLE, STEPS, EVERY = (100, 300, 25) if IS_SHORT else (25_000, 250_000, 250)  # of 2 fs
FARTHEST, WIDTH = 8.0, 0.1  # Å: how far, and how finely, neighbours are counted

# %% [markdown]
# ## The system
#
# TIP3P with the ions of Joung and Cheatham, as `amber14/tip3p.xml` has them; `prepare_openmm` converts each force.

# %%
field = app.ForceField("amber14/tip3p.xml")
modeller = app.Modeller(app.Topology(), [])
modeller.addSolvent(field, boxSize=(EDGE,) * 3 * unit.nanometer, ionicStrength=CONCENTRATION * unit.molar)
system = tessera.prepare_openmm(
    field.createSystem(modeller.topology, nonbondedMethod=app.PME), modeller.topology, modeller.positions
)
name = np.array([atom.element.symbol for atom in modeller.topology.atoms()])
print({element: int((name == element).sum()) for element in ("Na", "Cl", "O")})

# %% [markdown]
# ## The run
#
# Overlaps go first. Then 1 bar and 298 K by Bussi's bath and stochastic cell rescaling; the volume settles before
# anything is counted.

# %%
settings = {
    "interactions": {"cutoff": 9.0},
    "dynamics": {"ensemble": "npt", "temperature": 298.0, "pressure": 1.0, "velocities": "generate"},
}
sim = tessera.Simulation(system, settings)
sim.minimize(max_force=20)
sim.step(SETTLE)

# %% [markdown]
# ## Neighbours
#
# g(r) is the number of pairs at a distance, over that of particles without any structure at the same density. A hook
# sees every frame, so no trajectory is written.

# %%
edges = np.arange(0.0, FARTHEST + WIDTH / 2, WIDTH)
middle, shell = (edges[1:] + edges[:-1]) / 2, 4 / 3 * np.pi * np.diff(edges**3)
PAIRS = {"O–O": ("O", "O"), "Na–O": ("Na", "O"), "Cl–O": ("Cl", "O"), "Na–Cl": ("Na", "Cl")}
found = {pair: np.zeros(len(middle)) for pair in PAIRS}
frames = 0


def count(sim: tessera.Simulation) -> None:
    """Adds g(r) of this frame."""
    global frames
    frames += 1
    box = np.array([*np.diag(sim.box), 90.0, 90.0, 90.0], np.float32)
    positions = sim.positions.astype(np.float32)
    for pair, (one, other) in PAIRS.items():
        a, b = positions[name == one], positions[name == other]
        _, distance = capped_distance(a, b, FARTHEST, min_cutoff=0.01, box=box)
        density = len(b) / np.prod(box[:3])
        found[pair] += np.histogram(distance, edges)[0] / (len(a) * density * shell)


sim.add_hook(count, every=EVERY)
sim.step(STEPS)
g = {pair: total / frames for pair, total in found.items()}

# %% [markdown]
# ## What came out
#
# Water's oxygens are nearest at 2.8 Å, a sodium's at 2.4 Å and a chloride's at 3.2 Å; the number in the first shell is
# the sum of the pairs up to the minimum after it.

# %%
FIRST_MINIMUM = {"O–O": 3.4, "Na–O": 3.2, "Cl–O": 3.9}  # Å
volume = float(np.prod(np.diag(sim.box)))
for pair, minimum in FIRST_MINIMUM.items():
    inside = middle < minimum
    nearest = middle[inside][g[pair][inside].argmax()]
    neighbours = float((g[pair] * shell)[inside].sum() * (name == PAIRS[pair][1]).sum() / volume)
    print(f"{pair}: nearest at {nearest:.2f} Å, {neighbours:.1f} in the first shell")

# %%
NEAREST = {"O–O": (2.6, 2.95), "Na–O": (2.2, 2.6), "Cl–O": (2.95, 3.4)}  # Å: of any run, however short
for pair, (low, high) in NEAREST.items():
    assert low < middle[middle < FIRST_MINIMUM[pair]][g[pair][middle < FIRST_MINIMUM[pair]].argmax()] < high, pair
