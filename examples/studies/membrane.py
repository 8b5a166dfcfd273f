# %% [markdown]
# # A membrane, its area and its thickness
#
# A bilayer of 128 POPC in water, without surface tension: the area of a lipid, the distance of the two layers of
# phosphorus, the density of electrons across the membrane, and the order of a chain. What you learn: pressure along
# and across a membrane, and profiles from a hook, without a trajectory.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import openmm.app as app
import openmm.unit as unit

import tessera

STUDY = os.environ.get("TESSERA_STUDY", "whole")
SETTLE, STEPS, EVERY = {  # steps of 4 fs; the last: between frames
    "short": (20, 40, 10),
    "minutes": (1_250, 5_000, 25),
    "whole": (250_000, 5_000_000, 500),
}[STUDY]

# %% [markdown]
# ## The system
#
# OpenMM comes with a patch of POPC that has been equilibrated, and with AMBER's Lipid17; `prepare_openmm` converts
# each force. For a protein in a membrane, `Modeller.addMembrane` puts such patches around it.

# %%
patch = app.PDBFile(str(Path(app.__file__).parent / "data" / "POPC.pdb"))
field = app.ForceField("amber14/lipid17.xml", "amber14/tip3p.xml")
system = tessera.prepare_openmm(
    field.createSystem(
        patch.topology, nonbondedMethod=app.PME, nonbondedCutoff=1.0 * unit.nanometer, constraints=app.HBonds
    ),
    patch.topology,
    patch.positions,
)
atoms = list(patch.topology.atoms())
element = np.array([atom.element.atomic_number for atom in atoms])
name = np.array([atom.name for atom in atoms])
is_lipid = np.array([atom.residue.name == "POP" for atom in atoms])
lipids = int((element == 15).sum())
print(f"{lipids} lipids, {(~is_lipid).sum() // 3:,} waters, {len(atoms):,} atoms")

# %% [markdown]
# ## The run
#
# `semi-isotropic` lets the two edges along the membrane change together and the third by itself, each at 1 bar: there
# is no surface tension, as in a vesicle. 303 K is above the melting point of POPC.

# %%
settings = {
    "interactions": {"cutoff": 10.0},
    "dynamics": {
        "ensemble": "npt",
        "coupling": "semi-isotropic",
        "temperature": 303.0,
        "pressure": 1.0,
        "tau_p": 2.0,
        "timestep": 4.0,
        "hydrogen_mass": 3.0,
        "velocities": "generate",
    },
}
sim = tessera.Simulation(system, settings, threads=len(os.sched_getaffinity(0)))
print(sim.minimize(max_force=50))
sim.step(SETTLE)

# %% [markdown]
# ## Profiles
#
# Heights count from the middle of the lipids, which is found by the angle that a height is of the box's: so it does
# not matter which image of an atom is in the box. The bonds of C–H along the chain give its order, S = ½⟨3 cos² θ − 1⟩
# with the angle θ to the normal of the membrane, as NMR of deuterium measures it.

# %%
edges = np.linspace(-35.0, 35.0, 141)  # Å
middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
GROUPS = {
    "water": ~is_lipid,
    "head groups": is_lipid & np.isin(name, ["N", "P", "O11", "O12", "O13", "O14"]),
    "all lipid": is_lipid,
    "all": np.ones(len(atoms), bool),
}
CHAIN = range(2, 17)  # carbons of the palmitoyl chain, whose first one has no hydrogen
pairs = [sorted(bond, key=lambda atom: atom.element.symbol) for bond in patch.topology.bonds()]
of_carbon = {f"C3{number}": number for number in CHAIN}
found = [(of_carbon[c.name], c.index, h.index) for c, h in pairs if h.element.symbol == "H" and c.name in of_carbon]
carbon, c, h = np.array(found).T

electrons = {group: np.zeros(len(middle)) for group in GROUPS}
order = np.zeros(len(CHAIN))
areas, thicknesses, times = [], [], []


def measure(sim: tessera.Simulation) -> None:
    """Adds this frame to the profiles and to the order, and notes its area and thickness."""
    position, edge = sim.positions, np.diag(sim.box)
    turns = np.exp(2j * np.pi * position[:, 2] / edge[2])
    height = np.angle(turns / turns[is_lipid].mean()) * edge[2] / (2 * np.pi)
    for group, members in GROUPS.items():
        counted = np.histogram(height[members], edges, weights=element[members])[0]
        electrons[group] += counted / (edge[0] * edge[1] * width)
    bond = position[h] - position[c]
    bond -= edge * np.rint(bond / edge)
    second = 1.5 * bond[:, 2] ** 2 / (bond**2).sum(axis=1) - 0.5
    order[:] += np.bincount(carbon, second)[CHAIN.start :] / np.bincount(carbon)[CHAIN.start :]
    layers = height[element == 15]
    areas.append(edge[0] * edge[1] / (lipids / 2))
    thicknesses.append(layers[layers > 0].mean() - layers[layers < 0].mean())
    times.append(sim.time)


sim.add_hook(measure, every=EVERY)
sim.step(STEPS)
for total in (*electrons.values(), order):
    total /= len(times)

# %% [markdown]
# ## What came out
#
# Errors are those of five blocks of the run. They are too small where the run is shorter than what the area needs to
# change.


# %%
def with_error(values: list[float]) -> str:
    """Returns the mean of the values (n,) and its standard error by up to five blocks."""
    blocks = np.array([block.mean() for block in np.array_split(values, min(5, len(values)))])
    return f"{blocks.mean():.2f} ± {blocks.std(ddof=1) / len(blocks) ** 0.5:.2f}"


symmetric = (electrons["all"] + electrons["all"][::-1]) / 2
peaks = 2 * abs(middle[symmetric.argmax()])
print(f"{len(times)} frames in {times[-1] - times[0]:.1f} ps at {sim.energies['temperature']:.0f} K")
print(f"area of a lipid            {with_error(areas)} Å²")
print(f"between phosphorus layers  {with_error(thicknesses)} Å")
print(f"between peaks of electrons {peaks:.1f} Å")
print(f"order of the chain at its carbons 5 to 8: {-order[3:7].mean():.2f}, at its end: {-order[-1]:.2f}")

# %%
figure, (left, right) = plt.subplots(
    1,
    2,
    figsize=(9, 3.6),
    layout="constrained",
    width_ratios=(3, 2),
    num="Left: electrons across the membrane, with peaks at the head groups and a dip in the middle. Right: order of "
    "the palmitoyl chain by carbon",
)
for group, profile in electrons.items():
    left.plot(middle, profile, color="black" if group == "all" else None, label=group)
left.set(xlabel="height above the middle (Å)", ylabel="electrons (Å⁻³)", ylim=(0, None))
left.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
right.plot(CHAIN, -order, "o-")
right.set(xlabel="carbon of the palmitoyl chain", ylabel="order −S(CD)", ylim=(0, None))
figure.savefig("membrane.png", dpi=150)

# %% [markdown]
# ## How long it takes
#
# Chains turn within some hundred picoseconds, so the profile and the order are soon right. The area breathes over tens
# of nanoseconds: Dickson et al. (2014) averaged over more than 100 ns to find 65.6 Å² with nearly this force field, at
# 303 K. The run here began in an equilibrated patch; from a membrane built by hand, leave out as much at the start.

# %%
assert 60 < np.mean(areas) < 72 and 33 < np.mean(thicknesses) < 42  # of any run, however short
assert electrons["all lipid"][np.abs(middle) < 8].min() > 5 * electrons["water"][np.abs(middle) < 8].max()
