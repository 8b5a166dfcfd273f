"""The option `--settings` of `tessera prepare`: a run file of another program's settings, beside the system."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tessera.commands.options import Make
from tessera.files import AnyPath
from tessera.printing import are, counted
from tessera.system import System


def named(text: str) -> tuple[str, str]:
    """Returns the name and the selection of a group. Raises `click.UsageError`."""
    name, separator, selection = text.partition("=")
    if not separator or not name or not selection:
        raise click.UsageError(f"--group {text}: expected NAME=SELECTION, such as SOL='resname SOL'")
    return name, selection


def settings_options(function: Callable[..., Make]) -> Callable[..., Make]:
    """Adds `--settings`, `--from` and `--group`. The run file is written when the system is made, and what is refused
    ends the command before that."""

    @functools.wraps(function)
    def with_settings(
        *, settings: tuple[Path, ...], source: str, groups: tuple[str, ...], output: Path, **others: Any
    ) -> Make:
        make = function(output=output, **others)
        return _with_run_file(make, settings, source, dict(map(named, groups)), output) if settings else make

    for option in (
        click.option(
            "--group", "groups", multiple=True, metavar="NAME=SELECTION", help="Atoms of a group in --settings."
        ),
        click.option("--from", "source", default="", metavar="PROGRAM[@VERSION]", help="Whose settings those are."),
        click.option(
            "--settings",
            multiple=True,
            type=AnyPath(),
            help="Settings of a program, or a folder with them: a run file SYS.toml is made of them, as by tessera "
            "convert; repeatable.",
        ),
    ):
        with_settings = option(with_settings)
    return with_settings


def _with_run_file(make: Make, settings: Sequence[Path], source: str, groups: Mapping[str, str], output: Path) -> Make:
    from tessera.convert import convert
    from tessera.convert.model import brief
    from tessera.convert.run_file import check_run_file
    from tessera.errors import InputError
    from tessera.files import replaced

    found = convert(settings, output.name, source, groups)
    if n := len(found.refused):
        told = "; ".join(
            f"{row.file}:{row.line}: {brief(row.option)} = {brief(row.value)}: {row.note}" for row in found.refused[:5]
        )
        raise InputError(f"--settings: {counted(n, 'option')} {are(n)} refused, so nothing is written: {told}")

    def both(report: Callable[[str], None]) -> Any:
        made = make(report)
        run_file = output.with_suffix(".toml")
        with replaced(run_file) as temporary:
            temporary.write_text(found.text, encoding="utf-8")
            check_run_file(temporary)
        if isinstance(made, System):
            made.notes += [f"{run_file} is a run by these settings", *found.notes]
        return made

    return both
