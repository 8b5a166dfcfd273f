"""The options of `tessera build fiber --generate`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from tessera.errors import InputError
from tessera.machine.quantities import Finite

if TYPE_CHECKING:
    from tessera.build.fiber.folding import Agreement
    from tessera.build.fiber.generate import Generated
    from tessera.build.fiber.table import Nucleosomes
    from tessera.build.nucleosome.template import Template

_FILE = click.Path(dir_okay=False, path_type=Path)
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
        "for the salt of --ionic-strength [those of 1KX5, renormalised as DNA is].",
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


def fiber_of(
    table: Path | None,
    sequence: Path | None,
    template: Template | None,
    seed: int,
    report: Callable[[str], None],
    **options: Any,
) -> tuple[Nucleosomes, Agreement | None]:
    """Returns the fibre of a table, or generates one, of copies of a template if there is one, and how well it has the
    contacts of a map. Raises `InputError`."""
    from tessera.build.fiber.table import read_table

    if (table is None) == (options["generate"] is None):
        raise InputError("expected either a table of nucleosomes or --generate N")
    if options["contact_map"] is None and options["map_region"] is not None:
        raise InputError("--map-region is of a map: give --map FILE, too")
    if table is not None:
        if options["contact_map"] is not None:
            raise InputError("--map folds what --generate N places: a table has its places already")
        return read_table(table), None
    made = _generated(sequence, template, seed, report, **options)
    return made.fiber, made.agreement


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
    radius: float | None,
    sweeps: int,
) -> Generated:
    from tessera.build.dna.sequence import read_sequence
    from tessera.build.fiber import core
    from tessera.build.fiber.generate import Request, even_linkers, own_radius
    from tessera.build.fiber.generate import generate as generated
    from tessera.build.fiber.maps import read_map
    from tessera.build.nucleosome.template import OWN

    values = None if charges is None else core.read_charges(charges, ionic_strength)
    if template is None:
        own = core.core(ionic_strength, values)
    else:
        moved = template.moved(OWN)
        own = core.core(ionic_strength, values, (moved.wrapped.course.pairs, moved.proteins.position))
    if linker is not None:
        linkers = (linker,) * (generate - 1)
    elif sequence is not None:
        linkers = even_linkers(generate, len(own.pairs), len(read_sequence(sequence)))
    else:
        raise InputError("expected --linker BP or --sequence SEQ.fa, by which linkers have their lengths")
    size = own_radius(generate) if radius is None else radius
    length = sum(linkers) + generate * len(own.pairs)
    contacts = None if contact_map is None else read_map(contact_map, length, map_region)
    return generated(Request(linkers, ionic_strength, size, sweeps, seed, contacts), own, report)


def write_generated(
    output: Path, sequence: Path | None, seed: int, report: Callable[[str], None], **options: Any
) -> dict[str, Any]:
    """Makes a fibre of 1KX5's nucleosomes and writes its table. Returns what a user wants to know. Raises
    `InputError`."""
    from tessera.build.fiber.generate import write_table

    fiber, agreement = fiber_of(None, sequence, None, seed, report, **options)
    asked = f"--generate {options['generate']} --ionic-strength {options['ionic_strength']:g} --seed {seed}"
    if options["contact_map"] is not None:
        asked += f" --map {options['contact_map'].name}"
    write_table(output, fiber, [f"made by: tessera build fiber {asked}"])
    origin = fiber.frames.origin
    return {
        "file": output.name,
        "nucleosomes": len(origin),
        "linkers": sum(fiber.linkers),
        "size": (origin.max(axis=0) - origin.min(axis=0)).round(1).tolist(),
        "radius_of_gyration": round(float(np.sqrt(origin.var(axis=0).sum())), 1),
        **({} if agreement is None else {"map": _facts_of(agreement)}),
    }


def describe_table(facts: dict[str, Any]) -> str:
    """Returns these facts as text."""
    size = " × ".join(f"{x:.0f}" for x in facts["size"])
    text = (
        f"{facts['file']}: {facts['nucleosomes']:,} nucleosomes with {facts['linkers']:,} base pairs of linkers; their "
        f"centres fill {size} Å, with a radius of gyration of {facts['radius_of_gyration']:.0f} Å"
    )
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
