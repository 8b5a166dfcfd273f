"""Pictures have the molecules in them: their colours, their places, nothing beyond the edge."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tessera.view.draw import _look, draw
from tessera.view.scene import Backbone, Scene
from tests.support.programs import run_program
from tests.support.samples import sample

pytestmark = pytest.mark.slow(part="pictures")

BLUE, GREEN = (0, 114, 178), (0, 158, 115)


def is_like(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Returns where (h,w) a picture (h,w,3) has a colour, in light or in shade."""
    picture, wanted = picture.astype(float), np.array(colour, float)
    size = np.linalg.norm(picture, axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = picture @ wanted / (size * np.linalg.norm(wanted))
    return (cosine > 0.99) & (size > 40) & (np.ptp(picture, axis=2) > 15)


def line(x: float, number: int, kind: str = "protein") -> Backbone:
    points = np.stack([np.full(20, x), np.linspace(0, 60, 20), np.zeros(20)], axis=1)
    return Backbone(kind, number, points, np.zeros(20, bool))


def drawn(scene: Scene, path: Path, **more: object) -> np.ndarray:
    given = {"size": (400, 300), "direction": np.array([0.0, 0, 1]), "background": "white", **more}
    draw(scene, path, **given)  # type: ignore[arg-type]
    return np.asarray(Image.open(path).convert("RGB"))


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "tif"])
def test_chains_are_where_they_are(tmp_path: Path, ending: str) -> None:
    picture = drawn(Scene([line(0, 0), line(40, 1)]), tmp_path / f"a.{ending}")
    assert picture.shape == (300, 400, 3)
    blue, green = (np.argwhere(is_like(picture, colour)) for colour in (BLUE, GREEN))
    assert len(blue) > 500 and len(green) > 500
    assert blue[:, 1].max() < green[:, 1].min()  # seen from z with y upwards, x is to the right
    edge = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    assert (edge == 255).all()
    assert np.isclose(np.ptp(blue[:, 0]), 300 * 60 / 72, atol=4)  # 60 Å, with 6 Å on either side
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{ending}"]


def test_cores_of_many_proteins_are_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene([line(0, 0)])
    tubes = is_like(drawn(scene, tmp_path / "tubes.png"), BLUE).sum()
    monkeypatch.setattr("tessera.view.draw._BODIES", 10)
    bodies = is_like(drawn(scene, tmp_path / "bodies.png"), BLUE).sum()
    assert bodies > 1.5 * tubes


def test_tails_are_thin(tmp_path: Path) -> None:
    whole = line(0, 0)
    tail = Backbone("protein", 0, whole.points, np.arange(20) >= 10)
    thick, thin = (is_like(drawn(Scene([one]), tmp_path / f"{name}.png"), BLUE).sum()
                   for name, one in (("whole", whole), ("tail", tail)))  # fmt: skip
    assert 0.5 * thick < thin < 0.9 * thick


def test_a_system_of_water(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tessera",
        "view",
        str(sample("four_site_water")),
        "-o",
        "w.png",
        "--size",
        "300",
        "300",
    ]
    said = run_program(command, cwd=tmp_path).stdout
    assert "atoms, 300 × 300 pixels" in said
    picture = np.asarray(Image.open(tmp_path / "w.png").convert("RGB"))
    assert (picture < 250).any(axis=2).mean() > 0.2


@pytest.mark.parametrize("length", [1e-310, 1.0, 1e300])
def test_a_direction_of_any_length(length: float) -> None:
    camera = SimpleNamespace()
    plotter = SimpleNamespace(camera=camera, reset_camera_clipping_range=lambda: None)
    _look(plotter, np.eye(3), np.array([length, 0, 0]), (100, 100))
    assert np.isfinite(camera.position).all() and np.allclose(camera.up, [0, 0, 1])


def test_a_background_that_is_none_is_refused(tmp_path: Path) -> None:
    from tessera.errors import InputError

    with pytest.raises(InputError, match="'no colour' is no colour"):
        drawn(Scene([line(0, 0)]), tmp_path / "a.png", background="no colour")
    assert not list(tmp_path.iterdir())
