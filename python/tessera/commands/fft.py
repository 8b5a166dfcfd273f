"""`tessera fft` shows the plan of a distributed Fourier transform."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from tessera import launch
from tessera.errors import InputError
from tessera.fft import MOST_ALONG_AN_EDGE, MOST_POINTS
from tessera.files import AnyPath
from tessera.machine.quantities import bytes_text, table, time_text
from tessera.printing import echo


class Shape(click.ParamType):
    """A mesh on the command line: 108x108x80, or one number for a cube."""

    name = "mesh"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int, int]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"(\d{1,100})(?:[x×](\d{1,100})[x×](\d{1,100}))?", str(value))
        if match is None:
            self.fail(f"{value!r} is no mesh; write 108x108x80, or 64 for a cube", param, ctx)
        x, y, z = (int(n or match[1]) for n in match.groups())
        if not 0 < x * y * z <= MOST_POINTS:
            self.fail(f"{value!r} has no points, or more than memory has addresses", param, ctx)
        if max(x, y, z) > MOST_ALONG_AN_EDGE:
            self.fail(f"{value!r} has an edge of more than {MOST_ALONG_AN_EDGE:,} points", param, ctx)
        return x, y, z


@click.group()
def fft() -> None:
    """Plan distributed Fourier transforms (tessera.fft)."""


@fft.command()
@click.argument("mesh", type=Shape())
@click.option("-n", "--ranks", required=True, type=click.IntRange(1, 2**31 - 1), help="Ranks of the job.")
@click.option(
    "--machine",
    "map_file",
    type=AnyPath(),
    envvar="TESSERA_MACHINE",
    show_envvar=True,
    help="Map from `tessera machine measure`; ranks fill its hosts in turn. Without a map all are on one host.",
)
@click.option(
    "--kind",
    type=click.Choice(["r2c", "c2c"]),
    default="r2c",
    show_default=True,
    help="r2c: real input; c2c: complex input.",
)
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float64", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(mesh: tuple[int, int, int], ranks: int, map_file: Path | None, kind: str, dtype: str, as_json: bool) -> None:
    """Show the plan of a transform of MESH: schemes, exchanges, predicted times, the choice and its reason.

    \b
    Examples:
      tessera fft plan 108x108x80 -n 64
      tessera fft plan 256 -n 1024 --machine map.json --kind c2c --json
    """
    try:
        import tessera._core as core
    except ImportError as error:
        raise launch.LaunchError(
            f"the compiled part of tessera is missing ({error}); build it with `make build`"
        ) from None
    try:
        content = json.loads(
            core.explain_fft(
                None if map_file is None else str(map_file),
                shape=mesh,
                is_real=kind == "r2c",
                ranks=ranks,
                real_bytes=4 if dtype == "float32" else 8,
            )
        )
    except InputError as error:
        raise launch.LaunchError(str(error)) from None
    echo(json.dumps(content, indent=2) if as_json else plan_text(content, kind, dtype, map_file))


def plan_text(content: dict[str, Any], kind: str, dtype: str, map_file: Path | None) -> str:
    """Returns a table of the schemes, the fastest first, their exchanges, and why the first is chosen."""
    schemes = content["schemes"]
    where = "on one host" if map_file is None else f"on {content['hosts']:,} hosts of {map_file}"
    lines = [
        f"{'×'.join(map(str, content['shape']))} points, {kind}, {dtype}, {content['ranks']:,} ranks {where}; "
        "predicted times of forward and backward",
        "",
    ]
    rows = [["scheme", "processes", "time", "exchanges", "passes", "ranks stand"]]
    for one in schemes:
        rows.append(
            [
                one["scheme"],
                "×".join(map(str, one["processes"])),
                time_text(one["seconds"]),
                time_text(one["exchange_seconds"]),
                time_text(one["pass_seconds"]),
                one["order"],
            ]
        )
    lines += table(rows, right=frozenset({2, 3, 4}))
    counted = ", estimated by some ranks" if content["estimated"] else ""
    lines += ["", f"exchanges of forward: messages in all; partners of a rank and bytes it sends, at most{counted}", ""]
    rows = []
    for one in schemes:
        for number, exchange in enumerate(one["exchanges"], 1):
            rows.append(
                [
                    one["scheme"] if number == 1 else "",
                    str(number),
                    f"{exchange['messages']:,} messages",
                    f"{exchange['partners']:,} partners",
                    bytes_text(exchange["bytes"]),
                ]
            )
    lines += table(rows, right=frozenset({1, 2, 3, 4})) if rows else ["none"]
    lines.append("")
    why = "least predicted time"
    if len(schemes) > 1:
        why += f", {schemes[1]['seconds'] / schemes[0]['seconds']:.3g} times as quick as {schemes[1]['scheme']}"
    lines.append(f"chosen: {content['chosen']}, because: {why}")
    lines += [f"left out: {one['scheme']}, because: {one['why']}" for one in content["left_out"]]
    return "\n".join(lines)
