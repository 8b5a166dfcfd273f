"""The long campaign in parts (`make check-long PART=name`).

Each run of a part adds a line to docs/records/campaigns.md. A run that was cut off goes on where it was, unless files
have changed: its outcomes are in build/campaigns. What is missing is a failure: a command that fails, a test that is
skipped.
"""

from __future__ import annotations

import datetime
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from bench import trust
from bench.common import results
from tests.campaigns import record
from tests.campaigns.outcomes import Outcomes
from tests.campaigns.parts import PARTS, ROOT, Piece, instruction_sets, missing

FOLDER = ROOT / "build" / "campaigns"
ENGINE = ROOT / "build" / "release" / "bin" / "tessera-md-serial"


def carry_out(command: Sequence[str], log: Path) -> tuple[int, dict[str, int]]:
    """Runs a command, shows and keeps what it prints, and returns its status and the tests that ctest counted."""
    counts = {"passed": 0, "failed": 0, "not run": 0}
    click.echo(f"=== {' '.join(command)}")
    with log.open("a") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                click.echo(line, nl=False)
                file.write(line)
                if found := re.match(r"\d+% tests passed, (\d+) tests failed out of (\d+)", line):
                    counts["failed"] += int(found[1])
                    counts["passed"] += int(found[2]) - int(found[1])
                elif line.rstrip().endswith("(Skipped)"):
                    counts["not run"] += 1
                    counts["passed"] -= 1
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # a signal to this process alone should end what it started
            process.wait()
            raise
    return process.wait(), {name: count for name, count in counts.items() if count}


def check(command: Sequence[str], outcomes: Outcomes, log: Path) -> None:
    status, counts = carry_out(command, log)
    if status and not counts.get("failed"):
        counts = {**counts, "failed": 1}
    outcomes.put(" ".join(command), "failed" if status else "passed", counts=counts)


def run_tests(piece: Piece, outcomes: Outcomes, log: Path) -> None:
    options = [f"--campaign={piece.part.name}:{piece.number}", f"--outcomes={outcomes.path}"]
    if piece.part.workers > 1:
        options += ["-p", "xdist", "-n", str(piece.part.workers), "--dist=worksteal"]
    status, _ = carry_out([sys.executable, "-m", "pytest", "-p", "tests.campaigns.plugin", *options], log)
    is_well = status in (0, 1) or (status == 5 and outcomes.passed())  # 5: there was nothing left to run
    outcomes.put("pytest", "prepared" if is_well else "failed")


def carry_out_all(piece: Piece, outcomes: Outcomes, log: Path) -> None:
    """Prepares, and carries out what has not passed. Where the preparation fails, nothing else can be trusted."""
    for command in piece.part.prepare:
        status, _ = carry_out(command, log)
        outcomes.put(" ".join(command), "failed" if status else "prepared")
        if status:
            return
    for command in piece.checks():
        if " ".join(command) not in outcomes.passed():
            check(command, outcomes, log)
    if piece.part.tests:
        run_tests(piece, outcomes, log)


def verdict_of(lacks: Sequence[str], counts: Counter[str]) -> str:
    if lacks:
        return f"failed: {'; '.join(lacks)}"
    return "failed" if counts["failed"] or counts["skipped"] else "passed"


def run(piece: Piece) -> record.Line:
    """Runs a piece, and returns its line for the record."""
    tree, at_start = record.tree(), results.machine()
    outcomes = Outcomes(FOLDER / str(piece).replace("/", "-of-") / "outcomes.jsonl")
    if outcomes.start(tree):
        click.echo(f"{piece}: goes on where it was cut off; {len(outcomes.passed())} have passed")
    if not (lacks := missing(piece.part)):
        carry_out_all(piece, outcomes, outcomes.path.with_name("log"))
    for name, line in outcomes.last().items():
        if line["outcome"] in ("failed", "skipped"):
            click.echo(f"{line['outcome'].upper()}: {name}")
    counts, minutes = outcomes.counts(), round(outcomes.seconds() / 60)
    verdict = verdict_of(lacks, counts)
    if verdict == "passed":
        outcomes.path.unlink()  # the next run begins anew
    sets, not_run = instruction_sets(piece.part, ENGINE)
    return record.Line(
        part=str(piece),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        commit=tree if record.tree() == tree else f"{tree.rstrip('+')}+",  # files have changed meanwhile
        processor=f"{at_start['processor']}, {at_start['cores']} cores",
        load=str(at_start["load"]),
        sets=", ".join(sets),
        sets_not_run=", ".join(not_run),
        **{name.replace(" ", "_"): str(counts[name]) for name in ("passed", "failed", "skipped", "not run")},
        verdict=verdict,
        time=f"{minutes // 60} h {minutes % 60} min",
    )


def carry_out_and_record(piece: Piece) -> bool:
    """Runs a piece, adds its line to the record, and returns whether it passed."""
    line = run(piece)
    record.add(line)
    trust.write()
    click.echo(f"{piece}: {line.verdict}; {record.PAGE.relative_to(ROOT)} has its line")
    return line.verdict == "passed"


def pieces_of(name: str) -> list[Piece]:
    """Returns the pieces that a name stands for: all of a part, or one (`physics:2/3`)."""
    part, _, piece = name.partition(":")
    if part not in PARTS:
        raise click.UsageError(f"{part!r} is no part of the campaign; the parts are {', '.join(PARTS)}")
    pieces = PARTS[part].pieces()
    if not piece:
        return pieces
    names = [str(one) for one in pieces]
    if name not in names:
        raise click.UsageError(f"{name!r} is no piece of {part}; expected {', '.join(names)}")
    return [pieces[names.index(name)]]


def print_parts() -> None:
    lines = record.read()
    for piece in (piece for part in PARTS.values() for piece in part.pieces()):
        last = next((line for line in lines if line.part == str(piece)), None)
        said = f"{last.date}  {last.commit:<11}  {last.verdict:<8}" if last else f"{'–':<33}"
        why = record.why_again(piece, lines)
        click.echo(f"{piece!s:<14}{said}  {f'to run again: {why}' if why else ''}".rstrip())


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[PART | PART:PIECE/PIECES]…")
@click.option("--stale", is_flag=True, help="Say which parts should run again, in one line.")
@click.option(
    "--tables", is_flag=True, help="Write the tables of parts into the record, CONTRIBUTING.md and docs/trust.md."
)
def main(names: tuple[str, ...], stale: bool, tables: bool) -> None:
    pieces = [piece for name in names for piece in pieces_of(name)]
    if tables:
        record.write_tables()
        trust.write()
    elif stale:
        click.echo(record.stale())
    elif not pieces:
        print_parts()
    else:
        verdicts = [carry_out_and_record(piece) for piece in pieces]
        sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main(prog_name="python -m tests.campaigns")
