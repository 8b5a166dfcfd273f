# %% [markdown]
# # A protein from its PDB file to the motion of its residues
#
# The headpiece of villin, 35 residues in three helices, gets hydrogens, water and salt, is held, let go and followed;
# its trajectory tells how far each residue strays from its mean place (RMSF). What you learn: the way from a file of
# the Protein Data Bank to a trajectory that MDAnalysis reads, and how to see whether the run was long enough.

# %%
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import MDAnalysis
import numpy as np
import openmm.app as app
from MDAnalysis.analysis import align, rms
from MDAnalysis.analysis.dssp import DSSP

import tessera
import tessera.system
import tessera.traj
from tessera.prepare.pdb import prepare_pdb

STUDY = os.environ.get("TESSERA_STUDY", "whole")
THREADS = len(os.sched_getaffinity(0))
PADDING, HELD, FREE, STEPS, EVERY = {  # Å of water around the protein, and steps of 4 fs; the last: between frames
    "short": (6.0, 50, 50, 200, 10),
    "minutes": (8.0, 1_250, 1_250, 12_500, 25),
    "whole": (10.0, 25_000, 100_000, 5_000_000, 1_000),
}[STUDY]
TIMESTEP = 4.0  # fs

# %% [markdown]
# ## The file
#
# Any file of the data bank may stand here. This one comes from the tests of OpenMM; its hydrogens and waters are left
# out, as a file from a crystal has none or few of them.

# %%
found = app.PDBFile(str(Path(app.__file__).parent / "data" / "test.pdb"))
modeller = app.Modeller(found.topology, found.positions)
of_protein = {atom.residue for atom in modeller.topology.atoms() if atom.name == "CA"}
modeller.delete(
    [one for one in modeller.topology.atoms() if one.residue not in of_protein or one.element.symbol == "H"]
)
for residue in modeller.topology.residues():
    residue.name = residue.name.replace("HIE", "HIS")  # where its hydrogen goes is decided with the others
with open("villin.pdb", "w") as file:
    app.PDBFile.writeFile(modeller.topology, modeller.positions, file)
print(f"{modeller.topology.getNumResidues()} residues, {modeller.topology.getNumAtoms()} atoms without hydrogens")

# %% [markdown]
# ## The system
#
# AMBER's ff14SB and TIP3P, hydrogens for pH 7, and salt of 0.15 mol/l, in a truncated octahedron, which needs three
# quarters of the water of a cube. On the command line this is `tessera prepare pdb villin.pdb --force-field amber14
# --box-shape octahedron -o villin.tsr`.

# %%
system = prepare_pdb("villin.pdb", "amber14", padding=PADDING, box_shape="octahedron", relax_steps=0)
tessera.system.write(system, "villin.tsr")
print(*system.notes, sep="\n")

# %% [markdown]
# ## Held, then free
#
# The water around the protein has been put there by a program, and pushes. Springs hold the heavy atoms of the protein
# while the water finds its density, and get weaker until there are none. Hydrogens of 3 amu allow steps of 4 fs.

# %%
BATHS = {"ensemble": "npt", "temperature": 300.0, "pressure": 1.0, "timestep": TIMESTEP, "hydrogen_mass": 3.0}
held_ps = HELD * TIMESTEP / 1000
springs = {"kind": "position", "select": "protein and not name H*", "k": [[0.0, 2.0], [held_ps, 0.0]]}
sim = tessera.Simulation(
    "villin.tsr", {"dynamics": {**BATHS, "velocities": "generate"}, "restraint": [springs]}, threads=THREADS
)
print(sim.minimize(max_force=20))
sim.step(HELD + FREE)
sim.save(".")
print(f"{sim.energies['temperature']:.0f} K after {sim.time:.1f} ps")

# %% [markdown]
# ## The run
#
# It starts where the other ended, without springs, and writes the protein alone: the water would be nine tenths of the
# file.

# %%
settings = {
    "dynamics": {**BATHS, "steps": STEPS},
    "output": {"folder": "run", "selection": [{"name": "protein", "select": "protein", "every": EVERY}]},
}
tessera.Simulation("villin.tsr", settings, threads=THREADS, start=".").run()
export = ["export", "villin.tsr", "--select", "protein", "-o", "protein.pdb", "--force"]
subprocess.run([sys.executable, "-m", "tessera", *export], check=True, capture_output=True)
universe = MDAnalysis.Universe("protein.pdb", "run/protein.segments", in_memory=True)
print(f"{len(universe.trajectory)} frames of {len(universe.atoms)} atoms")

# %% [markdown]
# ## Motion of residues
#
# Each frame is turned onto the mean structure first, so that the tumbling of the whole does not count. Two halves of
# the run show what is known: where they differ as much as residues do, the run was too short.

# %%
align.AlignTraj(universe, universe, select="name CA", in_memory=True).run()
mean = align.AverageStructure(universe, select="name CA").run().results.universe
align.AlignTraj(universe, mean, select="name CA", in_memory=True).run()
ca, frames = universe.select_atoms("name CA"), len(universe.trajectory)
rmsf = rms.RMSF(ca).run().results.rmsf  # Å
halves = [rms.RMSF(ca).run(start=start, stop=start + frames // 2).results.rmsf for start in (0, frames // 2)]
universe.trajectory[0]
strayed = rms.RMSD(universe, select="name CA").run().results.rmsd  # frame, ps, Å
helix = DSSP(universe).run().results.dssp_ndarray[:, :, 1].mean(axis=0)  # share of frames

inside = helix > 0.5
print(f"{inside.sum()} of {len(ca)} residues are in helices in most frames")
print(f"RMSF in helices {rmsf[inside].mean():.2f} Å, outside {rmsf[~inside].mean():.2f} Å")
print(f"the two halves of the run differ by {np.abs(halves[0] - halves[1]).mean():.2f} Å")
print(f"most mobile: {', '.join(f'{ca.resnames[i].title()} {ca.resids[i]}' for i in rmsf.argsort()[:-4:-1])}")

# %%
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.6), layout="constrained", num="Left: distance from the start by time. Right: RMSF by residue"
)
left.plot(strayed[:, 1], strayed[:, 2])
left.set(xlabel="time (ps)", ylabel="RMSD of Cα from the first frame (Å)", ylim=(0, None))
right.plot(ca.resids, rmsf, "o-", label="whole run", zorder=3)
for half, name in zip(halves, ("first half", "second half")):
    right.plot(ca.resids, half, lw=0.8, label=name)
right.fill_between(ca.resids, 0, 1, where=inside, step="mid", alpha=0.15, transform=right.get_xaxis_transform())
right.set(xlabel="residue (shaded: helix)", ylabel="RMSF of Cα (Å)", ylim=(0, None))
right.legend(frameon=False)
figure.savefig("protein.png", dpi=150)

# %% [markdown]
# ## How long it takes
#
# Side chains turn in tens of picoseconds, loops in nanoseconds, and the ends of this chain fray in some tens of
# nanoseconds: only then do the halves agree. Three runs of 100 ns from different `dynamics.seed` are what one reports.
# Crystals give B = 8π²/3 · RMSF², in which the disorder of the crystal counts too.

# %%
assert inside.sum() >= 15 and rmsf.max() < 10 and strayed[:, 2].max() < 10  # of any run: folded, and in one piece
