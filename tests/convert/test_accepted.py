"""Asks the engine whether it would run what known changes of the settings become."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.build.water import make_water
from tessera.system import write
from tests.convert import test_amber, test_genesis, test_gromacs, test_namd
from tests.convert.converted import conversion
from tests.support.programs import ENGINES, run_program

MODULES = {"amber": test_amber, "gromacs": test_gromacs, "namd": test_namd, "genesis": test_genesis}


@pytest.mark.parametrize("program", MODULES)
def test_what_is_converted_would_run(tmp_path: Path, program: str) -> None:
    _check(tmp_path, program, [MODULES[program].WATER])


@pytest.mark.slow(part="fuzz")
@pytest.mark.parametrize("program", MODULES)
def test_what_changes_become_would_run(tmp_path: Path, program: str) -> None:
    module = MODULES[program]
    texts = [module.changed(name, value) for name, value, to in module.CHANGES if to != "refused"]
    _check(tmp_path, program, [*texts, *([module.WATER + module.PISTON] if program == "namd" else [])])


def _check(tmp_path: Path, program: str, texts: list[str]) -> None:
    write(make_water(6000), tmp_path / "water.tsr")
    wrong = []
    for text in texts:
        found = conversion(tmp_path, "settings", text, system="water.tsr", source=program)
        (tmp_path / "run.toml").write_text(found.text)
        command = [ENGINES / "tessera-md-serial", tmp_path / "run.toml", "--check", "--ranks", "1"]
        done = run_program(command, check=False)
        if done.returncode:
            wrong.append((text.splitlines()[-1], done.stderr))
    assert not wrong
