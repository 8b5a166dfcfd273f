"""Compares steps on a GPU with processors and with OpenMM, from the figures of scripts/device_check."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common.options import Common, script
from bench.common.results import above, table

#: of OpenMM's time of a step on the same GPU
MOST_OF_OPENMM = {"ApoA1, 12 Å": 0.98, "ApoA1, 9 Å": 1.04, "DHFR, 9 Å": 1.43}


@script(check="a hash differs, a run left the GPU, or a promise is not kept")
@click.option(
    "--from",
    "figures",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="File that scripts/device_check wrote.",
)
def device(common: Common, figures: Path) -> None:
    """Make tables of what scripts/device_check found on a machine with a GPU.

    \b
    Examples:
      .venv/bin/python scripts/device_check --pack build/device.tar.xz --data DATA
      scripts/device_check build/device.tar.xz --speed -o found.json
      python -m bench.md.device --from found.json --check --docs
    """
    found: dict[str, Any] = json.loads(figures.read_text())
    figure = common.figure("device", "Steps on a GPU", {"commit": found["commit"]})
    figure.started = found["date"]
    machine = found["machine"]
    figure.at_start = {
        **machine,
        "processor": f"{found['gpus']}; {machine['processor']}",
        "load_at_end": found["load_at_end"],
    }
    figure.data.update(found)
    cases = [row for row in found["cases"] if "hash" in row]
    figure.tables.append(
        table(
            ["run", "steps", "hash of the end", "that of processors", "MB on the GPU"],
            [
                [row["case"], row["steps"], f"`{row['hash'][:16]}`", said_of(row), float(row["device_megabytes"])]
                for row in cases
            ],
        )
    )
    figure.failures += [f"{row['case']}: {wrong}" for row in found["cases"] for wrong in row["wrong"]]
    figure.tables.append(times(found["speed"]))
    figure.failures += missed(found["speed"])
    written = sum(row["written_down"] for row in cases)
    by_device = ["pairs"]
    by_device += [
        name
        for key, name in (("bonded_device", "bonded terms"), ("mesh_device", "the mesh"))
        if all(row.get(key, "cpu") != "cpu" for row in cases)
    ]
    figure.notes.append(
        f"{written} of {len(cases)} hashes are of AVX2, found before and written into `scripts/device_check`; "
        f"{found['sanitizer']}. Times are "
        "medians of runs in turn, at constant temperature (Langevin) and 2 fs; OpenMM computes in mixed precision. "
        f"Tessera computes {', '.join(by_device)} on the GPU{whole_steps(cases)}, and processors do all else; "
        "the kernel of pairs is timed by NVIDIA's ncu."
    )
    figure.finish(common)


def whole_steps(cases: list[dict[str, Any]]) -> str:
    """Returns how many steps of the runs a device has done without processors."""
    done, steps = (sum(row.get(key, 0) for row in cases) for key in ("steps_on_device", "steps"))
    return f", {100 * done / steps:.0f} % of the steps whole" if done else ""


def said_of(row: dict[str, Any]) -> str:
    if row["wrong"]:
        return "**differs**"
    return "the same" if row["written_down"] else "the same, on this machine"


def times(speed: list[dict[str, Any]]) -> str:
    """Returns the table of times, ms."""

    def cells(row: dict[str, Any]) -> list[Any]:
        took = {who: median(all_of) for who, all_of in row["ms_per_step"].items()}
        most = MOST_OF_OPENMM.get(row["run"])
        ratio = of_openmm(row) if "openmm" in took else None
        is_kept = "–" if ratio is None or most is None else "yes" if ratio <= most else "**no**"
        kernel = median(row["pair_kernel_ms"]) if row.get("pair_kernel_ms") else None
        return [row["run"], took["cpu"], took["gpu"], kernel, took.get("openmm"), ratio, most, is_kept]

    heads = [
        "ms a step",
        "processors alone",
        "with the GPU",
        "kernel of pairs",
        "OpenMM",
        "of OpenMM",
        "promised ≤",
        "kept",
    ]
    return table(heads, map(cells, speed))


def missed(speed: list[dict[str, Any]]) -> list[str]:
    """Returns the promises that are not kept."""
    return above({row["run"]: of_openmm(row) for row in speed if "openmm" in row["ms_per_step"]}, MOST_OF_OPENMM)


def of_openmm(row: dict[str, Any]) -> float:
    """Returns Tessera's time of a step over OpenMM's."""
    took = row["ms_per_step"]
    return median(took["gpu"]) / median(took["openmm"])


if __name__ == "__main__":
    device()
