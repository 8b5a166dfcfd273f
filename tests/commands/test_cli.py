"""Tests the command line: help, unknown words, failures in one line and the exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import tessera
from tessera.build.water import make_water
from tessera.cli import COMMANDS, cli
from tessera.errors import EXTRAS, text_of_missing
from tessera.printing import are, counted
from tessera.system import write
from tests.convert import test_gromacs
from tests.support.commands import said
from tests.support.programs import TESSERA, run_program

ROOT = Path(__file__).parents[2]
PYTHON = str(ROOT / "python")


def tessera_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_program([*TESSERA, *arguments], env={"PYTHONPATH": PYTHON, **environment}, check=False)


def test_version() -> None:
    assert said("--version") == f"tessera {tessera.__version__}\n"


def test_help_lists_all_commands() -> None:
    output = said("--help")
    for name in COMMANDS:
        assert f"  {name} " in output
    assert "Examples:" in output


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    assert "Usage:" in said(name, "--help")


@pytest.mark.parametrize("name", ["run", "energy", "plot", "explain"])
def test_help_has_examples(name: str) -> None:
    output = said(name, "--help")
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
    environment = {"PYTHONPATH": PYTHON, "TESSERA_TRACEBACK": traceback}
    result = run_program([sys.executable, "-c", code], env=environment, status=1)
    assert "tessera: error: ModuleNotFoundError: No module named 'tessera.no_such_module'" in result.stderr
    assert "TESSERA_TRACEBACK=1" in result.stderr
    assert ("Traceback" in result.stderr) == bool(traceback)


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_packages_that_some_commands_need(package: str, extra: str) -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert any(requirement.startswith(package) for requirement in options[extra])
    text = text_of_missing(ModuleNotFoundError(name=f"{package}.app"))
    assert text == f"this needs {package}, which is not installed: pip install 'tessera-md[{extra}]'"
    assert text_of_missing(ModuleNotFoundError(name="tessera.no_such_module")) is None


def test_a_missing_package_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "a_command.py").write_text("import openmm.app\n")
    code = (
        "import sys, tessera.cli as c\n"
        "sys.modules['openmm'] = None\n"
        "c.COMMANDS['run'] = ('a_command:run', '')\n"
        "sys.argv = ['tessera', 'run']\n"
        "c.main()"
    )
    result = run_program([sys.executable, "-c", code], env={"PYTHONPATH": f"{PYTHON}:{tmp_path}"}, status=2)
    wanted = "tessera: error: this needs openmm, which is not installed: pip install 'tessera-md[formats]'"
    assert result.stderr.splitlines() == [wanted]


@pytest.mark.parametrize(
    "line",
    ["from tessera import _no_such", "import tessera._no_such", "raise ImportError('libx.so', name='tessera._md')"],
)
def test_missing_compiled_modules_are_one_message(tmp_path: Path, line: str) -> None:
    (tmp_path / "a_command.py").write_text(line)
    code = "import sys, tessera.cli as c; c.COMMANDS['run'] = ('a_command:run', ''); sys.argv[1:] = ['run']; c.main()"
    result = run_program([sys.executable, "-c", code], env={"PYTHONPATH": f"{PYTHON}:{tmp_path}"}, status=2)
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("tessera: error: the compiled modules of Tessera can't be loaded")


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    code = "import os, sys, tessera.cli as c; os.rmdir(os.getcwd()); sys.argv = ['tessera', 'doctor']; c.main()"
    words = [sys.executable, "-P", "-c", code]
    result = run_program(words, env={"PYTHONPATH": PYTHON}, cwd=tmp_path / "gone", status=1)
    assert "tessera: error: the working directory is not there any more" in result.stderr


@pytest.mark.parametrize(
    ("n", "of", "said"),
    [
        (0, None, "0 waters are"),
        (1, None, "1 water is"),
        (2000, None, "2,000 waters are"),
        (1, 1, "1 water is"),
        (1, 2000, "1 of 2,000 waters is"),
        (2, 3, "2 of 3 waters are"),
    ],
)
def test_one_thing_is_singular(n: int, of: int | None, said: str) -> None:
    assert f"{counted(n, 'water', of)} {are(n)}" == said


def test_bare_tessera_helps() -> None:
    result = tessera_command()
    assert result.returncode == 0
    assert result.stdout == tessera_command("--help").stdout


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("minimise", "`minimize` lowers the energy of a structure"),
        ("equilibrate", "`run` takes a run file with stages"),
        ("mdrun", "`run` is what starts a simulation"),
        ("replicat", "did you mean replicate?"),
        ("frobnicate", "the commands are prepare, make,"),
    ],
)
def test_words_of_the_field_get_an_answer(word: str, answer: str) -> None:
    result = tessera_command(word)
    assert result.returncode == 2
    assert f"unknown command {word}; {answer}" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["explain", "run.toml", "--ranks", "1000000000"],
        ["explain", "run.toml", "--measured-steps", "1000000000"],
        ["explain", "run.toml", "-t", "5000"],
        ["run", "run.toml", "-n", "1000000000"],
        ["run", "run.toml", "-t", "5000", "--oversubscribe"],
        ["run", "run.toml", "--max-hours", "1e9"],
        ["run", "run.toml", "--max-hours", "1e-30"],
        ["energy", "water.tsr", "-t", "5000", "--oversubscribe"],
    ],
    ids=" ".join,
)
def test_refusals_say_who_refuses(tmp_path: Path, words: list[str]) -> None:
    """Those of the engine's options, too, whose own begins with no name."""
    (tmp_path / "run.toml").write_text('[input]\nsystem = "water.tsr"\n')
    done = run_program([*TESSERA, *words], env={"PYTHONPATH": PYTHON}, cwd=tmp_path, status=2)
    assert done.stderr.startswith(("tessera: error: ", "tessera-md: error: ")), done.stderr


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], []])
def test_a_full_standard_output_is_no_success(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "PYTHONPATH": PYTHON}
        done = subprocess.run([*TESSERA, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 1
    assert done.stderr == "tessera: error: standard output: No space left on device\n"


@pytest.mark.parametrize("name", ["file/x", f"{'x' * 300}", "/proc/x"])
@pytest.mark.parametrize(
    "words",
    [["convert", "run.mdp", "-o"], ["demo"], ["export", "water.tsr", "-o"], ["replicate", "water.tsr", "-o"]],
    ids=lambda words: words[0],
)
def test_where_nothing_can_be_written_the_status_is_2(tmp_path: Path, words: list[str], name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "run.mdp").write_text(test_gromacs.WATER)
    write(make_water(24), tmp_path / "water.tsr")
    place = name if words[0] == "demo" else f"{name}{'.psf' if words[0] == 'export' else '.toml'}"
    done = run_program([*TESSERA, *words, place], env={"PYTHONPATH": PYTHON}, cwd=tmp_path, status=2)
    assert done.stderr.startswith("tessera: error: ") and done.stderr.count("\n") == 1 and place in done.stderr


def closed_pipe() -> int:
    """Returns the end for writing of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize(
    ("stdout", "status", "said"),
    [
        (closed_pipe, 141, ""),
        (lambda: os.open("/dev/full", os.O_WRONLY), 2, "tessera: error: standard output: No space left on device\n"),
    ],
)
def test_who_reads_has_gone_or_has_no_room(tmp_path: Path, stdout: Callable[[], int], status: int, said: str) -> None:
    """As by `tessera watch RUN | head`, also where a command prints in the middle of its work."""
    (tmp_path / "run").mkdir()
    with os.fdopen(stdout(), "wb") as file:
        words = [*TESSERA, "watch", str(tmp_path / "run"), "--json"]
        done = subprocess.run(
            words, stdout=file, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": PYTHON}
        )
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--help"],
        ["prepare", "--help"],
        ["prepare", "pdb", "--help"],
        ["report", "--help"],
        ["run", "--print-defaults"],
        ["explain", "run.toml", "--measured-steps", "0"],
        ["energy", "water.tsr"],
        ["convert", "run.mdp"],
        ["mpi", "--help"],
    ],
    ids=" ".join,
)
def test_who_reads_has_gone_and_nothing_is_said(tmp_path: Path, words: list[str]) -> None:
    """The status is that of `cat`, which SIGPIPE ends."""
    if words[:1] in (["energy"], ["explain"]):
        write(make_water(3000), tmp_path / "water.tsr")
    (tmp_path / "run.toml").write_text('[input]\nsystem = "water.tsr"\n[interactions]\ncutoff = 9.0\nswitch = 8.0\n')
    (tmp_path / "run.mdp").write_text(test_gromacs.WATER)
    with os.fdopen(closed_pipe(), "wb") as pipe:
        done = subprocess.run(
            [*TESSERA, *words],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PYTHON},
        )
    assert (done.returncode, done.stderr) == (141 if done.returncode >= 0 else -signal.SIGPIPE, "")


def test_who_reads_errors_has_gone() -> None:
    with os.fdopen(closed_pipe(), "wb") as pipe:
        done = subprocess.run(
            [*TESSERA, "energy"], stdout=pipe, stderr=pipe, env={**os.environ, "PYTHONPATH": PYTHON}, check=False
        )
    assert done.returncode == 141


def parameters(command: click.Command) -> Iterator[click.Parameter]:
    """Yields those of a command and of all commands in it."""
    yield from command.params
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from parameters(found)


def test_empty_paths_are_refused() -> None:
    """A path of no letters would be the working directory."""
    paths = [parameter for parameter in parameters(cli) if isinstance(parameter.type, click.Path)]
    assert len(paths) > 100
    for parameter in paths:
        with pytest.raises(click.BadParameter, match="the path is empty"):
            parameter.type.convert("", parameter, None)
    for words in (["watch", ""], ["make", "water", "--atoms", "300", "-o", ""], ["convert", "a.mdp", "--system="]):
        result = tessera_command(*words)
        assert result.returncode == 2
        assert "the path is empty; is a variable of the shell not set?" in result.stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["make", "water", "--atoms", "3000000000000"], "w.tsr would have about 60,000 GB"),
        (["make", "nacl", "--ions", "3000000000000000000000"], "w.tsr would have about 60,000,"),
        (["make", "water", "--atoms", "300", "--seed", "-1"], "Invalid value for '--seed': -1"),
        (["make", "water", "--atoms", "300", "--seed", "1" * 40], "Invalid value for '--seed'"),
    ],
)
def test_what_can_not_be_made_is_refused(tmp_path: Path, words: list[str], answer: str) -> None:
    result = tessera_command(*words, "-o", str(tmp_path / "w.tsr"))
    assert result.returncode == 2
    assert answer in result.stderr.splitlines()[0]
    assert not list(tmp_path.iterdir())


def test_copies_beyond_the_disk_are_refused(tmp_path: Path) -> None:
    system = tmp_path / "w.tsr"
    assert tessera_command("make", "water", "--atoms", "300", "-o", str(system)).returncode == 0
    result = tessera_command("replicate", str(system), "--nx", "10" * 6, "--ny", "1000000", "-o", str(tmp_path / "x"))
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and "or make a smaller system" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["w.tsr"]
