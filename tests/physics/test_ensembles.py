"""Tests heat and pressure baths: against integrators in NumPy, and what they sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera import system as systems
from tessera.system.blocks import to_fraction
from tests.physics.flexible import ACCELERATION, Array, Flexible
from tests.support.gradients import BAR
from tests.support.runs import BATHS as NPT
from tests.support.runs import BOLTZMANN, Runs, Setting, Settings, read_table
from tests.support.samples import sample


def test_nose_hoover_chains_follow_their_equations(water: Path) -> None:
    """Integrates the chain with many small steps of the equations of motion, instead of the engine's factors."""
    system = Flexible(water, ensemble="nvt", thermostat="nose-hoover", temperature=350.0, tau_t=0.05)
    n, kt = 3 * len(system.x), BOLTZMANN * 350.0
    q = kt * 0.05**2 * np.array([n, 1.0, 1.0])
    eta = np.zeros(3)

    def half_of_the_bath() -> None:
        """Midpoint rule in 200 parts for the logarithm of the velocities' scale and for the chain."""
        nonlocal eta
        kinetic, scale, part = system.kinetic(), 0.0, 0.5 * system.dt / 200

        def rates(eta: Array, scale: float) -> tuple[Array, float]:
            twice = 2 * kinetic * np.exp(2 * scale)
            force = np.array([twice - n * kt, q[0] * eta[0] ** 2 - kt, q[1] * eta[1] ** 2 - kt]) / q
            force[:2] -= eta[:2] * eta[1:]
            return force, -eta[0]

        for _ in range(200):
            first, rate = rates(eta, scale)
            first, rate = rates(eta + 0.5 * part * first, scale + 0.5 * part * rate)
            eta, scale = eta + part * first, scale + part * rate
        system.v = system.v * np.exp(scale)

    acceleration = system.acceleration()
    for _ in range(20):
        half_of_the_bath()
        system.v += 0.5 * system.dt * acceleration
        system.x += system.dt * system.v
        acceleration = system.acceleration()
        system.v += 0.5 * system.dt * acceleration
        half_of_the_bath()
    system.simulation.step(20)
    assert system.error() < 1e-5
    assert abs(eta[0]) > 0.1, "the bath has acted"


@pytest.mark.parametrize(
    ("coupling", "every"),
    [
        pytest.param("isotropic", 1, marks=pytest.mark.slow(part="physics")),
        ("semi-isotropic", 1),
        ("anisotropic", 5),
    ],
)
def test_mtk_follows_its_equations(water: Path, coupling: str, every: int) -> None:
    """Martyna, Tobias and Klein's equations for atoms, in the order of mtk.cpp; chains by many small steps."""
    tau_t, tau_p, pressure = 0.05, 0.1, 2000.0
    baths = {"thermostat": "nose-hoover", "barostat": "mtk", "coupling": coupling, "coupling_every": every}
    times = {"tau_t": tau_t, "tau_p": tau_p, "pressure": pressure, "temperature": 350.0}
    system = Flexible(water, ensemble="npt", **baths, **times)
    sets = {"isotropic": [0, 0, 0], "semi-isotropic": [0, 0, 1], "anisotropic": [0, 1, 2]}[coupling]
    n_sets, edges = 1 + max(sets), np.diag(system.simulation.box).copy()
    n, kt, half = len(system.x), BOLTZMANN * 350.0, 0.5 * every * system.dt
    kappa, wanted = 1 / (3 * n), pressure / BAR
    mass = np.bincount(sets) * (3 * n + 3) * kt * tau_p**2 / 3
    rate, of_atoms, of_box = np.zeros(n_sets), np.zeros(3), np.zeros(3)

    def propagate(eta: Array, kinetic: float, degrees: int, tau: float) -> tuple[Array, float]:
        """Returns the chain after half of the bath's time, and the factor of its momenta (midpoint rule)."""
        q, scale, part = kt * tau**2 * np.array([degrees, 1.0, 1.0]), 0.0, half / 400

        def change(eta: Array, scale: float) -> tuple[Array, float]:
            force = np.array([2 * kinetic * np.exp(2 * scale) - degrees * kt, *(q[:2] * eta[:2] ** 2 - kt)]) / q
            force[:2] -= eta[:2] * eta[1:]
            return force, -eta[0]

        for _ in range(400):
            first, slope = change(eta, scale)
            first, slope = change(eta + 0.5 * part * first, scale + 0.5 * part * slope)
            eta, scale = eta + part * first, scale + part * slope
        return eta, float(np.exp(scale))

    def push_the_box() -> None:
        twice = (system.mass * system.v**2).sum(axis=0) / ACCELERATION
        force = twice + kappa * twice.sum() + virial - wanted * edges.prod()
        rate[:] += half * np.bincount(sets, force) / mass

    def chains() -> None:
        nonlocal of_atoms, of_box
        of_atoms, factor = propagate(of_atoms, system.kinetic(), 3 * n, tau_t)
        system.v *= factor
        of_box, factor = propagate(of_box, float(0.5 * (mass * rate**2).sum()), n_sets, tau_p)
        rate[:] *= factor

    def scale_velocities() -> None:
        system.v *= np.exp(-half * (rate[sets] + kappa * rate[sets].sum()))

    def scale_box() -> None:
        system.x *= np.exp(half * rate[sets])
        edges[:] *= np.exp(half * rate[sets])

    acceleration, virial = system.acceleration_and_virial(edges)
    for step in range(1, 21):
        if (step - 1) % every == 0:
            push_the_box()
            chains()
            scale_velocities()
            scale_box()
        system.v += 0.5 * system.dt * acceleration
        system.x += system.dt * system.v
        if step % every == 0:
            scale_box()
        acceleration, virial = system.acceleration_and_virial(edges)
        system.v += 0.5 * system.dt * acceleration
        if step % every == 0:
            scale_velocities()
            chains()
            push_the_box()
    start = np.diag(system.simulation.box)
    system.simulation.step(20)
    assert system.error() < 1e-5
    assert np.diag(system.simulation.box) == pytest.approx(edges, abs=1e-6)
    assert np.abs(edges - start).max() > 1e-2, "the bath has acted"


def philox(counter: list[Array], key: tuple[int, int]) -> list[Array]:
    """Returns the four words of Philox4x32-10 (J. K. Salmon et al., SC'11) for arrays of counters."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k0, k1 = key
    mask = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (second >> np.uint64(32)) ^ c[1] ^ np.uint64(k0),
            second & mask,
            (first >> np.uint64(32)) ^ c[3] ^ np.uint64(k1),
            first & mask,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def normals(n: int, step: int, seed: int) -> Array:
    """Returns (n, 3) normal deviates of the heat bath in a step, by atom id."""
    ids = np.arange(n, dtype=np.uint64)
    zero = np.zeros_like(ids)
    words = philox([ids, zero, zero + np.uint64(step), zero + np.uint64(2 << 16)], (seed, 0))
    uniform = [(word.astype(float) + 0.5) / 2.0**32 for word in words]
    radius = [np.sqrt(-2 * np.log(uniform[i])) for i in (0, 2)]
    angle = [2 * np.pi * uniform[i] for i in (1, 3)]
    return np.stack([radius[0] * np.cos(angle[0]), radius[0] * np.sin(angle[0]), radius[1] * np.cos(angle[1])], axis=1)


def test_langevin_follows_its_splitting(water: Path) -> None:
    system = Flexible(water, ensemble="nvt", thermostat="langevin", temperature=350.0, tau_t=0.05, seed=11)
    decay = np.exp(-system.dt / 0.05)
    sigma = np.sqrt((1 - decay**2) * BOLTZMANN * 350.0 * ACCELERATION / system.mass)
    acceleration = system.acceleration()
    for step in range(1, 21):
        system.v += 0.5 * system.dt * acceleration
        system.x += 0.5 * system.dt * system.v
        system.v = decay * system.v + sigma * normals(len(system.x), step, 11)
        system.x += 0.5 * system.dt * system.v
        acceleration = system.acceleration()
        system.v += 0.5 * system.dt * acceleration
    system.simulation.step(20)
    assert system.error() < 1e-5


LONGER: Settings = {
    "dynamics.ensemble": "nvt",
    "dynamics.timestep": 4.0,
    "dynamics.hydrogen_mass": 3.0,
    "dynamics.mesh_every": 2,
    "dynamics.steps": 60,
    "output.energy_every": 10,
}


@pytest.mark.mpi
def test_longer_steps_on_ranks_and_over_restarts(runs: Runs) -> None:
    """The restart is between two actions of the mesh's forces."""
    alone = runs.run(sample("peptide"), LONGER)
    path = runs.run_file(sample("peptide"), {**LONGER, "output.checkpoint_every": 33})
    runs.start(path, "--set", "dynamics.steps=40", mpi="openmpi", ranks=2)
    for name in ("checkpoint.tck", "energy.csv"):
        assert (path.parent / "output" / name).exists()
    newest, before = (path.parent / "output" / name for name in ("checkpoint.tck", "checkpoint.previous.tck"))
    before.replace(newest)  # of step 33
    found = runs.start(path, "--restart", mpi="mpich", ranks=3)
    assert found.hash == alone.hash


def test_longer_steps_conserve_energy(runs: Runs) -> None:
    """A picosecond of constant energy: 4 fs with heavy hydrogens, and the mesh in every second step of 2 fs."""

    def fluctuation(**keys: float) -> float:
        settings: Settings = {
            "dynamics.com_removal_every": 0,
            "output.energy_every": 2,
            "interactions.lj": "force-switch",
        }
        settings.update({f"dynamics.{key}": value for key, value in keys.items()})
        table = runs.run(sample("peptide"), settings).table
        line = np.polyfit(table["time"], table["total"], 1)
        return float(np.std(table["total"] - np.polyval(line, table["time"])))

    plain = fluctuation(steps=500, timestep=2.0)
    assert fluctuation(steps=500, timestep=2.0, mesh_every=2) < 2 * plain
    # Verlet's shadow energy differs by the square of the step; angles with hydrogens are slower.
    assert fluctuation(steps=250, timestep=4.0, hydrogen_mass=3.0) < 6 * plain


@pytest.mark.parametrize("kind", ["dcd", "h5md"])
def test_trajectories_hold_the_changing_box(runs: Runs, kind: str) -> None:
    settings: Settings = {**NPT, "output.trajectory": kind, "output.trajectory_every": 7}
    found = runs.run(sample("peptide"), settings)
    edges = np.stack([found.table[name] for name in ("box_a", "box_b", "box_c")], axis=1)[:-1]
    if kind == "dcd":
        mdtraj = pytest.importorskip("mdtraj")
        with mdtraj.formats.DCDTrajectoryFile(str(found.folder / "trajectory.dcd")) as file:
            boxes = file.read()[1]
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(found.folder / "trajectory.h5md") as file:
            boxes = file["/cell_lengths"][:]
    assert np.allclose(boxes, edges, atol=1e-4)


def test_the_conserved_quantity_and_the_columns(runs: Runs) -> None:
    settings: Settings = {**NPT, "dynamics.steps": 400, "dynamics.temperature": 330.0, "output.energy_every": 10}
    table = runs.run(sample("peptide"), settings).table
    moved = np.ptp(table["total"])
    assert np.ptp(table["conserved"]) < 0.05 * moved
    volume = table["box_a"] * table["box_b"] * table["box_c"]
    assert np.allclose(table["density"] * volume, table["density"][0] * volume[0], rtol=1e-6)
    at_constant_energy = runs.run(sample("peptide"), {"dynamics.steps": 20, "output.energy_every": 10}).table
    assert np.array_equal(at_constant_energy["conserved"], at_constant_energy["total"])


@pytest.mark.parametrize("barostat", ["c-rescale", "mtk", "monte-carlo"])
def test_the_conserved_quantity_in_a_triclinic_box(runs: Runs, barostat: str) -> None:
    settings: Settings = {
        **NPT,
        "dynamics.steps": 200,
        "dynamics.timestep": 1.0,
        "dynamics.temperature": 330.0,
        "dynamics.tau_t": 0.1,
        "dynamics.thermostat": "nose-hoover",
        "dynamics.barostat": barostat,
        "output.energy_every": 10,
    }
    table = runs.run(sample("octahedron"), {**settings, "interactions.cutoff": 8.0, "interactions.switch": 7.0}).table
    assert np.ptp(table["box_a"]) > 0.01
    assert np.ptp(table["conserved"]) < 0.05 * np.ptp(table["total"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dynamics.ensemble": "npt", "dynamics.temperature": 0.0}, "dynamics.temperature is 0 K"),
        ({"dynamics.ensemble": "npt", "dynamics.surface_tension": 5.0}, 'needs dynamics.coupling = "semi-isotropic"'),
        ({"dynamics.ensemble": "npt", "dynamics.barostat": "mtk"}, 'set thermostat = "nose-hoover"'),
        (
            {"dynamics.ensemble": "npt", "dynamics.barostat": "monte-carlo", "parallel.buffer": 0.1},
            "parallel.buffer is 0.1 Å, expected at least 0.2 Å",
        ),
        ({"dynamics.ensemble": "nvt", "dynamics.tau_t": 0.0}, "dynamics.tau_t"),
        ({"dynamics.hydrogen_mass": 6.0}, "dynamics.hydrogen_mass = 6 leaves atom"),
        ({"dynamics.mesh_every": 3}, "output.energy_every is 100, expected a multiple of dynamics.mesh_every = 3"),
        ({"dynamics.ensemble": "nvt", "dynamics.thermostat": "nose"}, 'expected one of "bussi", "nose-hoover"'),
    ],
)
def test_wrong_settings(runs: Runs, settings: Settings, said: str) -> None:
    found = runs.run(sample("peptide"), settings, check=False)
    assert found.process.returncode != 0
    assert said in found.process.stderr


def test_a_pressure_needs_a_box(runs: Runs) -> None:
    settings: Settings = {"dynamics.ensemble": "npt", "interactions.electrostatics": "cut"}
    found = runs.run(sample("tripeptide"), settings, check=False)
    assert found.process.returncode != 0
    assert "the system has no box whose size could follow a pressure" in found.process.stderr


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("thermostat", ["bussi", "nose-hoover", "langevin"])
def test_the_kinetic_energy_has_its_distribution(runs: Runs, water: Path, thermostat: str) -> None:
    """The kinetic energy of N degrees of freedom has the mean N kT/2 and the variance N (kT)²/2."""
    settings: Settings = {
        "dynamics.ensemble": "nvt",
        "dynamics.thermostat": thermostat,
        "dynamics.tau_t": 0.1,
        "dynamics.temperature": 310.0,
        "dynamics.timestep": 2.0,
        "dynamics.steps": 60000,
        "output.energy_every": 50,
    }
    found = runs.run(water, settings, threads=2, timeout=3000)
    kinetic = read_table(found.folder / "energy.csv")["kinetic"][200:]
    n, kt = found.report["results"]["degrees_of_freedom"], BOLTZMANN * 310.0
    # 1,000 samples, of which perhaps every second is independent. BAOAB's velocities are off by the square of the step,
    # 0.6 % at 2 fs; its positions are not.
    assert kinetic.mean() == pytest.approx(0.5 * n * kt, rel=0.012 if thermostat == "langevin" else 0.006)
    assert kinetic.var() == pytest.approx(0.5 * n * kt**2, rel=0.2)


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize(
    ("thermostat", "barostat"), [("bussi", "c-rescale"), ("nose-hoover", "mtk"), ("bussi", "monte-carlo")]
)
def test_two_pressures_give_the_ratio_of_their_ensembles(
    runs: Runs, water: Path, thermostat: str, barostat: str
) -> None:
    """ln P₁(V)/P₂(V) is linear in V with the slope −(P₁−P₂)/kT (M. R. Shirts, J. Chem. Theory Comput. 9, 909, 2013)."""
    volumes = []
    for pressure in (1.0, 300.0):
        settings: Settings = {
            "dynamics.ensemble": "npt",
            "dynamics.thermostat": thermostat,
            "dynamics.barostat": barostat,
            "dynamics.temperature": 300.0,
            "dynamics.tau_t": 0.5,
            "dynamics.tau_p": 0.5,
            "dynamics.pressure": pressure,
            "dynamics.timestep": 2.0,
            "dynamics.steps": 100000,
            "output.energy_every": 50,
        }
        table = read_table(runs.run(water, settings, threads=2, timeout=3000).folder / "energy.csv")
        volumes.append((table["box_a"] * table["box_b"] * table["box_c"])[400:])
    kt = BOLTZMANN * 300.0
    # Both volumes are nearly normal with one variance: the slope is the difference of the means over it.
    variance = 0.5 * (volumes[0].var() + volumes[1].var())
    slope = (volumes[0].mean() - volumes[1].mean()) / variance
    expected = (300.0 - 1.0) / 69476.95457 / kt
    assert slope == pytest.approx(expected, rel=0.2)


@pytest.fixture(scope="module")
def ideal_gas(water: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system file of 100 rigid waters without interactions, in a box that is large for them."""
    system = systems.read(water)
    system.force_field.type_lj[:, 1] = 0
    system.templates[0].charge = np.zeros_like(system.templates[0].charge)
    positions = system.positions()[:300]
    system.box = np.diag([34.6] * 3)
    system.fraction, system.velocity = to_fraction(positions, system.box), None
    system.runs = np.array([[0, 100]], np.int64)
    path = tmp_path_factory.mktemp("gas") / "gas.tsr"
    systems.write(system, path)
    return path


GAS: Settings = {
    "interactions.cutoff": 3.0,
    "interactions.switch": 2.0,
    "interactions.lj_tail": False,
    "interactions.electrostatics": "cut",
    "dynamics.ensemble": "npt",
    "dynamics.temperature": 300.0,
    "dynamics.pressure": 100.0,
    "dynamics.tau_t": 0.1,
    "dynamics.timestep": 2.0,
    "dynamics.com_removal_every": 0,
    "dynamics.seed": 3,
}


@pytest.mark.parametrize(
    ("settings", "samples"),
    [
        ({"barostat": "monte-carlo", "monte_carlo_every": 1, "steps": 6000}, 700),
        ({"barostat": "monte-carlo", "monte_carlo_every": 1, "steps": 6000, "coupling": "constant-area"}, 160),
        pytest.param(
            {"barostat": "c-rescale", "coupling_every": 1, "tau_p": 0.1, "compressibility": 0.01, "steps": 60000},
            180,
            marks=pytest.mark.slow(part="physics"),
        ),
    ],
    ids=["monte-carlo", "monte-carlo along z", "c-rescale"],
)
def test_the_volume_of_an_ideal_gas(runs: Runs, ideal_gas: Path, settings: dict[str, Setting], samples: int) -> None:
    """V has the distribution V^N exp(−PV/kT) of N groups: the mean (N+1)kT/P and the variance (N+1)(kT/P)². `samples`:
    as how many independent volumes they count, by the scatter of the means of 60 seeds. One seed gives the same volumes
    on every processor."""
    keys: Settings = {f"dynamics.{key}": value for key, value in settings.items()}
    table = runs.run(ideal_gas, {**GAS, **keys, "output.energy_every": 5}).table
    volume = (table["box_a"] * table["box_b"] * table["box_c"])[100:]
    n, unit = 100, BOLTZMANN * 300.0 / (100.0 / 69476.95457055373)
    sigma = np.sqrt(n + 1) * unit
    assert volume.mean() == pytest.approx((n + 1) * unit, abs=4 * sigma / np.sqrt(samples))
    assert volume.var() == pytest.approx(sigma**2, rel=4 * np.sqrt(2 / samples))


@pytest.mark.parametrize("thermostat", ["bussi", "langevin"])
def test_the_kinetic_energy_of_an_ideal_gas(runs: Runs, ideal_gas: Path, thermostat: str) -> None:
    """As for a liquid above: 6,000 steps of 2 fs, which count as 250 independent energies by the scatter of the means
    of 60 seeds."""
    baths: Settings = {"dynamics.ensemble": "nvt", "dynamics.thermostat": thermostat, "dynamics.tau_t": 0.02}
    times: Settings = {"dynamics.coupling_every": 1, "dynamics.steps": 6000, "output.energy_every": 5}
    found = runs.run(ideal_gas, {**GAS, **baths, **times})
    kinetic = found.table["kinetic"][20:]
    n, kt, samples = found.report["results"]["degrees_of_freedom"], BOLTZMANN * 300.0, 250
    assert n == 600
    sigma = np.sqrt(0.5 * n) * kt
    assert kinetic.mean() == pytest.approx(0.5 * n * kt, abs=4 * sigma / np.sqrt(samples))
    assert kinetic.var() == pytest.approx(sigma**2, rel=4 * np.sqrt(2 / samples))


def test_what_is_in_effect_is_told(runs: Runs) -> None:
    settings: Settings = {**NPT, "dynamics.steps": 2, "dynamics.barostat": "berendsen"}
    process = runs.run(sample("peptide"), settings).process
    assert (
        "ensemble: npt, 300 K by bussi with 0.2 ps; 1 bar, isotropic, by berendsen with 1 ps; every 5 steps"
        in process.stdout
    )
    assert 'dynamics.barostat = "berendsen" samples no ensemble' in process.stderr
    plain = runs.run(sample("peptide"), {"dynamics.steps": 2}).process
    assert "ensemble: nve, constant energy and box" in plain.stdout
    assert "conserved" not in plain.stdout
