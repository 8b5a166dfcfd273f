"""`tessera verify`: whether the files of a run are what was written."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from tessera.commands.bar import bar
from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.printing import echo, end


@click.command()
@click.argument("path", metavar="RUN|FILE", type=AnyPath())
@click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON object.")
def verify(path: Path, as_json: bool) -> None:
    """Check that the files of a run are what was written, and say from which checkpoint it would go on.

    RUN is the output folder of a run: its checkpoints and a trajectory in segments are checked byte by
    byte, its table and other trajectories as far as their formats allow, and the system file that it
    names. Of a protocol's folder, all stages are checked. FILE is a checkpoint or a system file. The
    status is 0 where all is well, 1 where something is damaged, and 2 where there is nothing to check.

    \b
    Examples:
      tessera verify output
      tessera verify output --json
      tessera verify output/checkpoint.previous.tck
      tessera verify dhfr.tsr
    """
    from tessera.verify import size_of
    from tessera.verify import verify as check

    started = time.perf_counter()
    try:
        with bar(path.name, 0 if as_json or not path.exists() else size_of(path), as_json) as progress:
            report = check(path, progress)
    except (InputError, OSError) as error:
        raise end(error) from None
    seconds = time.perf_counter() - started
    if as_json:
        files = [
            {"path": str(file.path), "kind": file.kind, "bytes": file.bytes, "ok": file.ok,
             "problem": file.problem or None, "note": file.note or None}
            for file in report.files
        ]  # fmt: skip
        facts = {
            "ok": report.ok,
            "checkpoint_step": report.checkpoint_step,
            "checkpoint": None if report.checkpoint is None else str(report.checkpoint),
            "files": files,
            "notes": report.notes,
            "seconds": round(seconds, 3),
        }
        echo(json.dumps(facts))
    else:
        names = [_name(file.path, path) for file in report.files]
        width = max(map(len, names), default=0)
        for name, file in zip(names, report.files):
            state = "whole" if file.ok else "DAMAGED"
            text = file.problem if file.problem else file.note
            echo(f"{name:<{width}}  {state:<8}{text}".rstrip())
        for note in report.notes:
            echo(f"note: {note}")
        if report.files:
            echo(f"{report.bytes / 1e6:,.1f} MB in {seconds:.2f} s, {report.bytes / 1e6 / seconds:,.0f} MB/s")
    if not report.ok:
        raise SystemExit(1)


def _name(file: Path, run: Path) -> str:
    """Returns the name of a file of a stage with the stage's name, of any other without its folder."""
    return str(file.relative_to(run)) if file.is_relative_to(run) and file != run else file.name


if __name__ == "__main__":
    verify()
