"""All files of an export: each replaces its name when all are written, and none is written where one fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tessera.errors import InputError
from tessera.export import dlpoly
from tessera.export.configuration import Configuration
from tessera.export.formats import FORMATS
from tessera.export.psf import NAME as PSF
from tessera.export.psf import write_psf
from tessera.export.structure import Structure, structure_of
from tessera.files import check_free, named, real_path, replaced
from tessera.ranks import ALONE, Ranks
from tessera.select.universe import selected
from tessera.system import System
from tessera.way import Way

SUFFIXES = (*FORMATS, ".psf", *dlpoly.ENDINGS)


@dataclass
class Written:
    path: Path
    format: str
    notes: list[str]


def check_outputs(outputs: Sequence[Path], force: bool) -> None:
    """Raises `InputError` for endings that are unknown, folders that are missing and files that are there."""
    for output in outputs:
        if output.suffix.lower() not in SUFFIXES and not dlpoly.is_config(output):
            known = ", ".join([*SUFFIXES, f"or the name {' or '.join(dlpoly.NAMES)}"])
            raise InputError(f"{output}: the ending says no format; expected one of {known}")
        check_free(output, force)
    if len({real_path(output) for output in outputs}) < len(outputs):
        raise InputError("-o names the same file twice")


def write_all(
    configuration: Configuration,
    outputs: Sequence[Path],
    select: str | None,
    whole: bool,
    report: Callable[[str], None],
    ranks: Ranks = ALONE,
    way: Way = Way(),  # noqa: B008
) -> tuple[Structure, list[Written]]:
    """Writes each output in the format of its ending as the root, a CONFIG with the other ranks, which call
    `take_part`. Raises `InputError`."""
    report("putting molecules together")
    title = f"{configuration.title} (tessera export)"
    structure = structure_of(configuration.system, title, configuration.time or 0.0, whole)
    if select is not None:
        report("selecting")
        structure = structure.subset(selected(structure, select, configuration.system))
    written = []
    with ExitStack() as stack:
        for output in outputs:
            report(f"writing {output.name}")
            try:
                temporary = stack.enter_context(replaced(output))
                if dlpoly.is_config(output):
                    step, timestep = configuration.step or 0, configuration.timestep or 0.0
                    notes = dlpoly.write_config(structure, temporary, ranks, way, step, timestep)
                    written.append(Written(output, dlpoly.NAME, notes))
                else:
                    written.append(_write(configuration.system, structure, output, temporary))
            except InputError as error:
                raise InputError(named(str(error), output)) from None
            except OSError as error:
                raise InputError(f"{output} can't be written: {error.strerror or error}") from None
    return structure, written


def take_part(outputs: Sequence[Path], ranks: Ranks, way: Way) -> None:
    """Writes a rank's share of what the root writes with `write_all`. Raises `InputError`."""
    for output in outputs:
        if dlpoly.is_config(output):
            dlpoly.write_share(ranks, way)


def _write(system: System, structure: Structure, output: Path, temporary: Path) -> Written:
    suffix = output.suffix.lower()
    if suffix == ".psf":
        return Written(output, PSF, write_psf(structure, system, temporary))
    return Written(output, FORMATS[suffix].name, FORMATS[suffix].write(structure, temporary))
