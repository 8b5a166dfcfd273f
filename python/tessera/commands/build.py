"""`tessera build` builds molecules from sequences and shapes, and measures those that are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera.commands.building.generated import (
    describe_table,
    described_map,
    fiber_of,
    generate_options,
    write_generated,
)
from tessera.commands.building.solvent import Solvent, solvent_options, water_options
from tessera.commands.options import SeveralValues, memory_option, output_option, progress, run
from tessera.errors import InputError
from tessera.files import AnyPath, check_free
from tessera.machine.quantities import Finite
from tessera.printing import echo, end

if TYPE_CHECKING:
    from tessera.build.dna.paths import Course
    from tessera.build.streamed import Streamed
    from tessera.system import System

FILE = AnyPath(dir_okay=False)


@click.group()
def build() -> None:
    """Build double helices of DNA, nucleosomes and fibres of them, and measure helices."""


seed_option = click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of dihedrals that are tried for tails and loops, of places that are generated, and of water and ions.",
)


def _toppar_option(required: bool, more: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--toppar",
        multiple=True,
        required=required,
        type=FILE,
        help="Topologies (RTF), parameters and streams of CHARMM36, in the order in which CHARMM reads them; "
        f"repeatable.{more}",
    )


toppar_option = _toppar_option(required=True)


@build.command(cls=SeveralValues, name="dna")
@click.argument("sequence", metavar="SEQ.fa", type=FILE)
@click.option(
    "--path",
    default="straight",
    show_default=True,
    metavar="straight|circle|superhelix|FILE",
    type=AnyPath(path_type=str),
    help="Where base pairs lie: on a line; on a closed circle; on the superhelix of the nucleosome 1KX5, or of --pitch "
    "and --diameter; or every 3.4 Å along the smooth curve through the points of a file, three numbers in Å a line, or "
    "four with the twist there.",
)
@click.option(
    "--twist", type=Finite(min=0, min_open=True), help="Degrees from pair to pair [34.29, which is 10.5 pairs a turn]."
)
@click.option(
    "--pitch",
    type=Finite(min=0, min_open=True),
    help="Pitch of a uniform left-handed superhelix, Å [28 with --diameter].",
)
@click.option(
    "--diameter", type=Finite(min=0, min_open=True), help="Its diameter outside the DNA, Å [106 with --pitch]."
)
@toppar_option
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of water and ions.")
@solvent_options
@output_option
def dna_command(
    sequence: Path,
    path: str,
    twist: float | None,
    pitch: float | None,
    diameter: float | None,
    toppar: tuple[Path, ...],
    seed: int,
    solvent: Solvent,
    output: Path,
    as_json: bool,
) -> None:
    """Build a double helix of DNA with all atoms from the sequence of one strand in SEQ.fa, without a box or in water.

    Bases are put into their frames and stay there. Sugars and phosphates move until the force field's bonds, angles,
    torsions and contacts are met. `tessera export` writes a PSF and coordinates of what is built.

    \b
    Examples:
      tessera build dna dna.fa --toppar top_all36_na.rtf par_all36_na.prm -o dna.tsr
      tessera build dna dna.fa --path superhelix --toppar top_all36_na.rtf par_all36_na.prm -o dna.tsr
      tessera build dna dna.fa --path points.txt --twist 35 --toppar na.rtf na.prm -o dna.tsr
      tessera build dna dna.fa --solvate --salt 0.15 --toppar na.rtf na.prm toppar_water_ions.str -o wet.tsr
    """

    def made(report: Callable[[str], None]) -> System | Streamed:
        from tessera.build.dna.helix import build_helix, read_field
        from tessera.build.dna.sequence import read_sequence

        letters = read_sequence(sequence)
        course = _course(len(letters), path, twist, pitch, diameter)
        report("reading the force field")
        names, field = " ".join(file.name for file in (sequence, *toppar)), read_field(toppar)
        system = build_helix(letters, course, field, f"build dna: {names}", report)
        return solvent.around(system, field, seed, output, report)

    run(made, output, as_json, solvent.means)


def _course(n: int, path: str, twist: float | None, pitch: float | None, diameter: float | None) -> Course:
    """Returns where n pairs lie. Raises `InputError` for options that have no meaning there."""
    from tessera.build.dna import paths

    is_uniform = pitch is not None or diameter is not None
    if is_uniform and path != "superhelix":
        raise InputError("--pitch and --diameter are of --path superhelix")
    if path == "superhelix" and not is_uniform:
        if twist is not None:
            raise InputError(
                "the superhelix of 1KX5 has its own twist: leave --twist out, or add --pitch and --diameter"
            )
        return paths.nucleosome(n)
    degrees = paths.TWIST if twist is None else twist
    if path == "superhelix":
        return paths.superhelix(n, pitch or paths.PITCH, diameter or paths.OUTER_DIAMETER, degrees)
    if path == "straight":
        return paths.straight(n, degrees)
    if path == "circle":
        return paths.circle(n, degrees)
    return paths.curve(n, Path(path), twist)


@build.command(cls=SeveralValues, name="nucleosome")
@click.argument("structure", metavar="PDB", type=FILE)
@click.option(
    "--sequence",
    metavar="SEQ.fa",
    type=FILE,
    help="The DNA's first strand from its 5' end, with as many bases as the structure has [the structure's].",
)
@click.option(
    "--octamer-sequence",
    metavar="HISTONES.fa",
    type=FILE,
    help="Sequences of proteins; each chain gets the one that fits it best [what the structure declares].",
)
@click.option(
    "--histidine",
    default="HSD",
    show_default=True,
    type=click.Choice(["HSD", "HSE", "HSP"], case_sensitive=False),
    help="Form of histidines that the structure names HIS: neutral with a hydrogen on Nδ or Nε, or positive.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help="Names of ions and water in the structure that are kept, such as CL and HOH; repeatable [none].",
)
@toppar_option
@seed_option
@solvent_options
@output_option
def nucleosome_command(
    structure: Path,
    sequence: Path | None,
    octamer_sequence: Path | None,
    histidine: str,
    keep: tuple[str, ...],
    toppar: tuple[Path, ...],
    seed: int,
    solvent: Solvent,
    output: Path,
    as_json: bool,
) -> None:
    """Build a nucleosome with all atoms, without a box or in water, from the structure in PDB: a PDB, mmCIF or system
    file with proteins and a double helix of DNA around them.

    Heavy atoms of proteins stay where the structure has them. What it lacks is built from the force field's internal
    coordinates: residues that it or --octamer-sequence declares, side chains, and hydrogens. Bases are put into the
    frames of the structure's; sugars and phosphates, and all that is built, then move until the force field's bonds,
    angles, torsions and contacts are met.

    \b
    Examples:
      tessera build nucleosome 1kx5.pdb --toppar top_all36_prot.rtf par_all36m_prot.prm \\
          top_all36_na.rtf par_all36_na.prm -o nucleosome.tsr
      tessera build nucleosome 1kx5.pdb --sequence 601.fa --toppar prot.rtf prot.prm na.rtf na.prm -o nucleosome.tsr
      tessera build nucleosome 1kx5.pdb --keep CL HOH --toppar prot.rtf prot.prm na.rtf na.prm water.str -o wet.tsr
    """

    def made(report: Callable[[str], None]) -> System | Streamed:
        from tessera.build.dna.helix import read_field
        from tessera.build.dna.sequence import read_sequence
        from tessera.build.nucleosome.assemble import build_nucleosome
        from tessera.build.nucleosome.template import read_template
        from tessera.build.protein.sequences import read_proteins

        letters = None if sequence is None else read_sequence(sequence)
        given = () if octamer_sequence is None else read_proteins(octamer_sequence)
        report("reading the force field")
        field = read_field(toppar)
        template = read_template(structure, field, given, histidine.upper(), seed, report)
        files = (structure, sequence, octamer_sequence, *toppar)
        names = " ".join(file.name for file in files if file is not None)
        system = build_nucleosome(template, field, f"build nucleosome: {names}", letters, keep, seed, report)
        return solvent.around(system, field, seed, output, report)

    run(made, output, as_json, solvent.means)


@build.command(cls=SeveralValues, name="fiber")
@click.argument("table", metavar="[TABLE]", type=FILE, required=False)
@click.option(
    "--sequence", metavar="SEQ.fa", type=FILE, help="The DNA's first strand from its 5' end, linkers included."
)
@click.option(
    "--octamer",
    metavar="PDB",
    type=FILE,
    help="The structure of a nucleosome, of which all are copies; a system file of `tessera build nucleosome` is "
    "copied as it is.",
)
@_toppar_option(required=False)
@generate_options
@seed_option
@solvent_options
@output_option
def fiber_command(
    table: Path | None,
    sequence: Path | None,
    octamer: Path | None,
    toppar: tuple[Path, ...],
    seed: int,
    solvent: Solvent,
    output: Path,
    as_json: bool,
    **generated: Any,
) -> None:
    """Build a fibre of nucleosomes with all atoms, without a box or in water, of --sequence, --octamer and --toppar.

    TABLE says where nucleosomes are, a row for each in the order of the first strand. It is a CSV file whose first row
    names the columns: x, y, z, the centre in Å; axis_x, axis_y, axis_z, the axis of the superhelix as the strand
    climbs; dyad_x, dyad_y, dyad_z, the direction to the dyad; linker, the base pairs to the next nucleosome.

    Linkers are the DNA of least elastic energy between two nucleosomes, which stay. A linker that would have to bend,
    stretch or twist more than DNA can is refused. `tessera clashes` finds what overlaps in a fibre.

    With --generate there is no table: nucleosomes are placed by Monte Carlo. Where the output is a CSV file it is the
    table of these places, for which neither --octamer nor --toppar is needed; the places of beads of tails are in a
    file beside it, fibre.tails.csv, with the columns nucleosome, tail, bead, x, y, z. With --map the fibre has the
    contacts of a map as well as it can, and how well is said.

    \b
    Examples:
      tessera build fiber fibre.csv --sequence fibre.fa --octamer 1kx5.pdb --toppar top_all36_prot.rtf \\
          par_all36m_prot.prm top_all36_na.rtf par_all36_na.prm -o fibre.tsr
      tessera build fiber fibre.csv --sequence fibre.fa --octamer nucleosome.tsr --solvate --salt 0.15 \\
          --toppar prot.rtf prot.prm na.rtf na.prm toppar_water_ions.str -o wet.tsr
      tessera build fiber --generate 12 --linker 48 --seed 1 -o fibre.csv
      tessera build fiber fibre.csv --tails fibre.tails.csv --sequence fibre.fa --octamer nucleosome.tsr \\
          --toppar prot.rtf prot.prm na.rtf na.prm -o fibre.tsr
      tessera build fiber --generate 427 --sequence locus.fa --map map.cool --map-region chr8:11500000-11583000 \\
          -o locus.csv
    """
    if output.suffix == ".csv":
        _write_table(table, sequence, seed, output, as_json, generated)
        return

    def made(report: Callable[[str], None]) -> System | Streamed:
        from tessera.build.dna.helix import read_field
        from tessera.build.dna.sequence import read_sequence
        from tessera.build.fiber.join import build_fiber
        from tessera.build.nucleosome.template import read_template

        if sequence is None or octamer is None or not toppar:
            raise InputError(
                "atoms need --sequence, --octamer and --toppar; without them --generate writes a table: -o fibre.csv"
            )
        letters = read_sequence(sequence)
        # A table is read before what takes long.
        known = None if table is None else fiber_of(table, sequence, None, seed, report, **generated)
        report("reading the force field")
        field = read_field(toppar)
        template = read_template(octamer, field, seed=seed, report=report)
        placed = known or fiber_of(table, sequence, template, seed, report, **generated)
        names = " ".join(file.name for file in (table, sequence, octamer, *toppar) if file is not None)
        source = f"build fiber: {names}"
        system = build_fiber(template, placed.fiber, letters, field, source, report, placed.beads)
        if placed.agreement is not None:
            system.notes.append(described_map(placed.agreement))
        return solvent.around(system, field, seed, output, report)

    run(made, output, as_json, solvent.means)


@build.command(cls=SeveralValues, name="solvate")
@click.argument("molecules", metavar="SYS.tsr", type=FILE)
@toppar_option
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of water and ions.")
@water_options
@output_option
def solvate_command(
    molecules: Path, toppar: tuple[Path, ...], seed: int, solvent: Solvent, output: Path, as_json: bool
) -> None:
    """Put molecules without a box, in a system file, into a periodic box of TIP3P water with ions.

    So they may be minimised, or their clashes mended, before water is around them. --toppar are the files of CHARMM36
    with which the molecules were made, and toppar_water_ions.str. The box consists of whole tiles of water, 18.6 Å
    wide; neither water nor ions need fit into memory.

    \b
    Examples:
      tessera build solvate mended.tsr --salt 0.15 --toppar prot.rtf prot.prm na.rtf na.prm toppar_water_ions.str \\
          -o wet.tsr
      tessera build solvate locus.tsr --box 1907 2252 2485 --salt 0.15 --toppar prot.rtf prot.prm na.rtf na.prm \\
          toppar_water_ions.str --memory 4 -o wet.tsr
    """

    def made(report: Callable[[str], None]) -> System | Streamed:
        from tessera.build.dna.helix import read_field
        from tessera.build.solvent.solute import read_solute

        report("reading")
        field = read_field(toppar)
        return solvent.around(read_solute(molecules, field.parameters), field, seed, output, report)

    run(made, output, as_json, solvent.means)


@build.command(cls=SeveralValues, name="charges")
@click.argument("structure", metavar="PDB", type=FILE)
@click.option(
    "--salt",
    required=True,
    type=Finite(min=0.001, max=1.0),
    metavar="M",
    help="Concentration of a monovalent salt, 0.001 to 1 mol/L.",
)
@click.option(
    "--tails",
    default="cut",
    show_default=True,
    type=click.Choice(["cut", "keep"]),
    help="Whether charges stand for the tails of histones, too: 40 residues of H3, 25 of H4 and H2B, and of H2A 20 at "
    "the beginning and 15 at the end.",
)
@click.option(
    "--points", default=300, show_default=True, type=click.IntRange(min=10, max=1000), help="Number of charges."
)
@_toppar_option(
    required=False,
    more=" Needed to build the nucleosome of a PDB or mmCIF file; a system file has its charges.",
)
@seed_option
@memory_option("How much memory may be used.", default=4.0)
@click.option(
    "-o",
    "--output",
    required=True,
    type=AnyPath(dir_okay=False),
    help="The file of charges to write (CSV).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
def charges_command(
    structure: Path,
    salt: float,
    tails: str,
    points: int,
    toppar: tuple[Path, ...],
    seed: int,
    memory: float,
    output: Path,
    as_json: bool,
) -> None:
    """Put Debye–Hückel charges in place of the core of a nucleosome in a salt, for models of chromatin.

    PDB is the system file of a nucleosome that was built, or a structure (PDB or mmCIF) that is built first. Beyond 5 Å
    off its surface the charges have the field of the nonlinear equation of Poisson and Boltzmann as nearly as charges
    can. The program APBS solves it (Debian's package apbs). The file has the columns x, y, z in Å and charge in e, in
    the frame of tables of nucleosomes: the centre is beside the dyad on the axis of the superhelix, z along it as the
    first strand climbs, x to the dyad.

    \b
    Examples:
      tessera build charges nucleosome.tsr --salt 0.15 -o charges.csv
      tessera build charges 1kx5.pdb --salt 0.15 --toppar top_all36_prot.rtf par_all36m_prot.prm \\
          top_all36_na.rtf par_all36_na.prm -o charges.csv
    """
    from tessera.build.charges.command import charges_of

    try:
        with progress(quiet=as_json) as report:
            made = charges_of(structure, salt, tails == "keep", points, toppar, seed, int(memory * 1e9), output, report)
    except (InputError, OSError) as error:
        raise end(error) from None
    facts = {"charges": str(output), **made.facts()}
    echo(json.dumps(facts) if as_json else made.text(output))


def _write_table(
    table: Path | None, sequence: Path | None, seed: int, output: Path, as_json: bool, generated: dict[str, Any]
) -> None:
    try:
        if table is not None:
            raise InputError(
                f"{output.name} is a table: expected a system file (.tsr), or --generate in place of a table"
            )
        check_free(output, force=True)
        with progress(quiet=as_json) as report:
            facts = write_generated(output, sequence, seed, report, **generated)
    except (InputError, OSError) as error:
        raise end(error) from None
    echo(json.dumps(facts) if as_json else describe_table(facts))


@build.command(name="analyse")
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the parameters of every step and pair as one JSON object.")
def analyse_command(file: Path, as_json: bool) -> None:
    """Measure the double helix in FILE: a PDB, mmCIF or system file. Proteins, water and ions beside it do not count.

    Steps between base pairs have shift, slide, rise, tilt, roll and twist, and pairs shear, stretch, stagger, buckle,
    propeller and opening, in Å and degrees, by the convention of 3DNA. The superhelix is the one nearest to the path of
    the pairs; there is none where it makes less than a quarter of a turn, or is narrower than the DNA.

    \b
    Examples:
      tessera build analyse 1kx5.pdb
      tessera build analyse dna.tsr --json
    """
    from tessera.build.dna.analyse import analyse

    try:
        found = analyse(file)
    except (InputError, OSError) as error:
        raise end(error) from None
    echo(json.dumps(found.facts()) if as_json else found.text())


if __name__ == "__main__":
    build()
