"""Charges for fields that are known: of a sphere by the linear and the nonlinear equation of Poisson and Boltzmann."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp

from tessera.build.charges import fit, make
from tessera.build.charges.apbs import Potential, lattice_around
from tessera.build.charges.core import Core
from tessera.build.charges.debye import BJERRUM, fields, kappa, slopes
from tessera.build.charges.fit import Charges
from tessera.build.charges.surface import Lattice, heights, spread
from tessera.system.model import FloatArray

SALT, RADIUS, COUNT = 0.1, 18.0, 40
INVERSE = kappa(SALT)
SPHERE = Core(np.zeros((1, 3)), np.array([-20.0]), np.array([RADIUS]), [])


def radii(lattice: Lattice) -> FloatArray:
    return np.asarray(np.linalg.norm(lattice.places(np.moveaxis(np.indices(lattice.shape), 0, -1)), axis=-1))


def seen(found: Charges) -> float:
    """Returns the charge at the centre of a sphere whose field is that of charges, on average over all directions."""
    t = INVERSE * np.linalg.norm(found.position, axis=1)
    return float((found.charge * np.sinh(t) / t).sum())


@pytest.fixture(scope="module", name="lattice")
def _lattice() -> Lattice:
    return lattice_around(np.array([[-RADIUS] * 3, [RADIUS] * 3]), make.reach(SALT) + 6, 2.5)


@pytest.fixture(autouse=True)
def _fewer_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "_FITTED", 800)
    monkeypatch.setattr(make, "_CHECKED", 1000)


def test_the_debye_length_is_that_of_textbooks() -> None:
    assert pytest.approx(7.14, abs=0.005) == BJERRUM
    assert 1 / kappa(0.1) == pytest.approx(3.04 / np.sqrt(0.1), abs=0.02)  # 3.04 Å/√c in water at 298 K


def test_fields_and_their_slopes_are_derivatives_of_the_potential() -> None:
    random = np.random.default_rng(1)
    points, sites = random.normal(size=(4, 3)) + np.array([20, 0, 0]), random.normal(size=(5, 3))

    def potential(points: FloatArray, sites: FloatArray) -> FloatArray:
        r = np.linalg.norm(points[:, None] - sites, axis=-1)
        return np.asarray(BJERRUM * np.exp(-INVERSE * r) / r)

    field, slope, step = fields(points, sites, INVERSE), slopes(points, sites, INVERSE), 1e-4
    for axis, shift in enumerate(step * np.eye(3)):
        found = -(potential(points + shift, sites) - potential(points - shift, sites)) / (2 * step)
        assert field[:, axis] == pytest.approx(found, rel=1e-6)
        change = (fields(points, sites + shift, INVERSE) - fields(points, sites - shift, INVERSE)) / (2 * step)
        assert slope[..., axis] == pytest.approx(change, rel=1e-5, abs=1e-9)


def test_a_sphere_has_the_field_of_debye_and_hueckel(lattice: Lattice) -> None:
    """φ = l q exp(κ(a − r))/((1 + κa) r) outside a sphere with the charge q and the radius a."""
    factor = np.exp(INVERSE * RADIUS) / (1 + INVERSE * RADIUS)
    r = np.maximum(radii(lattice), RADIUS)
    value = BJERRUM * -20.0 * factor * np.exp(-INVERSE * r) / r
    found, left = make.fitted(SPHERE, Potential(lattice, value), SALT, COUNT)
    assert left < 0.02
    assert seen(found) == pytest.approx(-20.0 * factor, rel=0.01)
    assert np.linalg.norm(found.position, axis=1).max() < RADIUS
    again, _ = make.fitted(SPHERE, Potential(lattice, value), SALT, COUNT)
    assert again.position.tolist() == found.position.tolist()


def test_the_nonlinear_field_of_a_sphere_is_that_of_fewer_charges(lattice: Lattice) -> None:
    """y'' = −2y'/r + κ² sinh y with y' = −l q/a² at the surface: from afar it is the linear one of a smaller charge.
    The residual is what the linear equation leaves, of which this is the best field."""
    charge, end = -60.0, float(radii(lattice).max()) + 1

    def derivative(r: FloatArray, y: FloatArray) -> FloatArray:
        return np.array([y[1], -2 * y[1] / r + INVERSE**2 * np.sinh(y[0])])

    def ends(first: FloatArray, last: FloatArray) -> FloatArray:
        return np.array([first[1] + BJERRUM * charge / RADIUS**2, last[1] + (INVERSE + 1 / end) * last[0]])

    start = np.linspace(RADIUS, end, 200)
    guess = -3 * np.exp(INVERSE * (RADIUS - start)) * RADIUS / start
    solved = solve_bvp(derivative, ends, start, np.array([guess, np.gradient(guess, start)]), tol=1e-6)
    assert solved.success
    potential = Potential(lattice, solved.sol(np.maximum(radii(lattice), RADIUS))[0])
    found, left = make.fitted(SPHERE, potential, SALT, COUNT)
    far = RADIUS + 40
    effective = solved.sol(far)[0] * far * np.exp(INVERSE * far) / BJERRUM
    linear = charge * np.exp(INVERSE * RADIUS) / (1 + INVERSE * RADIUS)
    r = np.linspace(RADIUS + make.NEAREST, RADIUS + make.reach(SALT), 1000)
    field, best = -solved.sol(r)[1], fields(np.array([[1.0, 0, 0]]) * r[:, None], np.zeros((1, 3)), INVERSE)[:, 0, 0]
    best *= (r**2 * field * best).sum() / (r**2 * best**2).sum()
    least = np.sqrt((r**2 * (field - best) ** 2).sum() / (r**2 * field**2).sum())
    assert least > 0.02
    assert left == pytest.approx(least, abs=0.01)
    assert seen(found) == pytest.approx(effective, rel=0.06)
    assert effective > 0.8 * linear  # a smaller one: both are negative


def test_charges_begin_where_the_field_asks_for_them() -> None:
    """Of a field whose charges are at some of the places, chosen ones have more than as many that are spread evenly."""
    random = np.random.default_rng(2)
    places = spread(random.normal(size=(4000, 3)) * 6, 60)
    own = random.choice(60, 9, replace=False)
    charges = random.normal(size=9) * 5
    directions = random.normal(size=(800, 3))
    points = 30 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    sample = fit.Sample(points, fields(points, places[own], INVERSE) @ charges, np.ones(len(points)))
    found = fit.chosen(places, 12, sample, INVERSE)
    assert len(np.unique(found.position, axis=0)) == 12
    evenly = fit.chosen(spread(places, 12), 12, sample, INVERSE)
    assert fit.residual(found, sample, INVERSE) < 0.5 * fit.residual(evenly, sample, INVERSE)
    every = fit.chosen(places, 60, sample, INVERSE)
    assert fit.residual(every, sample, INVERSE) <= fit.residual(found, sample, INVERSE) < 0.05


def test_charges_that_move_fit_better() -> None:
    """Of a field whose charges are elsewhere; they don't go where they may not."""
    random = np.random.default_rng(0)
    sites, charges = random.normal(size=(8, 3)) * 6, random.normal(size=8) * 5
    directions = random.normal(size=(800, 3))
    points = 26 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    sample = fit.Sample(points, fields(points, sites, INVERSE) @ charges, np.ones(len(points)))
    start = fit.chosen(spread(random.normal(size=(200, 3)) * 4, 12), 12, sample, INVERSE)
    moved = fit.moved(start, sample, INVERSE, lambda place: np.linalg.norm(place, axis=1) < 16)
    assert fit.residual(moved, sample, INVERSE) < 0.5 * fit.residual(start, sample, INVERSE)
    stayed = fit.moved(start, sample, INVERSE, lambda place: np.zeros(len(place), bool))
    assert stayed.position.tolist() == start.position.tolist()


def test_the_surface_encloses_and_closes_clefts(lattice: Lattice) -> None:
    height = heights(SPHERE.position, SPHERE.radius, lattice)
    r = radii(lattice)
    assert np.abs(height - (r - RADIUS))[r > RADIUS].max() < 2.5  # the spacing
    assert height[r < RADIUS - 2].max() < 0
    pair = np.array([[-9.0, 0, 0], [9.0, 0, 0]])
    cleft = heights(pair, np.full(2, 8.0), lattice)[tuple(lattice.nearest(np.zeros((1, 3))).T)]
    assert cleft < 0
    wide = heights(2.5 * pair, np.full(2, 8.0), lattice)[tuple(lattice.nearest(np.zeros((1, 3))).T)]
    assert wide > 10
