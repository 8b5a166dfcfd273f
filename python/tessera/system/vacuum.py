"""The frame of a system without a box: fractions of it are positions, and nothing repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, System

# The rule stands in cpp/tessera/md/vacuum/frame.h: an eighth of an edge holds the furthest atom, and the range.
STEP_OF_RANGE = 8.0  # Å
LONGEST_EDGE = 32768.0  # Å
BUFFER = 2.8  # Å, of pair lists, unless a run file sets another


def frame_around(low: FloatArray, high: FloatArray) -> FloatArray:
    """Returns the edges (3,) Å of a frame about the origin for coordinates between two corners (3,): one that an engine
    has no need to double at the start of a run without a cut-off, so that it holds the positions to the bit.
    """
    diagonal = STEP_OF_RANGE * np.ceil(np.linalg.norm(high - low) / STEP_OF_RANGE)
    furthest = np.maximum(np.abs(low), np.abs(high))
    return np.maximum(8.5 * furthest, min(8.0 * (diagonal + BUFFER), LONGEST_EDGE))


def with_positions(system: System, position: FloatArray) -> System:
    """Returns a system without a box with its atoms at other places, (n,3) Å, in a frame that holds them."""
    places = position - system.origin
    box = np.diag(frame_around(places.min(axis=0), places.max(axis=0)))
    return replace(system, box=box, fraction=to_fraction(places, box))
