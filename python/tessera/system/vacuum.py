"""The frame of a system without a box: fractions of it are positions, and nothing repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, System


def frame_around(low: FloatArray, high: FloatArray) -> FloatArray:
    """Returns the edges (3,) Å of a frame about the origin for coordinates between two corners (3,), with the room that
    an engine would give them soon."""
    return np.maximum(3.0 * (high - low) + 40.0, 4.0 * np.maximum(np.abs(low), np.abs(high)))


def with_positions(system: System, position: FloatArray) -> System:
    """Returns a system without a box with its atoms at other places, (n,3) Å, in a frame that holds them."""
    places = position - system.origin
    box = np.diag(frame_around(places.min(axis=0), places.max(axis=0)))
    return replace(system, box=box, fraction=to_fraction(places, box))
