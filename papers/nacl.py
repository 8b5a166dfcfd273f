"""Plans the runs of Todorov et al. with 300,763,000 ions of NaCl on 1,024 cores, and with 15 million on 2,048, beside
the times that they give.

    python -m papers.nacl [--ions 300763000 --potential dlpoly --ranks 1024 --docs]

The system file is made and one rank's share of it is read, both on this machine; then `tessera explain` plans the run
on maps of two networks and says where the time of a step goes. No step of the whole is run: what a core computes is
measured on a part that is cut out.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bench.common import systems
from bench.common.options import Common, script
from bench.common.results import table
from bench.io.setup import read_share
from bench.scale.platforms import FatTree, Node, Platform, Torus

IONS = {"charmm": "CHARMM36's, with Lennard-Jones", "dlpoly": "DL_POLY's, of Born, Huggins and Mayer"}
CORES_OF_A_NODE = 4


@dataclass(frozen=True)
class Slide:
    """What the slides say of a run on so many ranks of a Cray XT4, in seconds, and a mesh with points 0.92 Å
    apart: the paper, whose transforms needed 2^k processors, gives none."""

    figure: str
    title: str
    mesh: int  # points an edge
    step: float
    transforms: float | None = None
    start: float | None = None


#: by ions and ranks
SLIDES = {
    (300_763_000, 1024): Slide(
        "scale_nacl", "300,763,000 ions on 1,024 cores, planned", 2048, step=68.0, transforms=55.0, start=3600.0
    ),
    (15_000_000, 2048): Slide("scale_nacl_15m", "15 million ions on 2,048 cores, planned", 768, step=0.7),
}
RUN = """
[input]
system = "nacl.tsr"
[interactions]
cutoff = 12.0
[pme]
grid = [{mesh}, {mesh}, {mesh}]
[dynamics]
timestep = 1.0
steps = 10
[output]
trajectory = "none"
"""


def platforms(ranks: int) -> list[Platform]:
    """Returns a torus like the Cray XT4's, with the links, injection and latency that its makers and Alam et al.
    (2007), doi:10.1145/1362622.1362675, give, and a fat tree with links of 100 Gbit/s."""
    nodes = ranks // CORES_OF_A_NODE
    power = nodes.bit_length() - 1
    if nodes != 1 << power:
        raise click.ClickException(f"{ranks} ranks; expected {CORES_OF_A_NODE} times a power of two")
    x, y, z = (1 << ((power + i) // 3) for i in range(3))
    old = Node(2.1e9, 10e9, latency=6e-6, overhead=1e-6, gap=0.5e-6, ranks=CORES_OF_A_NODE)
    new = Node(12.5e9, 100e9, latency=1.5e-6, overhead=0.5e-6, gap=0.3e-6, ranks=CORES_OF_A_NODE)
    return [Platform("torus", Torus((x, y, z), 3.8e9), old), Platform("fat tree", FatTree(nodes, 12.5e9), new)]


def explain(folder: Path, platform: Platform, ranks: int) -> dict[str, Any]:
    map_of_it = folder / f"{platform.name.replace(' ', '_')}.json"
    map_of_it.write_text(json.dumps(platform.machine_file()))
    arguments = ["explain", "run.toml", "-n", str(ranks), "--cores-per-node", str(CORES_OF_A_NODE), "--json"]
    done = systems.tessera([*arguments, "--set", f'parallel.machine="{map_of_it}"'], folder)
    plan: dict[str, Any] = json.loads(done.stdout)
    return plan


def parts_of(plan: dict[str, Any]) -> dict[str, float]:
    """Returns the milliseconds of the parts of a step, the longest first."""
    parts: dict[str, float] = plan["predicted"]["ms_of_parts"]
    return dict(sorted(parts.items(), key=lambda item: -item[1]))


@script()
@click.option("--ions", default=300_763_000, show_default=True, type=int, help="Ions of the crystal.")
@click.option("--potential", default="dlpoly", show_default=True, type=click.Choice(list(IONS)), help="Whose ions.")
@click.option("--ranks", default=1024, show_default=True, type=int, help="Ranks that are planned for.")
def main(common: Common, ions: int, potential: str, ranks: int) -> None:
    """Plan a run of Todorov et al. and say where a step's time goes.

    The folder of --work needs 7 GB.

    \b
    Examples:
      python -m papers.nacl --docs
      python -m papers.nacl --ions 15000000 --ranks 2048 --docs
    """
    slide = SLIDES.get((ions, ranks))
    if slide is None:
        known = ", ".join(f"--ions {n} --ranks {count}" for n, count in SLIDES)
        raise click.UsageError(f"the slides have no run of {ions:,} ions on {ranks:,} ranks; expected {known}")
    folder = common.work / "scale_nacl"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / "nacl.tsr"
    made = systems.tessera(["make", "nacl", "--ions", str(ions), "--potential", potential, "-o", str(path)], folder)
    common.say(f"made {path.name}: {made.wall_seconds:.4g} s")
    atoms, _, seconds, megabytes = read_share(path, ranks)
    (folder / "run.toml").write_text(RUN.format(mesh=slide.mesh))
    where = platforms(ranks)
    plans = [explain(folder, platform, ranks) for platform in where]
    shutil.rmtree(folder)

    names = list(parts_of(plans[0]))
    transforms = ("transforms", "exchanges of the transforms")
    whole = [plan["predicted"]["ms_per_step"] / 1e3 for plan in plans]
    of_transforms = [sum(parts_of(plan)[name] for name in transforms) / 1e3 for plan in plans]
    rows: list[list[Any]] = [[name, "–", *(parts_of(plan)[name] / 1e3 for plan in plans)] for name in names]
    rows.append(["**transforms with their exchanges, s**", slide.transforms, *of_transforms])
    rows.append(["**a step, s**", slide.step, *whole])
    share = f"{slide.transforms / slide.step:.0%}" if slide.transforms is not None else None
    rows.append(["share of transforms", share, *(f"{a / b:.0%}" for a, b in zip(of_transforms, whole))])
    schemes = [next(c["value"] for c in plan["choices"] if c["what"] == "transform") for plan in plans]
    rows.append(["scheme chosen", "–", *schemes])
    rows.append(["memory of the largest rank, MB", "–", *(plan["predicted"]["megabytes_a_rank"] for plan in plans)])
    start: list[list[Any]] = [
        ["make the system file, here", made.wall_seconds],
        [f"read one rank's share of {ranks:,} ({atoms:,} ions), here", seconds],
        ["the whole start, the paper", slide.start],
    ]
    figure = common.figure(slide.figure, slide.title)
    figure.data = {"plans": plans, "make_seconds": made.wall_seconds, "share_seconds": seconds}
    figure.tables = [
        table(["seconds of a step", "Todorov et al.", *(p.name for p in where)], rows),
        table(["start", "s"], start),
    ]
    figure.notes = [
        f"The ions are {IONS[potential]}. "
        f"Planned, not run: {ranks:,} ranks of one thread, {CORES_OF_A_NODE} a node; 12 Å, mesh {slide.mesh}³, "
        f"1 fs. Computing is measured on {plans[0]['predicted']['measured_atoms']:,} ions with "
        f"{plans[0]['predicted']['measured_threads']} threads of this machine. Reading one share took "
        f"{megabytes:.0f} MB of memory."
    ]
    figure.finish(common)


if __name__ == "__main__":
    main()
