"""Draws a scene without a screen, by VTK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from tessera.errors import InputError, text_of_missing
from tessera.files import replaced
from tessera.system.model import FloatArray
from tessera.view.scene import Backbone, Scene

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")

# Colours that people with any kind of colour vision can distinguish (Okabe and Ito, 2008).
_PROTEINS = ("#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
_NUCLEIC, _PAIRS = ("#5A6270", "#8A93A1"), "#C3C9D1"
_ELEMENTS = {1: "#E8E8E8", 6: "#5A6270", 7: "#0072B2", 8: "#D55E00", 9: "#56B4E9", 11: "#CC79A7", 15: "#E69F00",
             16: "#F0E442", 17: "#009E73"}  # fmt: skip
_OTHER = "#B0A090"
_TUBE = {"protein": 1.5, "tail": 0.7, "nucleic": 2.2, "pair": 0.9}  # Å
_SIDES, _BETWEEN = 10, 4  # of tubes, points from residue to residue
_BODIES = 20_000  # residues beyond which the cores of proteins are bodies of spheres, which are quicker
_SPHERE = {"residue": 3.6, "atom": 1.5, "hydrogen": 1.0}  # Å
_SETTING = {"smooth_shading": True, "specular": 0.15, "ambient": 0.25}


def draw(scene: Scene, output: Path, size: tuple[int, int], direction: FloatArray | None, background: str) -> None:
    """Writes a picture of `size` pixels, seen from `direction` (3,), or so that most is seen. Raises `InputError`."""
    pyvista = _pyvista()
    plotter = pyvista.Plotter(off_screen=True, window_size=size)
    try:
        plotter.set_background(background)
    except ValueError:
        raise InputError(f"--background {background!r} is no colour: expected a name or #RRGGBB") from None
    proteins = [one for one in scene.backbones if one.kind == "protein"]
    as_bodies = sum(len(one.points) for one in proteins) > _BODIES
    for number in sorted({one.number for one in proteins}):
        colour = _PROTEINS[number % len(_PROTEINS)]
        own = [one for one in proteins if one.number == number]
        if as_bodies:
            _add_spheres(plotter, np.concatenate([one.points[~one.is_tail] for one in own]), "residue", colour)
        else:
            _add_tubes(pyvista, plotter, [piece for one in own for piece in _pieces(one, False)], "protein", colour)
        _add_tubes(pyvista, plotter, [piece for one in own for piece in _pieces(one, True)], "tail", colour)
    nucleic = [one for one in scene.backbones if one.kind == "nucleic"]
    for parity, colour in enumerate(_NUCLEIC):
        strands = [one.points for one in nucleic if one.number % 2 == parity]
        _add_tubes(pyvista, plotter, strands, "nucleic", colour)
    _add_tubes(pyvista, plotter, list(scene.pairs), "pair", _PAIRS)
    for element in np.unique(scene.atomic_number).tolist():
        kind = "hydrogen" if element == 1 else "atom"
        places = scene.atoms[scene.atomic_number == element]
        _add_spheres(plotter, places, kind, _ELEMENTS.get(element, _OTHER))
    _look(plotter, scene.points(), direction, size)
    plotter.enable_anti_aliasing("ssaa")
    with replaced(output) as place:
        # The ending says the format, which the name of the new file does not have.
        picture = place.with_name(place.name + output.suffix)
        try:
            plotter.screenshot(str(picture))
            picture.replace(place)
        finally:
            picture.unlink(missing_ok=True)
            plotter.close()


def _pyvista() -> Any:
    try:
        import pyvista
        import vtk
    except ImportError as error:
        raise InputError(text_of_missing(error) or str(error)) from None
    vtk.vtkLogger.SetStderrVerbosity(vtk.vtkLogger.VERBOSITY_OFF)  # it tells of a screen that is not needed
    return pyvista


def _pieces(one: Backbone, tails: bool) -> list[FloatArray]:
    """Returns the parts of a chain that are tails, or are not, each with the residue before it and after it."""
    ends = np.flatnonzero(np.diff(one.is_tail)) + 1
    parts = np.split(np.arange(len(one.points)), ends)
    wanted = [part for part in parts if one.is_tail[part[0]] == tails]
    return [one.points[max(part[0] - tails, 0) : part[-1] + 1 + tails] for part in wanted]


def _add_tubes(pyvista: Any, plotter: Any, lines: list[FloatArray], kind: str, colour: str) -> None:
    smooth = [_smooth(line) for line in lines if len(line) > 1]
    if not smooth:
        return
    mesh = pyvista.PolyData()
    mesh.points = np.concatenate(smooth)
    begin, cells = 0, []
    for line in smooth:
        cells.append(np.concatenate([[len(line)], np.arange(begin, begin + len(line))]))
        begin += len(line)
    mesh.lines = np.concatenate(cells)
    plotter.add_mesh(mesh.tube(radius=_TUBE[kind], n_sides=_SIDES), color=colour, **_SETTING)


def _smooth(line: FloatArray) -> FloatArray:
    """Returns a curve through points (n,3)."""
    if len(line) < 3:
        return line
    at = np.linspace(0, len(line) - 1, _BETWEEN * (len(line) - 1) + 1)
    return np.asarray(CubicSpline(np.arange(len(line)), line)(at))


def _add_spheres(plotter: Any, places: FloatArray, kind: str, colour: str) -> None:
    if len(places):
        actor = plotter.add_mesh(
            places, style="points_gaussian", render_points_as_spheres=True, emissive=False, color=colour
        )
        actor.mapper.scale_factor = _SPHERE[kind]  # a radius, Å


def _look(plotter: Any, points: FloatArray, direction: FloatArray | None, size: tuple[int, int]) -> None:
    """Sets the camera so that everything is seen, from a direction or along the axis in which it extends least."""
    middle = points.mean(axis=0)
    axes = np.linalg.svd((points - middle)[:: max(1, len(points) // 100_000)], full_matrices=False)[2]
    axes = np.array([axis * np.sign(axis[np.argmax(abs(axis))]) for axis in axes])
    if len(axes) < 3:  # of one or two points
        axes = np.eye(3)
    right, up, towards = axes if size[0] >= size[1] else (axes[1], axes[0], axes[2])
    if direction is not None:
        towards = direction / np.abs(direction).max()  # squares of what is far from 1 are no numbers
        towards /= np.linalg.norm(towards)
        up = np.array([0.0, 1, 0]) if abs(towards[2]) > 0.9 else np.array([0.0, 0, 1])
        right = np.cross(up, towards)
        right /= np.linalg.norm(right)
        up = np.cross(towards, right)
    margin = 6.0  # Å, of what is drawn about points
    along = points @ np.array([right, up, towards]).T
    ends = along.min(axis=0), along.max(axis=0)
    middle = (ends[0] + ends[1]) / 2 @ np.array([right, up, towards])
    half = (ends[1] - ends[0]) / 2 + margin
    camera = plotter.camera
    camera.parallel_projection = True
    camera.focal_point = middle
    camera.position = middle + towards * (2 * half[2] + 100)
    camera.up = up
    camera.parallel_scale = max(half[1], half[0] * size[1] / size[0])
    plotter.reset_camera_clipping_range()
