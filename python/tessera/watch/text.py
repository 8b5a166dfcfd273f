"""What a terminal shows of a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tessera.printing import counted, layout, printable
from tessera.watch.liveness import View, seconds_text
from tessera.watch.series import Series
from tessera.watch.status import Status

_STYLES = {
    "running": "green", "finished": "green", "stopped": "yellow", "failed": "bold red", "gone": "bold red",
    "silent": "bold yellow", "suspended": "yellow", "starting": "cyan", "waiting": "dim",
}  # fmt: skip
#: quantities by their keys in a status, with units and digits
QUANTITIES = (
    ("temperature", "K", 1),
    ("pressure", "bar", 0),
    ("density", "g/cm³", 4),
    ("potential", "kcal/mol", 1),
    ("kinetic", "kcal/mol", 1),
    ("total", "kcal/mol", 1),
    ("conserved", "kcal/mol", 1),
)
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_PHASES, _MOST_HOSTS = 8, 8


def line_of(view: View, alarms: Sequence[str] = ()) -> str:
    """Returns a view in one line, for output that is no terminal."""
    status = view.status
    parts = [view.state]
    if status is not None:
        parts.append(f"{f'{status.stage}: ' if status.stage else ''}{progress_text(status)}")
        temperature = status.number("energies", "temperature")
        parts += [speed_text(status)] if speed_text(status) else []
        parts += [f"{temperature:.1f} K"] if temperature is not None else []
    parts += [view.words] if view.words else []
    return printable("  ".join([*parts, *(f"DRIFT: {alarm}" for alarm in alarms)]))


def progress_text(status: Status) -> str:
    """Returns how many steps of how many are done."""
    step, last = status.number("step") or 0, status.number("last_step") or 0
    percent = f" ({100 * step / last:.1f} %)" if last > 0 else ""
    return f"step {step:,.0f} of {last:,.0f}{percent}"


def speed_text(status: Status) -> str:
    """Returns speed and what is left; empty where neither is known."""
    speed, left = status.number("ns_per_day"), status.number("seconds_left")
    parts = [f"{speed:.3g} ns/day"] if speed else []
    if left is not None and not status.is_over:
        parts.append(f"{seconds_text(left)} left")
    return "  ".join(parts)


def spark(values: Sequence[float | None], width: int = 32) -> str:
    """Returns a line of blocks whose heights are the means of the last three quarters of the values, in so many pieces:
    a run begins with a jump."""
    known = [value for value in values[len(values) // 4 :] if value is not None]
    width = min(width, len(known))
    if width < 2:
        return ""
    edges = [len(known) * i // width for i in range(width + 1)]
    means = [sum(known[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(means), max(means)
    if not high > low:
        return _BLOCKS[3] * width
    return "".join(_BLOCKS[min(7, int(8 * (mean - low) / (high - low)))] for mean in means)


def screen_of(view: View, alarms: Sequence[str], series: Series | None, name: str) -> RenderableType:
    """Returns what is shown of a view."""
    head = Text(printable(name), style="bold")
    head.append(f"  {view.state}", style=_STYLES.get(view.state, ""))
    parts: list[RenderableType] = [head]
    if view.words:
        parts.append(Text(printable(view.words), style=_STYLES.get(view.state, "")))
    parts += [Text(printable(alarm), style="bold red") for alarm in alarms]
    if view.status is not None:
        parts += _parts_of(view.status, view.age, series)
    return Group(*parts)


def _parts_of(status: Status, age: float, series: Series | None) -> Iterator[RenderableType]:
    yield Text(printable(" · ".join(_facts(status, age))), style="dim")
    if stages := status.rows("stages"):
        yield _stages(status, [str(stage.get("name", "")) for stage in stages])
    yield ProgressBar(total=max(1.0, status.number("last_step") or 0), completed=status.number("step") or 0, width=60)
    yield Text(f"{progress_text(status)}  {speed_text(status)}")
    yield _quantities(status, series)
    if phases := _phases(status):
        yield phases
    if network := _network(status):
        yield Text(printable(network))


def _facts(status: Status, age: float) -> Iterator[str]:
    yield f"process {status.process} on {status.host}"
    if (atoms := status.number("n_atoms")) is not None:
        yield counted(round(atoms), "atom")
    if (ranks := status.number("ranks")) is not None:
        yield layout(ranks, status.number("threads") or 1)
    if (time := status.number("time_ps")) is not None:
        yield f"{time:.6g} ps simulated"
    yield f"said {seconds_text(age)} ago"


def _stages(status: Status, names: list[str]) -> Text:
    text, is_done = Text("stages: "), True
    for number, name in enumerate(names):
        is_now = name == status.stage
        is_done = is_done and not is_now
        style = "bold" if is_now else "green" if is_done else "dim"
        text.append(f"{' → ' if number else ''}{printable(name)}", style=style)
    return text


def _quantities(status: Status, series: Series | None) -> Table:
    table = Table.grid(padding=(0, 2))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column()  # gives way where the terminal is narrow
    rows = series.content() if series else {}
    for name, unit, digits in QUANTITIES:
        value = status.number("energies", name)
        if value is not None:
            table.add_row(name, Text(f"{value:,.{digits}f}", justify="right"), unit, _line(spark(rows.get(name, []))))
    drift, half_width = status.number("drift", "value"), status.number("drift", "half_width")
    if drift is not None:
        width = f" ± {half_width:.1g}" if half_width is not None else ""
        table.add_row("drift", Text(f"{drift:+.2g}{width}", justify="right"), "kT/ns/dof", "")
    if (last := status.number("imbalance", "last")) is not None:
        table.add_row("imbalance", Text(f"{last:.2f}", justify="right"), "", _line("the busiest rank over the mean"))
    for key, unit in (("energy", "kcal/mol"), ("max_force", "kcal/mol/Å")):
        if (value := status.number("minimization", key)) is not None:
            wanted = status.number("minimization", "wanted_max_force") if key == "max_force" else None
            note = f"until below {wanted:g}" if wanted is not None else ""
            table.add_row("greatest force" if wanted is not None else key, Text(f"{value:,.4g}"), unit, _line(note))
    return table


def _line(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="crop")


def _phases(status: Status) -> Table | None:
    found = [(one.get("seconds"), str(one.get("name", ""))) for one in status.rows("phases")]
    known = sorted(((s, n) for s, n in found if isinstance(s, (int, float)) and s > 0), reverse=True)
    if not known:
        return None
    whole = sum(seconds for seconds, _ in known)
    table = Table.grid(padding=(0, 2))
    for seconds, name in known[:_MOST_PHASES]:
        table.add_row(printable(name), f"{100 * seconds / whole:.0f} %", "█" * max(1, round(30 * seconds / whole)))
    return table


def _network(status: Status) -> str:
    hosts = status.rows("network", "hosts")
    if not hosts:
        return ""
    shown = [f"{host.get('name', '?')} ({host.get('ranks', '?')})" for host in hosts[:_MOST_HOSTS]]
    more = f" and {len(hosts) - len(shown)} more" if len(hosts) > len(shown) else ""
    return f"hosts (ranks), by {status.text('network', 'source') or 'their names'}: {', '.join(shown)}{more}"


def console() -> Console:
    """Returns the console of standard output, which interprets no marks in texts."""
    return Console(markup=False, highlight=False, emoji=False)
