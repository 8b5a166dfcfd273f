"""`tessera prepare` makes a system file from the inputs of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from tessera.commands.options import Make, SeveralValues, bounded_output, box_options, pairing_options
from tessera.convert.option import settings_options
from tessera.files import AnyPath
from tessera.system.model import FloatArray

FILE = AnyPath(dir_okay=False)
Box = FloatArray | None


@click.group()
def prepare() -> None:
    """Turn a PDB, or the inputs of CHARMM, CHARMM-GUI, AMBER, GROMACS, OpenMM or DL_POLY, into a system file.

    A system file holds the force field, each kind of molecule once, and the coordinates in the
    order in which parallel ranks read them.
    """


@prepare.command(cls=SeveralValues, name="charmm")
@click.option("--psf", required=True, type=FILE, help="PSF: CHARMM or X-PLOR, standard or EXT.")
@click.option(
    "--coords",
    required=True,
    type=FILE,
    help="Coordinates: PDB, CRD, NAMD binary (.coor) or GENESIS restart.",
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
@bounded_output
@settings_options
def charmm_command(
    psf: Path,
    coords: Path,
    parameters: tuple[Path, ...],
    trust_order: bool,
    box: Box,
    vacuum: bool,
    output: Path,
) -> Make:
    """Read CHARMM, NAMD and GENESIS inputs: PSF, coordinates, parameters.

    \b
    Examples:
      tessera prepare charmm --psf dhfr.psf --coords dhfr.pdb \\
          --topology charmm22.rtf --params par_all22_prot.inp toppar_water_ions.str \\
          --box 62.23 62.23 62.23 -o dhfr.tsr
      tessera prepare charmm --psf jac.psf --coords rst --params toppar.str -o jac.tsr
    """
    from tessera.prepare.charmm import prepare_charmm

    return lambda report: prepare_charmm(psf, coords, parameters, box, vacuum, report, trust_order)


@prepare.command(cls=SeveralValues, name="charmm-gui")
@click.argument("folder", type=AnyPath())
@click.option("--psf", type=FILE, help="PSF, in place of that of the newest step.")
@click.option("--coords", type=FILE, help="Coordinates, in place of those beside the PSF (.crd, else .pdb).")
@click.option(
    "--params",
    "--topology",
    "parameters",
    multiple=True,
    type=FILE,
    help="Parameter files in the order in which CHARMM reads them, in place of toppar.str; repeatable.",
)
@pairing_options
@box_options
@bounded_output
@settings_options
def charmm_gui_command(
    folder: Path,
    psf: Path | None,
    coords: Path | None,
    parameters: tuple[Path, ...],
    trust_order: bool,
    box: Box,
    vacuum: bool,
    output: Path,
) -> Make:
    """An archive of CHARMM-GUI, unpacked: the newest step's PSF, coordinates, parameters and box.

    FOLDER is the archive's top folder or that of a program in it, such as openmm. It stands before the options.

    \b
    Examples:
      tessera prepare charmm-gui charmm-gui-1234567890 -o system.tsr
      tessera prepare charmm-gui charmm-gui-1234567890/openmm -o system.tsr
      tessera prepare charmm-gui charmm-gui-1234567890 --box 74.5 74.5 170 -o system.tsr
      tessera prepare charmm-gui charmm-gui-1234567890 --settings charmm-gui-1234567890/gromacs -o system.tsr
      tessera prepare charmm-gui . --coords namd/step7_1.coor -o later.tsr
    """
    from tessera.prepare.charmm_gui import prepare_charmm_gui

    return lambda report: prepare_charmm_gui(folder, psf, coords, parameters, box, vacuum, report, trust_order)


@prepare.command(cls=SeveralValues, name="amber")
@click.option("--prmtop", required=True, type=FILE, help="AMBER topology.")
@click.option("--coords", required=True, type=FILE, help="Coordinates: inpcrd, rst7, NetCDF restart, PDB or mmCIF.")
@pairing_options
@box_options
@bounded_output
@settings_options
def amber_command(prmtop: Path, coords: Path, trust_order: bool, box: Box, vacuum: bool, output: Path) -> Make:
    """Read AMBER inputs: prmtop and coordinates.

    The prmtop may have a CHARMM force field (CHAMBER).

    \b
    Example:
      tessera prepare amber --prmtop dhfr.prmtop --coords dhfr.inpcrd -o dhfr.tsr
    """
    from tessera.prepare.amber import prepare_amber

    return lambda report: prepare_amber(prmtop, coords, box, vacuum, report, trust_order)


@prepare.command(cls=SeveralValues, name="gromacs")
@click.option("--top", required=True, type=FILE, help="GROMACS topology.")
@click.option("--coords", required=True, type=FILE, help="Coordinates: gro or PDB.")
@click.option("--mdp", type=FILE, help="Run parameters: macros, and how Lennard-Jones ends.")
@click.option(
    "--include",
    type=AnyPath(file_okay=False),
    help="Folder of files that the topology includes, searched before those of GROMACS.",
)
@click.option("-D", "--define", multiple=True, metavar="NAME[=VALUE]", help="A macro, such as FLEXIBLE; repeatable.")
@pairing_options
@box_options
@bounded_output
@settings_options
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
) -> Make:
    """Read GROMACS inputs: topology, coordinates and, optionally, run parameters.

    \b
    Examples:
      tessera prepare gromacs --top topol.top --coords conf.gro --mdp md.mdp -o system.tsr
      tessera prepare gromacs --top topol.top --coords conf.gro -D FLEXIBLE -o system.tsr
      tessera prepare gromacs --top topol.top --coords conf.gro --mdp md.mdp --settings md.mdp -o system.tsr
    """
    from tessera.prepare.gromacs import prepare_gromacs

    return lambda report: prepare_gromacs(
        top, coords, include, box, vacuum, report, trust_order, defines=define, mdp=mdp
    )


@prepare.command(cls=SeveralValues, name="openmm")
@click.option("--system", required=True, type=FILE, help="A System serialised to XML.")
@click.option("--coords", required=True, type=FILE, help="PDB or mmCIF of the same atoms, or a State as XML.")
@box_options
@bounded_output
@settings_options
def openmm_command(system: Path, coords: Path, box: Box, vacuum: bool, output: Path) -> Make:
    """Read OpenMM inputs: a System from XmlSerializer, and coordinates.

    Make the System with constraints=None or HBonds; water may be rigid.

    \b
    Example:
      tessera prepare openmm --system system.xml --coords system.pdb -o system.tsr
    """
    from tessera.prepare.openmm import prepare_openmm_files

    return lambda report: prepare_openmm_files(system, coords, box, vacuum, report, output)


@prepare.command(name="dlpoly")
@click.argument("folder", required=False, type=AnyPath(file_okay=False))
@click.option("--field", type=FILE, help="FIELD, in place of that in FOLDER.")
@click.option("--config", type=FILE, help="CONFIG or REVCON, in place of that in FOLDER.")
@click.option(
    "--control", type=FILE, help="CONTROL of old or new style, in place of that in FOLDER; a run file is made of it."
)
@click.option("--table", type=FILE, help="TABLE of tabulated potentials, in place of that beside FIELD.")
@click.option(
    "--run-file",
    type=AnyPath(dir_okay=False),
    help="The run file to write where there is a CONTROL; default: beside the system file, with its name (SYS.toml).",
)
@bounded_output
def dlpoly_command(
    folder: Path | None,
    field: Path | None,
    config: Path | None,
    control: Path | None,
    table: Path | None,
    run_file: Path | None,
    output: Path,
) -> Make:
    """Read DL_POLY inputs: FIELD, CONFIG and, optionally, CONTROL and TABLE.

    \b
    Examples:
      tessera prepare dlpoly TEST01 -o nacl.tsr
      tessera prepare dlpoly --field FIELD --config REVCON --control CONTROL.nve -o nacl.tsr --run-file nve.toml
    """
    from tessera.prepare.dlpoly.folder import prepare_dlpoly_folder

    return lambda report: prepare_dlpoly_folder(folder, field, config, control, table, output, run_file, report)


@prepare.command(cls=SeveralValues, name="pdb")
@click.argument("pdb", type=FILE)
@click.option(
    "--force-field",
    required=True,
    metavar="NAME",
    help="amber19 (ff19SB), amber14 (ff14SB) or charmm36 (CHARMM36m), with nucleic acids, lipids and ions.",
)
@click.option(
    "--water",
    metavar="MODEL",
    help="opc3, opc, tip3p, tip3pfb, tip4pew, tip4pfb or spce; default: opc3 with amber19, else tip3p. charmm36: its "
    "own tip3p, tip4pew or tip5p.",
)
@click.option(
    "--padding", default=10.0, show_default=True, help="Least distance in Å from the molecules to the faces of the box."
)
@click.option(
    "--box-shape",
    default="cube",
    show_default=True,
    metavar="SHAPE",
    help="cube, or dodecahedron or octahedron: 71 % and 77 % of the cube's volume with the same distance of images.",
)
@click.option(
    "--salt",
    default=0.15,
    show_default=True,
    help="Concentration of NaCl in mol/L, added to the ions that neutralise the system.",
)
@click.option("--ph", default=7.0, show_default=True, help="pH by which protonation states of residues are chosen.")
@click.option("--keep-water", is_flag=True, help="Keep the waters of the PDB.")
@click.option(
    "--extra-force-field",
    "extra",
    multiple=True,
    type=FILE,
    help="OpenMM force-field file (XML) with more residues, such as a ligand; repeatable.",
)
@click.option(
    "--relax", "relax_steps", default=100, show_default=True, help="Steps of minimisation at the end; 0: none."
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    help="Seed of the choice of waters that become ions, and of the first places of hydrogens.",
)
@bounded_output
def pdb_command(
    pdb: Path,
    force_field: str,
    water: str | None,
    padding: float,
    box_shape: str,
    salt: float,
    ph: float,
    keep_water: bool,
    extra: tuple[Path, ...],
    relax_steps: int,
    seed: int,
    output: Path,
) -> Make:
    """Make a system of a PDB: hydrogens, water, ions and a force field of OpenMM.

    The PDB holds proteins, nucleic acids, or molecules that a force-field file has. Missing atoms are built by PDBFixer
    where it is installed (pip install pdbfixer).

    \b
    Examples:
      tessera prepare pdb peptide.pdb --force-field amber19 -o peptide.tsr
      tessera prepare pdb protein.pdb --force-field charmm36 --salt 0.1 --padding 12 -o protein.tsr
      tessera prepare pdb complex.pdb --force-field amber14 --extra-force-field ligand.xml -o complex.tsr
    """
    from tessera.prepare.pdb import prepare_pdb

    return lambda report: prepare_pdb(
        pdb, force_field, water, padding, salt, ph, keep_water, extra, box_shape, relax_steps, seed, report
    )


if __name__ == "__main__":
    prepare()
