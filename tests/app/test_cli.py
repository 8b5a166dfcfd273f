"""The command line: help, unknown words, failures in one line, exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import tessera
from tessera.cli import COMMANDS, cli

PYTHON = str(Path(__file__).parents[2] / "python")


def tessera_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tessera", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHON, **environment},
        timeout=120,
    )


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).output == f"tessera {tessera.__version__}\n"


def test_help_lists_all_commands() -> None:
    output = CliRunner().invoke(cli, ["--help"]).output
    for name in COMMANDS:
        assert f"  {name} " in output
    assert "Examples:" in output


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output


@pytest.mark.parametrize("name", ["run", "energy", "plot", "explain"])
def test_help_has_examples(name: str) -> None:
    output = CliRunner().invoke(cli, [name, "--help"]).output
    assert "Examples:" in output
    assert f"  tessera {name} " in output


def test_help_is_quick() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from tessera.cli import cli\n"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0\n"
        "heavy = {'numpy', 'h5py', 'matplotlib', 'MDAnalysis', 'scipy', 'openmm'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": PYTHON})


def test_unknown_command_names_the_nearest() -> None:
    result = tessera_command("enrgy")
    assert result.returncode == 2
    assert "unknown command enrgy; did you mean energy?" in result.stderr


def test_missing_argument_is_one_message() -> None:
    result = tessera_command("energy")
    assert result.returncode == 2
    assert result.stderr.startswith("tessera: error: Missing argument")
    assert "tessera energy --help" in result.stderr


def test_input_error_has_no_traceback(tmp_path: Path) -> None:
    result = tessera_command("plot", str(tmp_path))
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        f"tessera: error: {tmp_path}/energy.csv: No such file or directory; give the output folder of a run"
    ]


@pytest.mark.parametrize("traceback", ["", "1"])
def test_surprises_are_one_line_and_a_hint(traceback: str) -> None:
    code = (
        "import sys, tessera.cli as c\n"
        "c.COMMANDS['run'] = ('tessera.no_such_module:run', '')\n"
        "sys.argv = ['tessera', 'run']\n"
        "c.main()"
    )
    environment = {**os.environ, "PYTHONPATH": PYTHON, "TESSERA_TRACEBACK": traceback}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert result.returncode == 1
    assert "tessera: error: ModuleNotFoundError: No module named 'tessera.no_such_module'" in result.stderr
    assert "TESSERA_TRACEBACK=1" in result.stderr
    assert ("Traceback" in result.stderr) == bool(traceback)
