"""`tessera doctor`: what a machine has, whether Tessera works on it, and what to mend."""

from __future__ import annotations

import json

import click

from tessera.printing import echo, printable

_SIGNS = {"good": "ok", "warning": "!", "fault": "FAULT"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON object.")
def doctor(as_json: bool) -> None:
    """Look at this machine: cores, memory, limits, clocks, the file system of the working directory, engines, MPI
    libraries and GPUs. A short simulation, whose bits are known, runs on one rank and on two of each MPI.

    What could be better is marked by !, with how to mend it. The status is 0 where runs work, and 1 where there is a
    fault. On a cluster, start it in a job, on the hosts that are to run.

    \b
    Examples:
      tessera doctor
      tessera doctor --json
      srun -n 1 tessera doctor
    """
    from tessera.doctor.checks import findings

    found = []
    for finding in findings():
        found.append(finding)
        if not as_json:
            echo(printable(f"{_SIGNS[finding.verdict]:<5}  {finding.subject:<31}  {finding.found}"))
            if finding.mend:
                echo(printable(f"{'':<40}{finding.mend}"))
    faults = sum(finding.verdict == "fault" for finding in found)
    warnings = sum(finding.verdict == "warning" for finding in found)
    if as_json:
        facts = {"ok": not faults, "faults": faults, "warnings": warnings, "findings": [one.facts() for one in found]}
        echo(json.dumps(facts))
    else:
        echo(f"{faults} fault(s), {warnings} thing(s) that could be better")
    if faults:
        raise SystemExit(1)
