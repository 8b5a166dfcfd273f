"""The options of `tessera build fiber --generate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.machine.quantities import Finite

if TYPE_CHECKING:
    from tessera.build.fiber.core import Core
    from tessera.build.fiber.folding import Agreement
    from tessera.build.fiber.generate import Generated
    from tessera.build.fiber.table import Nucleosomes
    from tessera.build.fiber.tails import Beads
    from tessera.build.nucleosome.template import Template

BEADS, CRYSTAL = "beads", "crystal"
_FILE = AnyPath(dir_okay=False)
_OPTIONS = (
    click.option(
        "--generate",
        metavar="N",
        type=click.IntRange(1, 100_000),
        help="Place this many nucleosomes in a compact globule, by Monte Carlo, in place of a table.",
    ),
    click.option(
        "--linker",
        metavar="BP",
        type=click.IntRange(1, 10_000),
        help="With --generate: base pairs of every linker [what the sequence leaves, evenly].",
    ),
    click.option(
        "--ionic-strength",
        default=0.15,
        show_default=True,
        metavar="M",
        type=Finite(min=0.001, max=1.0),
        help="With --generate: monovalent salt in mol/L, by which charges see each other.",
    ),
    click.option(
        "--charges",
        metavar="FILE",
        type=_FILE,
        help="With --generate: a CSV file of the charges of a nucleosome, x, y, z, charge in Å and e in its own frame, "
        "for the salt of --ionic-strength, without tails unless these are --tails crystal [those of 1KX5, renormalised "
        "as DNA is].",
    ),
    click.option(
        "--map",
        "contact_map",
        metavar="FILE",
        type=_FILE,
        help="With --generate: a map of contacts by which the fibre is folded, a CSV file with the columns one, other, "
        "contacts or a file of cooler (.cool).",
    ),
    click.option(
        "--map-region",
        metavar="REGION",
        help="With --map: the base pairs of a file of cooler from whose beginning on the fibre lies, such as "
        "chr8:11500000-11600000 [its first ones].",
    ),
    click.option(
        "--tails",
        metavar="beads|crystal|FILE",
        type=AnyPath(path_type=str),
        help="Tails of histones. With --generate: chains of beads, which move like all else and along which tails of "
        "atoms are posed, or a part of the core, where the octamer has them [beads]. With a table: a file of beads, "
        "along which they are posed, or where the octamer has them [crystal].",
    ),
    click.option(
        "--radius",
        metavar="Å",
        type=Finite(min=60.0, max=1e6),
        help="With --generate: the radius of the sphere that holds all [0.25 mmol/L of nucleosomes: 878 Å for 427].",
    ),
    click.option(
        "--sweeps",
        default=200,
        show_default=True,
        metavar="N",
        type=click.IntRange(min=1),
        help="With --generate: moves for each bead and nucleosome, once all are in the sphere.",
    ),
)


def generate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which takes them as `**generated`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Placed:
    """A fibre, how well it has the contacts of a map if there was one, and the beads of the tails of each nucleosome,
    if tails are to be posed along them."""

    fiber: Nucleosomes
    agreement: Agreement | None
    beads: list[list[Beads]] | None


def fiber_of(
    table: Path | None,
    sequence: Path | None,
    template: Template | None,
    seed: int,
    report: Callable[[str], None],
    **options: Any,
) -> Placed:
    """Returns the fibre of a table, or generates one, of copies of a template if there is one. Raises `InputError`."""
    from tessera.build.fiber.table import read_table
    from tessera.build.fiber.tails import beads_of, read_beads

    if (table is None) == (options["generate"] is None):
        raise InputError("expected either a table of nucleosomes or --generate N")
    if options["contact_map"] is None and options["map_region"] is not None:
        raise InputError("--map-region is of a map: give --map FILE, too")
    if table is not None:
        if options["contact_map"] is not None:
            raise InputError("--map folds what --generate N places: a table has its places already")
        fiber, tails = read_table(table), options["tails"]
        if tails == BEADS:
            raise InputError(
                "--tails beads samples tails with --generate: to a table give the file of beads, or --tails crystal"
            )
        known = None if tails in (None, CRYSTAL) else read_beads(Path(tails), len(fiber.frames))
        return Placed(fiber, None, known)
    made, core = _generated(sequence, template, seed, report, **options)
    beads = beads_of(core.tails, made.beads, made.fiber.file) if core.tails else None
    return Placed(made.fiber, made.agreement, beads)


def _generated(
    sequence: Path | None,
    template: Template | None,
    seed: int,
    report: Callable[[str], None],
    generate: int,
    linker: int | None,
    ionic_strength: float,
    charges: Path | None,
    contact_map: Path | None,
    map_region: str | None,
    tails: str | None,
    radius: float | None,
    sweeps: int,
) -> tuple[Generated, Core]:
    from tessera.build.dna.sequence import read_sequence
    from tessera.build.fiber import core
    from tessera.build.fiber.generate import Request, even_linkers, own_radius
    from tessera.build.fiber.generate import generate as generated
    from tessera.build.fiber.maps import read_map
    from tessera.build.fiber.tails import tails_of
    from tessera.build.nucleosome.template import OWN

    if tails not in (None, BEADS, CRYSTAL):
        raise InputError(f"--tails is {tails[:60]!r}: with --generate expected {BEADS} or {CRYSTAL}")
    values = None if charges is None else core.read_charges(charges, ionic_strength)
    has_beads = tails != CRYSTAL
    if template is None:
        own = core.core(ionic_strength, values, tails=core.own_tails() if has_beads else ())
    else:
        moved = template.moved(OWN)
        try:
            chains, atoms = tails_of(moved.proteins, "the octamer") if has_beads else ((), moved.proteins.position)
        except InputError as error:
            raise InputError(f"{error}; without beads of tails: --tails {CRYSTAL}") from None
        own = core.core(ionic_strength, values, (moved.wrapped.course.pairs, atoms), chains)
    if linker is not None:
        linkers = (linker,) * (generate - 1)
    elif sequence is not None:
        linkers = even_linkers(generate, len(own.pairs), len(read_sequence(sequence)))
    else:
        raise InputError("expected --linker BP or --sequence SEQ.fa, by which linkers have their lengths")
    size = own_radius(generate) if radius is None else radius
    length = sum(linkers) + generate * len(own.pairs)
    contacts = None if contact_map is None else read_map(contact_map, length, map_region)
    return generated(Request(linkers, ionic_strength, size, sweeps, seed, contacts), own, report), own


def write_generated(
    output: Path, sequence: Path | None, seed: int, report: Callable[[str], None], **options: Any
) -> dict[str, Any]:
    """Makes a fibre of 1KX5's nucleosomes and writes its table, and beside it the beads of tails. Returns what a user
    wants to know. Raises `InputError`."""
    from tessera.build.fiber.generate import write_table
    from tessera.build.fiber.tails import write_beads

    made = fiber_of(None, sequence, None, seed, report, **options)
    fiber = made.fiber
    asked = f"--generate {options['generate']} --ionic-strength {options['ionic_strength']:g} --seed {seed}"
    if options["contact_map"] is not None:
        asked += f" --map {options['contact_map'].name}"
    if options["tails"] is not None:
        asked += f" --tails {options['tails']}"
    write_table(output, fiber, [f"made by: tessera build fiber {asked}"])
    if made.beads is not None:
        write_beads(beads_beside(output), made.beads, [f"made by: tessera build fiber {asked}"])
    origin = fiber.frames.origin
    return {
        "file": output.name,
        "nucleosomes": len(origin),
        "linkers": sum(fiber.linkers),
        "size": (origin.max(axis=0) - origin.min(axis=0)).round(1).tolist(),
        "radius_of_gyration": round(float(np.sqrt(origin.var(axis=0).sum())), 1),
        **({} if made.beads is None else {"tails": beads_beside(output).name}),
        **({} if made.agreement is None else {"map": _facts_of(made.agreement)}),
    }


def beads_beside(table: Path) -> Path:
    """Returns the file of the beads of tails that belongs to a table."""
    return table.with_suffix(f".tails{table.suffix}")


def describe_table(facts: dict[str, Any]) -> str:
    """Returns these facts as text."""
    size = " × ".join(f"{x:.0f}" for x in facts["size"])
    text = (
        f"{facts['file']}: {facts['nucleosomes']:,} nucleosomes with {facts['linkers']:,} base pairs of linkers; their "
        f"centres fill {size} Å, with a radius of gyration of {facts['radius_of_gyration']:.0f} Å"
    )
    if "tails" in facts:
        text += f"; beads of their tails are in {facts['tails']}"
    found = facts.get("map")
    return text if found is None else f"{text}; {_text_of_map(**found)}"


def described_map(agreement: Agreement) -> str:
    """Says how well a fibre has the contacts of a map."""
    return _text_of_map(**_facts_of(agreement))


def _facts_of(agreement: Agreement) -> dict[str, Any]:
    return {
        "law": agreement.law,
        "correlation": round(agreement.correlation, 3),
        "observed_over_expected": round(agreement.beside_separation, 3),
    }


def _text_of_map(law: str, correlation: float, observed_over_expected: float) -> str:
    return (
        f"its contacts and those of the map correlate by {correlation:.2f}, and by {observed_over_expected:.2f} as "
        f"parts of the mean at each separation (law: {law})"
    )
