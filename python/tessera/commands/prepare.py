"""`tessera prepare` makes a system file from the inputs of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from tessera.prepare.options import SeveralValues, box_of, box_options, output_option, pairing_options, run

FILE = click.Path(dir_okay=False, path_type=Path)
Box = tuple[float, float, float] | None


@click.group()
def prepare() -> None:
    """Turn the inputs of CHARMM, CHARMM-GUI, AMBER, GROMACS or OpenMM into a system file.

    A system file holds the force field, each kind of molecule once, and the coordinates in the
    order in which parallel ranks read them.
    """


@prepare.command(cls=SeveralValues, name="charmm")
@click.option("--psf", required=True, type=FILE, help="PSF: CHARMM or X-PLOR, standard or EXT.")
@click.option(
    "--coords",
    required=True,
    type=FILE,
    help="PDB, CRD, NAMD binary (.coor) or GENESIS restart.",
)
@click.option(
    "--params",
    "--topology",
    "parameters",
    multiple=True,
    type=FILE,
    help="Parameter, topology, stream and list files, in the order in which CHARMM reads them; repeatable.",
)
@pairing_options
@box_options
@output_option
def charmm_command(
    psf: Path,
    coords: Path,
    parameters: tuple[Path, ...],
    trust_order: bool,
    box: Box,
    vacuum: bool,
    output: Path,
    as_json: bool,
) -> None:
    """Read CHARMM, NAMD and GENESIS inputs: PSF, coordinates, parameters.

    \b
    Examples:
      tessera prepare charmm --psf dhfr.psf --coords dhfr.pdb \\
          --topology charmm22.rtf --params par_all22_prot.inp toppar_water_ions.str \\
          --box 62.23 62.23 62.23 -o dhfr.tsr
      tessera prepare charmm --psf jac.psf --coords rst --params toppar.str -o jac.tsr
    """
    from tessera.prepare.charmm import prepare_charmm

    run(
        lambda report: prepare_charmm(psf, coords, parameters, box_of(box), vacuum, report, trust_order),
        output,
        as_json,
    )


@prepare.command(cls=SeveralValues, name="charmm-gui")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--psf", type=FILE, help="PSF, for that of the newest step.")
@click.option("--coords", type=FILE, help="Coordinates, for those beside the PSF (.crd, else .pdb).")
@click.option(
    "--params",
    "--topology",
    "parameters",
    multiple=True,
    type=FILE,
    help="Parameter files in the order in which CHARMM reads them, for toppar.str; repeatable.",
)
@pairing_options
@box_options
@output_option
def charmm_gui_command(
    folder: Path,
    psf: Path | None,
    coords: Path | None,
    parameters: tuple[Path, ...],
    trust_order: bool,
    box: Box,
    vacuum: bool,
    output: Path,
    as_json: bool,
) -> None:
    """An archive of CHARMM-GUI, unpacked: the newest step's PSF, coordinates, parameters and box.

    FOLDER is the archive's top folder or that of a program in it, such as openmm. It stands before the options.

    \b
    Examples:
      tessera prepare charmm-gui charmm-gui-1234567890 -o system.tsr
      tessera prepare charmm-gui charmm-gui-1234567890/openmm -o system.tsr
      tessera prepare charmm-gui charmm-gui-1234567890 --box 74.5 74.5 170 -o system.tsr
      tessera prepare charmm-gui . --coords namd/step7_1.coor -o later.tsr
    """
    from tessera.prepare.charmm_gui import prepare_charmm_gui

    run(
        lambda report: prepare_charmm_gui(folder, psf, coords, parameters, box_of(box), vacuum, report, trust_order),
        output,
        as_json,
    )


@prepare.command(name="amber")
@click.option("--prmtop", required=True, type=FILE, help="AMBER topology.")
@click.option("--coords", required=True, type=FILE, help="inpcrd, rst7, NetCDF restart, PDB or mmCIF.")
@pairing_options
@box_options
@output_option
def amber_command(
    prmtop: Path, coords: Path, trust_order: bool, box: Box, vacuum: bool, output: Path, as_json: bool
) -> None:
    """Read AMBER inputs: prmtop and coordinates.

    The prmtop may have a CHARMM force field (CHAMBER).

    \b
    Example:
      tessera prepare amber --prmtop dhfr.prmtop --coords dhfr.inpcrd -o dhfr.tsr
    """
    from tessera.prepare.amber import prepare_amber

    run(
        lambda report: prepare_amber(prmtop, coords, box_of(box), vacuum, report, trust_order),
        output,
        as_json,
    )


@prepare.command(name="gromacs")
@click.option("--top", required=True, type=FILE, help="GROMACS topology.")
@click.option("--coords", required=True, type=FILE, help="gro or PDB.")
@click.option("--mdp", type=FILE, help="Run parameters: macros, and how Lennard-Jones ends.")
@click.option(
    "--include",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the files that the topology includes, searched before those of GROMACS.",
)
@click.option("-D", "--define", multiple=True, metavar="NAME[=VALUE]", help="A macro, such as FLEXIBLE; repeatable.")
@pairing_options
@box_options
@output_option
def gromacs_command(
    top: Path,
    coords: Path,
    mdp: Path | None,
    include: Path | None,
    trust_order: bool,
    define: tuple[str, ...],
    box: Box,
    vacuum: bool,
    output: Path,
    as_json: bool,
) -> None:
    """Read GROMACS inputs: topology, coordinates and, optionally, run parameters.

    \b
    Examples:
      tessera prepare gromacs --top topol.top --coords conf.gro --mdp md.mdp -o system.tsr
      tessera prepare gromacs --top topol.top --coords conf.gro -D FLEXIBLE -o system.tsr
    """
    from tessera.prepare.gromacs import prepare_gromacs

    run(
        lambda report: prepare_gromacs(
            top, coords, include, box_of(box), vacuum, report, trust_order, defines=define, mdp=mdp
        ),
        output,
        as_json,
    )


@prepare.command(name="openmm")
@click.option("--system", required=True, type=FILE, help="A System serialised to XML.")
@click.option("--coords", required=True, type=FILE, help="PDB of the same atoms.")
@box_options
@output_option
def openmm_command(system: Path, coords: Path, box: Box, vacuum: bool, output: Path, as_json: bool) -> None:
    """Read OpenMM inputs: a System from XmlSerializer and a PDB.

    Make the System with constraints=None; water may be rigid.

    \b
    Example:
      tessera prepare openmm --system system.xml --coords system.pdb -o system.tsr
    """
    from tessera.prepare.openmm import prepare_openmm_files

    run(
        lambda report: prepare_openmm_files(system, coords, box_of(box), vacuum, report),
        output,
        as_json,
    )


if __name__ == "__main__":
    prepare()
