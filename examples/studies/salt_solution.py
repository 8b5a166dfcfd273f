# %% [markdown]
# # A salt solution and its structure
#
# Sodium chloride in water, from nothing to radial distribution functions, in one process of Python: OpenMM's force
# field puts ions and waters into a box, Tessera minimises and runs it, and NumPy counts neighbours. What you learn: a
# system without any file, baths for temperature and pressure, and radial distribution functions by a hook.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import openmm.app as app
import openmm.unit as unit
from MDAnalysis.lib.distances import capped_distance

import tessera

STUDY = os.environ.get("TESSERA_STUDY", "whole")
EDGE, SETTLE, STEPS, EVERY = {  # nm, and steps of 2 fs; the last: between frames
    "short": (2.4, 100, 300, 25),
    "minutes": (3.0, 5_000, 25_000, 50),
    "whole": (4.0, 25_000, 250_000, 250),
}[STUDY]
CONCENTRATION = 1.0  # mol/l
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
sim = tessera.Simulation(system, settings, threads=len(os.sched_getaffinity(0)))
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
figure, axes = plt.subplots(
    figsize=(7, 4),
    layout="constrained",
    num="Radial distribution functions: first shells of sodium, of chloride and of water",
)
for pair, values in g.items():
    axes.plot(middle, values, label=pair)
axes.axhline(1.0, color="grey", lw=0.8)
axes.set(xlabel="distance (Å)", ylabel="g(r)", xlim=(2, FARTHEST), ylim=(0, None))
axes.legend(frameon=False)
figure.savefig("salt_solution.png", dpi=150)

# %% [markdown]
# ## How long it takes
#
# Waters around waters are soon counted, as there are many. Pairs of ions are few, and form and part within some
# hundred picoseconds, so the curve of Na–Cl needs nanoseconds, and a box in which ions are further apart than they
# attract each other: 4 nm and 0.5 ns are a beginning, 6 nm and 20 ns what one reports.

# %%
NEAREST = {"O–O": (2.6, 2.95), "Na–O": (2.2, 2.6), "Cl–O": (2.95, 3.4)}  # Å: of any run, however short
for pair, (low, high) in NEAREST.items():
    assert low < middle[middle < FIRST_MINIMUM[pair]][g[pair][middle < FIRST_MINIMUM[pair]].argmax()] < high, pair
