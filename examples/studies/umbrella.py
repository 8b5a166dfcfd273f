# %% [markdown]
# # Umbrella sampling: what it costs to part two ions
#
# A sodium and a chloride in water, held at one distance after another by a spring; the weighted histogram analysis
# method puts the windows together into the free energy along the distance. What you learn: restraints whose target
# moves, the equations of WHAM in ten lines, and how to see whether windows overlap and whether they were long enough.

# %%
import itertools
import os

import matplotlib.pyplot as plt
import numpy as np
import openmm.app as app
import openmm.unit as unit

import tessera

STUDY = os.environ.get("TESSERA_STUDY", "whole")
EDGE = 2.0 if STUDY == "short" else 2.6  # nm
TARGETS = np.arange(2.6, 3.9 if STUDY == "short" else 8.3, 0.3)  # Å
MOVE, SETTLE, STEPS, EVERY = {  # of each window, steps of 2 fs; the last: between samples
    "short": (25, 25, 150, 2),
    "minutes": (250, 750, 5_000, 5),
    "whole": (2_500, 10_000, 250_000, 10),
}[STUDY]
K = 8.0  # kcal/mol/Å², of K·d²: without a factor ½
TEMPERATURE = 300.0  # K
KT = 0.0019872043 * TEMPERATURE  # kcal/mol
COULOMB = 332.0637  # kcal/mol·Å, two elementary charges in a vacuum

# %% [markdown]
# ## The system
#
# Two ions of Joung and Cheatham in TIP3P, as `amber14/tip3p.xml` has them.

# %%
field = app.ForceField("amber14/tip3p.xml")
topology = app.Topology()
chain = topology.addChain()
for name, element in (("NA", app.element.sodium), ("CL", app.element.chlorine)):
    topology.addAtom(name, element, topology.addResidue(name, chain))
places = [(0.0, 0.0, 0.0), (TARGETS[0] / 10, 0.0, 0.0)] * unit.nanometer
modeller = app.Modeller(topology, places)
modeller.addSolvent(field, boxSize=(EDGE,) * 3 * unit.nanometer, neutralize=False)
system = tessera.prepare_openmm(
    field.createSystem(modeller.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer),
    modeller.topology,
    modeller.positions,
)
sodium, chloride = (
    next(atom.index for atom in modeller.topology.atoms() if atom.element.symbol == symbol) for symbol in ("Na", "Cl")
)

# %% [markdown]
# ## The windows
#
# One run goes through all of them: a `target` may be a list of times and distances, which here is a staircase. So each
# window starts from the end of the one before, and nothing is torn. A hook notes the distance where the target stands
# still. With `tessera run`, windows are runs of their own, each from the end of another by `input.start`.

# %%
TIMESTEP = 2.0  # fs
whole = (MOVE + SETTLE + STEPS) * TIMESTEP / 1000  # ps
stairs = []
for window, target in enumerate(TARGETS):
    stairs += [[whole * window + MOVE * TIMESTEP / 1000, float(target)], [whole * (window + 1), float(target)]]
spring = {"kind": "distance", "groups": [f"index {sodium}", f"index {chloride}"], "k": K, "target": stairs}
settings = {
    "interactions": {"cutoff": 9.0},
    "dynamics": {"ensemble": "nvt", "temperature": TEMPERATURE, "timestep": TIMESTEP, "velocities": "generate"},
    "restraint": [spring],
}
sim = tessera.Simulation(system, settings, threads=len(os.sched_getaffinity(0)))
sim.minimize(max_force=20)

distances: list[float] = []


def measure(sim: tessera.Simulation) -> None:
    """Notes the distance of the ions."""
    ions = sim.positions[[sodium, chloride]]
    apart, edge = ions[1] - ions[0], np.diag(sim.box)
    distances.append(float(np.linalg.norm(apart - edge * np.rint(apart / edge))))


samples = []
sim.add_hook(measure, every=EVERY)
for _ in TARGETS:
    sim.step(MOVE + SETTLE)
    distances.clear()
    sim.step(STEPS)
    samples.append(np.array(distances))
print(f"{len(TARGETS)} windows of {STEPS * TIMESTEP / 1000:g} ps, {len(samples[0])} samples each")

# %% [markdown]
# ## Putting windows together
#
# The share of each distance without springs, and the free energy of each window, follow from each other (Kumar et al.
# 1992); they are repeated until nothing changes. At larger distances there is more room, 4πr², which is taken away:
# what is left is the potential of mean force. Its zero is that of two charges in water at the largest distance, where
# the ions no longer feel single waters.

# %%
PERMITTIVITY = 94.0  # of TIP3P at 300 K
edges = np.arange(min(map(np.min, samples)), max(map(np.max, samples)), 0.1)
middle = (edges[1:] + edges[:-1]) / 2
bias = np.exp(-K * (middle - TARGETS[:, None]) ** 2 / KT)  # (windows, bins)


def mean_force_potential(samples: list[np.ndarray]) -> np.ndarray:
    """Returns the potential of mean force (bins,) in kcal/mol, from the distances of each window in Å; NaN where there
    are none."""
    counts = np.sum([np.histogram(one, edges)[0] for one in samples], axis=0)
    number = np.array([len(one) for one in samples])
    weight = np.ones(len(samples))  # of each window, the exponential of its free energy
    for _ in range(100_000):
        share = counts / ((number * weight) @ bias)
        new = 1 / (bias @ share)
        done = np.abs(np.log(new / weight) - np.log(new[0] / weight[0])).max() < 1e-7
        weight = new / new[0]
        if done:
            break
    with np.errstate(divide="ignore"):
        potential = -KT * np.log(np.where(share > 0, share, np.nan) / middle**2)
    far = middle > middle[-1] - 1.0
    return potential - np.nanmean((potential + COULOMB / (PERMITTIVITY * middle))[far])


potential = mean_force_potential(samples)
parts = [mean_force_potential([np.array_split(one, 4)[part] for one in samples]) for part in range(4)]
error = np.std(parts, axis=0, ddof=1) / 2  # of the mean of four parts
shares = [np.histogram(one, edges)[0] / len(one) for one in samples]
overlap = [np.minimum(one, other).sum() for one, other in itertools.pairwise(shares)]

# %% [markdown]
# ## What came out
#
# Ions touch, or have one layer of water between them; a barrier of the water that has to leave is between.
# Neighbouring windows have to share samples: below some hundredths, the two sides of a gap are not known relative to
# each other.

# %%
touching = middle < 3.4
contact = np.nanargmin(np.where(touching, potential, np.nan))
print(f"touching at {middle[contact]:.2f} Å: {potential[contact]:.1f} ± {error[contact]:.1f} kcal/mol")
print(f"least share that two neighbouring windows have in common: {min(overlap):.2f}")
if STUDY != "short":
    barrier = np.nanargmax(np.where((middle > 3.2) & (middle < 4.5), potential, np.nan))
    apart = np.nanargmin(np.where((middle > middle[barrier]) & (middle < 6.0), potential, np.nan))
    print(f"barrier at {middle[barrier]:.2f} Å: {potential[barrier]:.1f} ± {error[barrier]:.1f} kcal/mol")
    print(f"a water between at {middle[apart]:.2f} Å: {potential[apart]:.1f} ± {error[apart]:.1f} kcal/mol")

# %%
figure, (above, below) = plt.subplots(
    2,
    1,
    figsize=(7, 5),
    sharex=True,
    layout="constrained",
    height_ratios=(2, 1),
    num="Above: potential of mean force by distance, with a contact, a barrier and a minimum with water between. "
    "Below: samples of each window, which overlap",
)
above.plot(middle, potential, color="black", label="potential of mean force")
above.fill_between(middle, potential - error, potential + error, alpha=0.3, label="standard error of four parts")
above.plot(middle, -COULOMB / (PERMITTIVITY * middle), "--", label="two charges in a medium")
above.set(ylabel="free energy (kcal/mol)")
above.legend(frameon=False)
for one in samples:
    below.hist(one, edges, histtype="stepfilled", alpha=0.5)
below.set(xlabel="distance Na–Cl (Å)", ylabel="samples")
figure.savefig("umbrella.png", dpi=150)

# %% [markdown]
# ## How long it takes
#
# Water around an ion is exchanged in tens of picoseconds, and a window must see this many times: 0.5 ns of each, which
# is this study without `TESSERA_STUDY`, is fifty times 10 ps, and so the errors are a seventh of those of
# `TESSERA_STUDY=minutes`. Where something slower than the distance moves, such as a loop of a protein, windows that
# overlap and have small errors by parts may still be wrong; compare a way out with a way back.

# %%
assert 2.4 < middle[contact] < 3.1 and min(overlap) > 0.01  # of any run, however short
