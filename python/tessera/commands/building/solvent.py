"""Options of the commands that put what they build into water."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera.commands.options import Means, memory_option
from tessera.errors import InputError
from tessera.launch import usable_cores
from tessera.machine.quantities import Finite
from tessera.printing import end

if TYPE_CHECKING:
    from tessera.build.dna.strand import ForceField
    from tessera.build.streamed import Streamed
    from tessera.system import System

_PADDING = 12.0  # Å
_MOST_SALT = 6.0  # mol/L, which is more than dissolves
_EDGE = Finite(min=0, min_open=True)


@dataclass(frozen=True)
class Solvent:
    """Whether there is water, the salt in it (mol/L), its least thickness or the least edges of the box (Å), whether
    the molecules are turned so that there is little of it, and what may be used to make it."""

    is_wanted: bool
    salt: float
    padding: float
    edges: tuple[float, float, float] | None
    is_turned: bool
    means: Means

    def around(
        self, system: System, field: ForceField, seed: int, output: Path, report: Callable[[str], None]
    ) -> System | Streamed:
        """Returns a system, in water if that is wanted. Raises `InputError` where memory or disk are too small."""
        if not self.is_wanted:
            return system
        from tessera.build.memory import check_copies
        from tessera.build.solvent.solvated import Extent, solvated

        extent = Extent(self.padding, self.edges, self.is_turned)
        made = solvated(system, field, self.salt, extent, seed, report, self.means.processes)
        check_copies(made, output, self.means.memory, self.means.processes)
        return made


def water_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--salt`, `--padding`, `--box`, `--turn` and `--memory`, of which the function gets `solvent`."""

    @functools.wraps(function)
    def with_solvent(
        *,
        salt: float | None,
        padding: float | None,
        box: tuple[float, float, float] | None,
        turn: bool,
        memory: float,
        solvate: bool = True,
        **others: Any,
    ) -> None:
        for name, value in (("--salt", salt), ("--padding", padding), ("--box", box), ("--turn", turn or None)):
            if value is not None and not solvate:
                raise end(InputError(f"{name} is of water: add --solvate"))
        if padding is not None and box is not None:
            raise end(InputError("--padding and --box both say how much water there is: give one of them"))
        if turn and box is not None:
            raise end(InputError("--turn finds a small box and --box gives one: leave one of them out"))
        means = Means(int(memory * 1e9), usable_cores())
        solvent = Solvent(solvate, salt or 0.0, _PADDING if padding is None else padding, box, turn, means)
        function(solvent=solvent, **others)

    for option in (
        memory_option("How much memory may be used to write water; the file is the same with any."),
        click.option(
            "--turn",
            is_flag=True,
            help="Turn the molecules so that the box is small. What tumbles in it may come near to its own images.",
        ),
        click.option(
            "--box",
            nargs=3,
            type=_EDGE,
            metavar="A B C",
            help="The least edges of the box in Å, in place of --padding.",
        ),
        click.option(
            "--padding",
            type=_EDGE,
            metavar="Å",
            help=f"The least distance of the molecules from the faces of the box [{_PADDING:g}].",
        ),
        click.option(
            "--salt",
            type=Finite(min=0, max=_MOST_SALT),
            metavar="M",
            help="Sodium chloride in the water, mol/L, beside the ions that neutralise the molecules [0].",
        ),
    ):
        with_solvent = option(with_solvent)
    return with_solvent


def solvent_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--solvate` and the options of water, of which the function gets `solvent`."""
    return click.option(
        "--solvate",
        is_flag=True,
        help="Put the molecules into a periodic box of TIP3P water with ions, which --toppar must have "
        "(toppar_water_ions.str).",
    )(water_options(function))
