"""Tells whether the conserved energy of a run drifts more than it may."""

from __future__ import annotations

import click

from tessera.machine.quantities import Finite
from tessera.watch.status import Status

#: kT/ns/dof; twice the most that docs/records/energy.md promises of any bath
LIMIT = 0.1
drift_limit_option = click.option(
    "--drift-limit", type=Finite(min=0, min_open=True), default=LIMIT, show_default=True, metavar="X",
    help="Raise an alarm at a drift above X kT/ns/dof.",
)  # fmt: skip


def drift_alarm(status: Status, limit: float = LIMIT) -> str:
    """Returns what is wrong with the drift, in one sentence; empty where nothing is. It is wrong where the whole
    interval of its confidence is above the limit, so that few samples raise no alarm. `limit` in kT/ns/dof."""
    drift, half_width = status.number("drift", "value"), status.number("drift", "half_width")
    if drift is None or half_width is None or abs(drift) - half_width <= limit:
        return ""
    return (
        f"the conserved energy drifts by {drift:+.2g} ± {half_width:.1g} kT/ns/dof, more than {limit:g}: look at the "
        "time step, the constraints and the cut-off"
    )
