"""`tessera prepare`: a system file from the inputs of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from tessera.prepare.options import SeveralValues, box_of, box_options, output_option, run

FILE = click.Path(dir_okay=False, path_type=Path)
Box = tuple[float, float, float] | None


@click.group()
def prepare() -> None:
    """Turn the inputs of CHARMM, AMBER, GROMACS or OpenMM into a system file.

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
@click.option("--params", multiple=True, type=FILE, help="Parameter or stream files; repeatable.")
@click.option("--topology", multiple=True, type=FILE, help="Topology or stream files; repeatable.")
@box_options
@output_option
def charmm_command(
    psf: Path,
    coords: Path,
    params: tuple[Path, ...],
    topology: tuple[Path, ...],
    box: Box,
    vacuum: bool,
    output: Path,
    as_json: bool,
) -> None:
    """CHARMM, NAMD and GENESIS inputs: PSF, coordinates, parameters.

    \b
    Examples:
      tessera prepare charmm --psf dhfr.psf --coords dhfr.pdb \\
          --params par_all22_prot.inp --topology charmm22.rtf \\
          --params toppar_water_ions.str --box 62.23 62.23 62.23 -o dhfr.tsr
      tessera prepare charmm --psf jac.psf --coords rst --params par.prm -o jac.tsr
    """
    from tessera.prepare.charmm import prepare_charmm

    run(
        lambda report: prepare_charmm(
            psf, coords, [*topology, *params], box_of(box), vacuum, report
        ),
        output,
        as_json,
    )


if __name__ == "__main__":
    prepare()
