"""`tessera traj`: looks at trajectories, checks, converts, joins and repairs them."""

from __future__ import annotations

import contextlib
import functools
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tessera.checked_file import DamagedFileError
from tessera.commands.bar import bar
from tessera.commands.export import libraries
from tessera.commands.options import way_options
from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.printing import are, counted, echo, end
from tessera.ranks import of_launcher
from tessera.way import Way

if TYPE_CHECKING:
    from tessera.traj.find import Found
    from tessera.traj.trajectory import Trajectory

PATH = AnyPath()
FILE = AnyPath(dir_okay=False)
FRAME = click.IntRange(0, 2**62)

runs_argument = click.argument("paths", metavar="RUN…", nargs=-1, required=True, type=PATH)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")


@dataclass(frozen=True)
class Request:
    """What all commands that write are asked for."""

    output: Path
    frames: tuple[int | None, int | None, int]  # first, last, stride
    system: Path | None
    force: bool
    as_json: bool


def writing_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of commands that write; they arrive as one argument `request`."""

    @functools.wraps(function)
    def command(**given: Any) -> None:
        frames = given.pop("first"), given.pop("last"), given.pop("stride")
        names = ("output", "system", "force", "as_json")
        request = Request(frames=frames, **{name: given.pop(name) for name in names})
        function(request=request, **given)

    for option in (
        json_option,
        click.option("--force", is_flag=True, help="Replace what exists."),
        click.option("--system", type=FILE, help="The system file of the run, where it has moved."),
        click.option("--stride", type=click.IntRange(1), default=1, show_default=True, help="Take every N-th frame."),
        click.option("--last", type=FRAME, metavar="N", help="The last frame to take [the last of all]."),
        click.option("--first", type=FRAME, metavar="N", help="The first frame to take, counted from 0 [0]."),
    ):
        command = option(command)
    return command


output_option = click.option(
    "-o", "--output", required=True, type=PATH, help="What to write, its format by the ending."
)
select_option = click.option(
    "--select", metavar="TEXT", help="Write these atoms only: a selection in the language of MDAnalysis."
)


@click.group()
def traj() -> None:
    """Look at trajectories in segments, check, convert, join, select and repair them.

    RUN is the output folder of a run with output.trajectory = "segments", that of a protocol, or a
    folder of segments. Several are joined in the order given. Files HISTORY of DL_POLY (by their name,
    or of a run with output.trajectory = "history") and .xdr are read by all but repair.

    \b
    Examples:
      tessera traj info output
      tessera traj convert output -o output.dcd
      tessera traj select output "protein" -o protein.segments
      tessera traj verify output
    """


@traj.command()
@runs_argument
@json_option
def info(paths: tuple[Path, ...], as_json: bool) -> None:
    """Say what a trajectory holds; reads no frame, so it is quick while a run is writing.

    \b
    Examples:
      tessera traj info output
      tessera traj info first second --json
    """
    with errors():
        trajectory = _open(paths)
        facts = _facts(trajectory)
    if as_json:
        echo(json.dumps(facts))
        return
    frames, atoms = counted(facts["frames"], "frame"), counted(facts["atoms"], "atom", facts["system_atoms"])
    echo(f"{frames} of {atoms}: {', '.join(facts['quantities'])}")
    if facts["frames"]:
        echo(f"  steps     {facts['first_step']:,} to {facts['last_step']:,}, every {facts['every']:,}")
        echo(f"  time      {facts['first_time']:g} to {facts['last_time']:g} ps")
    echo(f"  {trajectory.kind:8}  {facts['segments'] or facts['runs']:,}, {facts['bytes'] / 1e6:,.1f} MB")
    for key, told in (
        ("superseded", f"{_frames_are(facts['superseded'])} there again in a later segment"),
        ("gaps", f"{_frames_are(facts['gaps'])} missing between others"),
        ("damaged", trajectory.damage()),
    ):
        if facts[key]:
            echo(f"  note      {told}")


def _frames_are(n: int) -> str:
    return f"{counted(n, 'frame')} {are(n)}"


def _facts(trajectory: Trajectory) -> dict[str, Any]:
    steps, times = trajectory.steps, trajectory.times
    has = len(steps) > 0
    return {
        "paths": [str(path) for path in trajectory.paths],
        "frames": len(trajectory),
        "first_step": int(steps[0]) if has else None,
        "last_step": int(steps[-1]) if has else None,
        "first_time": float(times[0]) if has else None,
        "last_time": float(times[-1]) if has else None,
        "every": trajectory.every,
        "atoms": trajectory.n_atoms,
        "system_atoms": trajectory.system_atoms,
        "quantities": trajectory.quantities,
        "encodings": [encoding["kind"] for encoding in trajectory.encodings],
        "runs": len(trajectory.sources),
        "segments": len(trajectory.manifests),
        "bytes": trajectory.size,
        "gaps": trajectory.gaps(),
        "superseded": trajectory.superseded,
        "damaged": trajectory.damaged,
    }


@traj.command()
@runs_argument
@json_option
def verify(paths: tuple[Path, ...], as_json: bool) -> None:
    """Check every byte of all frames; the status is 1 where something is damaged.

    So it is where frames are missing that the run's checkpoint, report or table of energies counts.
    `tessera verify` checks the other files of a run, too.

    \b
    Examples:
      tessera traj verify output
      tessera traj verify first second --json
    """
    from tessera.traj import history_reader
    from tessera.traj.check import check, size_of

    started = time.perf_counter()
    with errors():
        texts = [text for path in paths for text in history_reader.histories_of(path)]
        found = _find([path for path in paths if not history_reader.histories_of(path)])
        size = sum(text.stat().st_size for text in texts) + sum(size_of(one.segments) for one in found)
        with bar("checking", size, as_json) as progress:
            results = [history_reader.check(text, progress) for text in texts]
            results += [check(one.segments, progress) for one in found]
    seconds = time.perf_counter() - started
    ok, size = all(result.ok for result in results), sum(result.bytes for result in results)
    if as_json:
        facts = [
            {"path": str(one.folder), "ok": one.ok, "frames": one.frames, "bytes": one.bytes,
             "problems": one.problems, "notes": one.notes}
            for one in results
        ]  # fmt: skip
        echo(json.dumps({"ok": ok, "bytes": size, "runs": facts, "seconds": round(seconds, 3)}))
    else:
        for one in results:
            echo(f"{one.folder}  {'whole' if one.ok else 'DAMAGED'}  {counted(one.frames, 'frame')}")
            for problem in one.problems:
                echo(f"  {problem}")
            for note in one.notes:
                echo(f"  note  {note}")
        echo(f"{size / 1e6:,.1f} MB in {seconds:.2f} s, {size / 1e6 / seconds:,.0f} MB/s")
    if not ok:
        raise SystemExit(1)


@traj.command()
@click.argument("path", metavar="RUN", type=PATH)
@output_option
@way_options("a HISTORY, XDR or NetCDF")
@writing_options
def convert(path: Path, request: Request, way: Way) -> None:
    """Write the frames of a run in another program's format.

    \b
    Endings:
      .dcd   DCD      .h5md  H5MD                .pdb       PDB, a model a frame
      .xtc   XTC      .nc    NetCDF of AMBER     .history   HISTORY of DL_POLY (or the name HISTORY)
      .trr   TRR      .xdr   XDR (RFC 4506)      .segments  a folder of segments

    Velocities and forces are written where the format holds them. PDB, HISTORY and XDR take the names
    of atoms from the system file, or from the HISTORY that is read. Several ranks (-n) write a HISTORY,
    XDR and NetCDF.

    \b
    Examples:
      tessera traj convert output -o output.dcd
      tessera traj convert output -o output.xtc --first 100 --stride 10
      tessera traj convert HISTORY -o output.segments
    """
    _write(lambda: _open((path,)), None, request, way)


@traj.command()
@runs_argument
@output_option
@select_option
@writing_options
def combine(paths: tuple[Path, ...], select: str | None, request: Request) -> None:
    """Write the frames of several runs, or of a protocol's stages, one after the other.

    A run that begins at a step above 0 goes on from the one before it: its frames take the place of
    those. Other runs begin anew, and their times count on. Formats are those of `tessera traj convert`.

    \b
    Examples:
      tessera traj combine first second -o all.dcd
      tessera traj combine protocol --select "protein" -o protein.xtc
    """
    _write(lambda: _open(paths), select, request)


@traj.command()
@click.argument("paths", metavar="TRAJECTORY…", nargs=-1, required=True, type=PATH)
@output_option
@click.option(
    "--hold",
    is_flag=True,
    help="Write a frame at each step of any of them; other atoms stand where they were written last.",
)
@select_option
@writing_options
def merge(paths: tuple[Path, ...], hold: bool, select: str | None, request: Request) -> None:
    """Put frames of all atoms together from trajectories of some atoms each.

    A run with [[output.selection]] writes several, with rates of their own. There is a frame at each
    step that all of them have. Formats are those of `tessera traj convert`.

    \b
    Examples:
      tessera traj merge output/water.segments output/protein.segments -o all.dcd
      tessera traj merge output/water.segments output/protein.segments --hold -o all.segments
    """
    _write(lambda: _merged(paths, hold), select, request)


@traj.command("select")
@click.argument("path", metavar="RUN", type=PATH)
@click.argument("text", metavar="TEXT")
@output_option
@writing_options
def select_atoms(path: Path, text: str, request: Request) -> None:
    """Write some atoms of a run, as segments or in another format.

    TEXT is a selection in the language of MDAnalysis, of the system as the run began.

    \b
    Examples:
      tessera traj select output "protein" -o protein.segments
      tessera traj select output "name O*" -o oxygens.dcd --stride 10
    """
    _write(lambda: _open((path,)), text, request)


@traj.command()
@runs_argument
@json_option
def repair(paths: tuple[Path, ...], as_json: bool) -> None:
    """Leave out what is damaged or was not finished, so that the rest can be read.

    A manifest that names such frames is written anew without them. It stays beside the new one as
    segment-0000.manifest.before-repair; renaming it back undoes the repair. The files with the
    numbers are not changed. A run that is writing into the folder is not disturbed: it is refused.

    \b
    Examples:
      tessera traj repair output
    """
    from tessera.traj.check import facts_of, size_of
    from tessera.traj.check import repair as repair_run

    with errors():
        found = _find(paths)
        with bar("checking", sum(size_of(one.segments) for one in found), as_json) as progress:
            done = [one for run in found for one in repair_run(run, progress)]
    if as_json:
        echo(json.dumps({"repaired": [facts_of(one) for one in done]}))
        return
    if not done:
        echo("all frames are whole: nothing was changed")
    for one in done:
        if one.lost:
            echo(f"{one.manifest}: its header is damaged, so its frames are left out; kept as {one.kept.name}")
            continue
        cut = f", {one.cut} bytes of an unfinished entry cut" if one.cut else ""
        echo(
            f"{one.manifest}: {one.left_out:,} damaged frames left out{cut}; {one.frames:,} are left, kept as "
            f"{one.kept.name}"
        )


def _find(paths: Sequence[Path]) -> list[Found]:
    from tessera.traj.find import find

    return [one for path in paths for one in find(path)]


def _open(paths: Sequence[Path]) -> Trajectory:
    """Opens runs or HISTORY files as one; damaged entries are told of by the commands themselves."""
    from tessera.traj.history_reader import History, histories_of
    from tessera.traj.trajectory import Trajectory

    histories = {path: histories_of(path) for path in paths}
    texts = [text for path in paths for text in histories[path]]
    if texts and not all(histories.values()):
        other = next(path for path in paths if not histories[path])
        raise InputError(
            f"{texts[0]} is no folder of segments, and {other} is one: make segments of it first, by tessera traj "
            f"convert {texts[0]} -o NAME.segments"
        )
    if texts:
        return History(texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Trajectory(paths)


def _merged(paths: Sequence[Path], hold: bool) -> Trajectory:
    from tessera.traj.merged import Merged

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Merged(paths, hold=hold)


def _write(
    opened: Callable[[], Trajectory],
    select: str | None,
    request: Request,
    way: Way = Way(),  # noqa: B008
) -> None:
    started = time.perf_counter()
    with errors(), libraries():
        from tessera.traj import convert as to

        output, whole = request.output, opened()
        ending, ranks = to.check_output(output, whole, request.force), of_launcher()
        if not to.FORMATS[ending].by_ranks and (ranks.size > 1 or not way.is_usual):
            raise InputError(
                f"{output}: -n, --method, --order, --writers and --batch are of a HISTORY, XDR and NetCDF: leave them "
                "away"
            )
        trajectory = to.chosen(whole, *request.frames)
        structure = rows = None
        if select is not None or to.FORMATS[ending].needs_names:
            title, system = f"{whole.paths[0].name} (tessera traj)", None
            structure = whole.structure(title) if request.system is None else None
            if structure is None:
                system = to.system_of(whole, request.system)
                structure = to.structure_for(system, title)
            if select is not None:
                rows = to.rows_of(whole, structure, system, select)
        with bar("writing", len(trajectory), request.as_json, in_bytes=False) as progress:
            written = to.convert(
                trajectory, output, rows=rows, structure=structure, force=request.force, progress=progress,
                ranks=ranks, way=way,
            )  # fmt: skip
        if whole.damaged:
            written.notes.append(whole.damage())
    if request.as_json:
        facts = {**asdict(written), "path": str(output), "seconds": round(time.perf_counter() - started, 2)}
        echo(json.dumps(facts))
        return
    echo(
        f"{output}: {written.format}, {counted(written.frames, 'frame')} of {counted(written.atoms, 'atom')}, "
        f"{written.first_time:g} to {written.last_time:g} ps, {written.bytes / 1e6:,.1f} MB"
    )
    for note in written.notes:
        echo(f"  note  {note}")


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Ends with the status 2 for wrong input, and 1 where something is damaged."""
    try:
        yield
    except DamagedFileError as error:
        raise end(error, 1) from None
    except (InputError, OSError) as error:
        raise end(error) from None


if __name__ == "__main__":
    traj()
