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


@dataclass(frozen=True)
class Solvent:
    """Whether there is water, the salt in it (mol/L), its least thickness (Å), and what may be used to make it."""

    is_wanted: bool
    salt: float
    padding: float
    means: Means

    def around(
        self, system: System, field: ForceField, seed: int, output: Path, report: Callable[[str], None]
    ) -> System | Streamed:
        """Returns a system, in water if that is wanted. Raises `InputError` where memory or disk are too small."""
        if not self.is_wanted:
            return system
        from tessera.build.memory import check_copies
        from tessera.build.solvent.solvated import solvated

        made = solvated(system, field, self.salt, self.padding, seed, report)
        check_copies(made, output, self.means.memory, self.means.processes)
        return made


def solvent_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--solvate`, `--salt`, `--padding` and `--memory`, of which the function gets `solvent`."""

    @functools.wraps(function)
    def with_solvent(*, solvate: bool, salt: float | None, padding: float | None, memory: float, **others: Any) -> None:
        if not solvate and (salt is not None or padding is not None):
            name = "--padding" if salt is None else "--salt"
            raise end(InputError(f"{name} is of water: add --solvate"))
        means = Means(int(memory * 1e9), usable_cores())
        function(solvent=Solvent(solvate, salt or 0.0, _PADDING if padding is None else padding, means), **others)

    for option in (
        memory_option("How much memory may be used to write water; the file is the same with any."),
        click.option(
            "--padding",
            type=Finite(min=0, min_open=True),
            metavar="Å",
            help=f"The least distance of the molecules from the faces of the box [{_PADDING:g}].",
        ),
        click.option(
            "--salt",
            type=Finite(min=0, max=_MOST_SALT),
            metavar="M",
            help="Sodium chloride in the water, mol/L, beside the ions that neutralise the molecules [0].",
        ),
        click.option(
            "--solvate",
            is_flag=True,
            help="Put the molecules into a periodic box of TIP3P water with ions, which --toppar must have "
            "(toppar_water_ions.str).",
        ),
    ):
        with_solvent = option(with_solvent)
    return with_solvent
