"""Reads OpenMM's four kinds of virtual sites."""

from __future__ import annotations

from typing import Any

from tessera.constants import NM
from tessera.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.prepare.openmm.gathered import value
from tessera.prepare.virtual_sites import ORTHONORMAL, Site, average, out_of_plane, site


def site_of(system: Any, atom: int, flat: FlatTopology) -> Site:
    """Returns the virtual site of an atom. Raises `InputError` that names it where its kind is not known."""
    found = system.getVirtualSite(atom)
    kind = type(found).__name__
    parents = [found.getParticle(i) for i in range(found.getNumParticles())]
    try:
        if kind in ("TwoParticleAverageSite", "ThreeParticleAverageSite"):
            return average(parents, [found.getWeight(i) for i in range(len(parents))])
        if kind == "OutOfPlaneSite":
            a, b, c = found.getWeight12(), found.getWeight13(), found.getWeightCross()
            i, j, k = parents
            return out_of_plane(i, j, k, a, b, c / NM)
        if kind == "LocalCoordinatesSite":
            local = found.getLocalPosition()
            position = [value(x) * NM for x in getattr(local, "_value", local)]
            weights = (found.getOriginWeights(), found.getXWeights(), found.getYWeights())
            return site(ORTHONORMAL, parents, *weights, (position[0], position[1], position[2]))
    except ValueError as error:
        raise InputError(f"the virtual site {flat.describe(atom)} {error}: not supported") from None
    raise InputError(f"{flat.describe(atom)} is a {kind}: this kind of virtual site is not supported")
