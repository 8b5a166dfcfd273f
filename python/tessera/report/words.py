"""Says in sentences what the settings of a run mean, as a reader would write them into a paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tessera.printing import are, counted

Settings = dict[str, Any]

_LJ = {
    "cut": "are cut off at {cutoff:g} Å",
    "potential-switch": "go to zero from {switch:g} to {cutoff:g} Å by a switch of their energies",
    "force-switch": "go to zero from {switch:g} to {cutoff:g} Å by a switch of their forces",
    "force-switch-gromacs": "go to zero from {switch:g} to {cutoff:g} Å by a switch of their forces, that of GROMACS",
    "quintic-switch": "go to zero from {switch:g} to {cutoff:g} Å by a quintic polynomial",
    "pme": "are summed over all distances by particle-mesh Ewald, directly up to {cutoff:g} Å",
}
_COULOMB = {
    "cut": "are cut off at {cutoff:g} Å",
    "shift": "are cut off at {cutoff:g} Å, with shifted forces",
    "force-switch": "go to zero from {coulomb_switch:g} to {cutoff:g} Å by a switch of their forces",
}
_CONSTRAINTS = {
    "none": "No bond has a fixed length.",
    "h-bonds": "Bonds to hydrogens have fixed lengths, and waters are rigid where they are in their model.",
    "all-bonds": "All bonds have fixed lengths, and waters are rigid where they are in their model.",
}
_INTEGRATORS = {"velocity-verlet": "velocity Verlet", "leapfrog": "leapfrog"}
_THERMOSTATS = {
    "bussi": "stochastic velocity rescaling",
    "nose-hoover": "a chain of {chain} Nosé–Hoover variables",
    "langevin": "Langevin dynamics",
    "berendsen": "weak coupling, which samples no ensemble",
}
_BAROSTATS = {
    "c-rescale": "stochastic cell rescaling",
    "mtk": "the equations of Martyna, Tobias and Klein",
    "monte-carlo": "Monte Carlo trials of the box, one in {monte_carlo_every} steps",
    "berendsen": "weak coupling, which samples no ensemble",
}
_COUPLINGS = {
    "isotropic": "all edges of the box change together",
    "semi-isotropic": "x and y of the box change together, z by itself",
    "anisotropic": "each edge of the box changes by itself",
    "constant-area": "z of the box alone changes",
}


def sentences(settings: Settings, kind: str = "dynamics") -> Iterator[str]:
    """Yields what the settings of a run or a stage of this kind say; a value that has no words here stands as it is."""
    yield from _interactions({**settings.get("interactions", {}), **_of(settings, "pme")})
    dynamics = settings.get("dynamics", {})
    if kind == "minimize":
        minimize = settings.get("minimize", {})
        yield (
            f"The potential energy is minimised until no atom feels more than {minimize.get('max_force', 0):g} "
            f"kcal/mol/Å, or for {minimize.get('steps', 0):,} moves."
        )
        yield _named(_CONSTRAINTS, dynamics, "constraints")
    else:
        yield from _motion(dynamics, settings.get("bath", []))
    yield from _held(settings.get("restraint", []), dynamics)
    parallel = settings.get("parallel", {})
    if parallel.get("precision") == "double":
        yield "The direct sum is done in double precision."


def _of(settings: Settings, section: str) -> Settings:
    """Returns the keys of a section with its name before each."""
    return {f"{section}.{key}": value for key, value in settings.get(section, {}).items()}


def _named(words: dict[str, str], values: Settings, key: str) -> str:
    """Returns the words for the value of a key, with other values put into them."""
    value = values.get(key, "")
    return words[value].format(**values) if value in words else f"{key} = {value!r}"


def _interactions(values: Settings) -> Iterator[str]:
    lj = f"Lennard-Jones interactions {_named(_LJ, values, 'lj')}"
    yield f"{lj}; the mean of what is beyond is added." if values.get("lj_tail") is True else f"{lj}."
    if values.get("electrostatics") != "pme":
        yield f"Electrostatic interactions {_named(_COULOMB, values, 'electrostatics')}."
        return
    grid = " × ".join(map(str, values.get("pme.grid", []))) or f"spacing {values.get('pme.spacing')} Å"
    cutoff = values.get("pme.cutoff") or values.get("cutoff")
    yield (
        f"Electrostatic interactions are summed by smooth particle-mesh Ewald: directly up to {cutoff:g} Å with "
        f"α = {values.get('pme.alpha', 0):.5g} Å⁻¹, and on a mesh of {grid} points by B-splines of order "
        f"{values.get('pme.order')}."
    )


def _motion(dynamics: Settings, baths: list[Settings]) -> Iterator[str]:
    steps, timestep = dynamics.get("steps", 0), dynamics.get("timestep", 0.0)
    yield (
        f"{counted(steps, 'step')} of {timestep:g} fs {are(steps)} {_time(steps * timestep)}, integrated by "
        f"{_named(_INTEGRATORS, dynamics, 'integrator')}."
    )
    direct, mesh = dynamics.get("direct_every", 1), dynamics.get("mesh_every", 1)
    if direct > 1 or mesh > 1:
        yield f"Forces of the direct sum act in every {_nth(direct)} step, those of the mesh in every {_nth(mesh)}."
    yield _named(_CONSTRAINTS, dynamics, "constraints")
    if dynamics.get("hydrogen_mass", 0.0):
        yield f"Hydrogens have a mass of {dynamics['hydrogen_mass']:g} amu, taken from the atoms they are bonded to."
    yield from _baths(dynamics, baths)
    removal = dynamics.get("com_removal_every", 0)
    if removal:
        yield f"The motion of the centre of mass is removed every {removal:,} steps."


def _baths(dynamics: Settings, baths: list[Settings]) -> Iterator[str]:
    ensemble = dynamics.get("ensemble")
    if ensemble == "nve":
        yield "Energy and box are constant (NVE)."
        return
    thermostat = _named(_THERMOSTATS, dynamics, "thermostat")
    if baths:
        yield f"Temperatures are kept by {thermostat}, of each part of the system by itself:"
        for bath in baths:
            yield f"{bath.get('select')!r} at {_target(bath.get('temperature'), 'K')}, τ = {bath.get('tau_t')} ps."
    else:
        target = _target(dynamics.get("temperature"), "K")
        yield f"The temperature is kept at {target} by {thermostat}, τ = {dynamics.get('tau_t')} ps."
    if ensemble == "npt":
        tension = dynamics.get("surface_tension", 0.0)
        yield (
            f"The pressure is kept at {_target(dynamics.get('pressure'), 'bar')} by "
            f"{_named(_BAROSTATS, dynamics, 'barostat')}, τ = {dynamics.get('tau_p')} ps; "
            f"{_named(_COUPLINGS, dynamics, 'coupling')}."
        )
        if tension:
            yield f"The tension of the surfaces is {tension:g} bar nm."


def _held(restraints: list[Settings], dynamics: Settings) -> Iterator[str]:
    if dynamics.get("fixed"):
        yield f"These atoms do not move: {dynamics['fixed']}."
    for restraint in restraints:
        what = restraint.get("select") or ", ".join(map(str, restraint.get("groups", [])))
        yield f"A restraint holds the {restraint.get('kind')} of {what} with k = {restraint.get('k')} (E = k·d²)."


def _target(value: Any, unit: str) -> str:
    """Returns a target, or the points in time between which it is linear."""
    if isinstance(value, (int, float)):
        return f"{value:g} {unit}"
    return f"{unit} by these points in time: {value}"


def _nth(count: int) -> str:
    return {1: "single", 2: "second", 3: "third"}.get(count, f"{count}th")


def _time(femtoseconds: float) -> str:
    for size, unit in ((1e9, "µs"), (1e6, "ns"), (1e3, "ps")):
        if femtoseconds >= size:
            return f"{femtoseconds / size:.6g} {unit}"
    return f"{femtoseconds:.6g} fs"
