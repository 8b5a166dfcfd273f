"""`tessera watch` shows a run while it goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessera.errors import InputError
from tessera.files import AnyPath, real_path
from tessera.machine.quantities import Finite
from tessera.printing import echo, end
from tessera.watch.alarm import drift_alarm, drift_limit_option

if TYPE_CHECKING:
    from tessera.watch.liveness import View, Watch


@click.command()
@click.argument("folder", metavar="RUN", type=AnyPath())
@click.option("--web", is_flag=True, help="Serve a page to a browser on this machine, and print its address.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="With --web: the port of the page, such as one that ssh forwards; 0: one that is free.  [default: 0]",
)
@click.option("--json", "as_json", is_flag=True, help="Print how the run is as one JSON object and stop.")
@drift_limit_option
@click.option(
    "--every", type=Finite(min=0.1), metavar="S",
    help="Look each S seconds.  [default: 1 on a terminal, else 10]",
)  # fmt: skip
def watch(folder: Path, web: bool, port: int, as_json: bool, drift_limit: float, every: float | None) -> None:
    """Show the run or the protocol in RUN while it goes on: how far it is and what is left, energies, temperature,
    pressure, density, drift, where the time goes, and whether its process is still there.

    RUN is read, never written to. The status is 0 where the run finished, was stopped or (--json) goes
    on, and 1 where it failed, has gone or is silent.

    \b
    Examples:
      tessera watch output
      tessera watch output --web
      tessera watch output --json
    """
    from tessera.watch.facts import facts_of
    from tessera.watch.liveness import Watch

    if web and as_json:
        raise click.UsageError("--web and --json: take one of them")
    watching = Watch(folder)
    try:
        first = watching.look()
        if as_json:
            echo(json.dumps(facts_of(first, drift_limit)))
        elif web:
            from tessera.watch.server import serve

            serve(watching, drift_limit, port)
            return
        else:
            first = _follow(watching, drift_limit, every)
    except (InputError, OSError) as error:
        raise end(error) from None
    if not first.is_good:
        raise SystemExit(1)


def _follow(watching: Watch, limit: float, every: float | None) -> View:
    """Shows the run until it is over, and returns the last view."""
    from rich.live import Live

    from tessera.watch.text import console, line_of, screen_of
    from tessera.watch.tracks import Tracks

    shown, tracks, name = console(), Tracks(watching.folder), real_path(watching.folder).name
    if not shown.is_terminal:
        said = ""
        while True:
            view = watching.look()
            line = line_of(view, _alarms(view, limit))
            if line != said:
                echo(line)
            said = line
            if view.is_over:
                return view
            time.sleep(every or 10.0)
    with Live(console=shown, auto_refresh=False, transient=False) as live:
        while True:
            view = watching.look()
            series = tracks.of(view.status)
            live.update(screen_of(view, _alarms(view, limit), series, name), refresh=True)
            if view.is_over:
                return view
            time.sleep(every or 1.0)


def _alarms(view: View, limit: float) -> list[str]:
    found = drift_alarm(view.status, limit) if view.status else ""
    return [found] if found else []
