"""Runs small inputs on which Tessera was wrong or unclear once, and compares what the commands say now.

Each folder beside this file holds inputs and a cases.toml, a list of cases:

    [[case]]
    name = "a blank title"
    run = ["prepare dlpoly b-blank -o x.tsr", "energy x.tsr --json"]
    values = { "energies.total" = 684.67 }    # in the JSON that the last command prints; lists by index, "bins.0"
    tolerance = 0.01                          # absolute, in the value's unit

    [[case]]
    name = "a misspelt option"
    run = ["prepare gromacs --top argon.top --coords argon.gro --mdp misspelt.mdp -o x.tsr"]
    status = 2                                # of the last command, 0 by default; those before it must succeed
    says = ["misspelt.mdp", "rcolomb"]        # what its output must hold
    never = ["this should not happen"]        # what no output may hold

The commands run one after another in a copy of the folder, those that start no engine within this process. `says` and
`never` also take regular expressions.
"""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import TESSERA, run_program

HERE = Path(__file__).parent
KEYS = {"name", "run", "status", "values", "tolerance", "says", "never"}


def _cases() -> list[Any]:
    found = []
    for path in sorted(HERE.glob("*/cases.toml")):
        for case in tomllib.loads(path.read_text())["case"]:
            if unknown := case.keys() - KEYS:
                raise ValueError(
                    f"{path}: unknown keys {', '.join(sorted(unknown))}; known are {', '.join(sorted(KEYS))}"
                )
            found.append(pytest.param(path.parent, case, id=f"{path.parent.name}: {case['name']}"))
    return found


def _value(found: Any, path: str) -> Any:
    """Returns the value at `path`, whose names and indices are divided by dots."""
    for key in path.split("."):
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


@pytest.mark.parametrize(("folder", "case"), _cases())
def test_report(folder: Path, case: dict[str, Any], tmp_path: Path, command: Callable[..., Any]) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for number, line in enumerate(case["run"], 1):
        words = shlex.split(line)
        if words[0] in ("energy", "run"):
            done = run_program([*TESSERA, *words], cwd=tmp_path, check=False)
            status, answer, output = done.returncode, done.stdout, done.stdout + done.stderr
        else:
            status, output = command(*words)
            answer = output
        is_last = number == len(case["run"])
        assert status == (case.get("status", 0) if is_last else 0), f"{line}\n{output}"
        for pattern in [*case.get("never", []), "this should not happen", "Traceback"]:
            assert not re.search(pattern, output), f"{line}\n{output}"
    for pattern in case.get("says", []):
        assert re.search(pattern, output), f"no {pattern!r} in\n{output}"
    if expected := case.get("values"):
        values = json.loads(answer)
        for path, value in expected.items():
            found = _value(values, path)
            assert found == (value if isinstance(value, str) else pytest.approx(value, rel=0, abs=case["tolerance"])), (
                path
            )
