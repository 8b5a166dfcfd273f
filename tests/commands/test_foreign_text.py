"""Text of files, names and arguments is printed without what a terminal acts on, and senseless numbers are refused by
name: one line on standard error, with status 2."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tessera.errors import InputError
from tessera.plots import plot_run
from tessera.printing import printable
from tessera.select.universe import selected
from tessera.system import read
from tests.support.programs import ENGINES, run_program
from tests.support.samples import sample

RED = "\x1b[31m"
COORDINATES = "a title\n 1\n    1AR      AR    1   0.000   0.000   0.000\n 3.0 3.0 3.0\n"
TOPOLOGY = (
    "[ defaults ]\n1 2\n[ atomtypes ]\nAR 18 39.948 0 A 0.34 1.0\n[ moleculetype ]\nAR 1\n[ atoms ]\n"
    "1 AR 1 AR AR 1 0\n[ system ]\nargon\n[ molecules ]\nAR 1\n"
)
FIELD = "argon\nunits kcal\nmolecules 1\nAr\nnummols 1\natoms 1\nAr 39.9 0.0\nfinish\nvdw 1\nAr Ar lj 0.2 3.4\nclose\n"
CONFIG = "argon\n 0 1 1\n 30 0 0\n 0 30 0\n 0 0 30\nAr 1\n 0 0 0\n"
CONTROL = "argon\ntimestep 0.001\ncutoff 9.0\nsteps 1\n"

GROMACS = ("prepare", "gromacs", "--top", "a.top", "--coords", "a.gro")
CHARMM = ("prepare", "charmm", "--psf", "a.psf", "--coords", "a.gro", "--params")

MAP = str(Path(__file__).parents[2] / "machines/eco-three-segments.json")

Command = Callable[..., tuple[int, str]]


def files(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, errors="surrogateescape")


def refused(found: tuple[int, str], *words: str) -> None:
    """One line, which a terminal shows as it is."""
    status, text = found
    assert status == 2, text
    assert "should not happen" not in text
    assert re.search("[^\n -\x7e\u00a0-\u2027\u2030-\ud7ff\ue000-\uffff]", text) is None, repr(text)
    assert not [word for word in words if word not in text], text


def test_printable() -> None:
    assert printable("12 Å × 3, 水") == "12 Å × 3, 水"
    assert printable(f"{RED}red\a\r\t\x9b2J\u202e\udcff") == r"\u001b[31mred\u0007\u000d\u0009\u009b2J\u202e\udcff"
    assert printable("one\ntwo") == "one\\u000atwo" and printable("one\ntwo\x1b", lines=True) == "one\ntwo\\u001b"
    for kind in (InputError, InputError, InputError, InputError):
        assert str(kind(f"a\n{RED}b")) == "a\\u000a\\u001b[31mb"


@pytest.mark.parametrize("bad", [RED, "\x9b31m", "\u202e", "\x07"], ids=["escape", "csi", "right-to-left", "bell"])
@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"in/CONTROL": CONTROL + "nonsense@ 3\n"}, ["prepare", "dlpoly", "in", "-o", "a.tsr"]),
        ({"in/CONTROL": CONTROL.replace("9.0", "@")}, ["prepare", "dlpoly", "in", "-o", "a.tsr"]),
        ({"in/FIELD": FIELD.replace("nummols 1", "nummols @")}, ["prepare", "dlpoly", "in", "-o", "a.tsr"]),
        ({"in/FIELD": FIELD.replace("Ar 39.9", "Ar@ 39.9")}, ["prepare", "dlpoly", "in", "-o", "a.tsr"]),
        ({"a.mdp": "nonsense@ = 3\n"}, [*GROMACS, "--mdp", "a.mdp"]),
        ({"a.mdp": "rvdw = @\n"}, [*GROMACS, "--mdp", "a.mdp"]),
        ({"a.top": TOPOLOGY + "[ none@ ]\n"}, [*GROMACS]),
        ({"a.top": TOPOLOGY + '#include "none@"\n'}, [*GROMACS]),
        ({"a.gro": COORDINATES.replace("0.000", "0.@", 1)}, [*GROMACS]),
        ({"a.str": "read nonsense@\n"}, [*CHARMM, "a.str"]),
        ({"a@.tsr": "x"}, ["verify", "a@.tsr"]),
        ({"a.tsr": "x"}, ["export", "a@", "-o", "b.pdb"]),
        ({"a.tsr": "x"}, ["export", "a.tsr", "-o", "b.@"]),
        ({"a.json": '{"format@": 1}'}, ["machine", "show", "a.json"]),
        ({"a.tsr": "x"}, ["traj", "info", "none@"]),
        ({"a.tsr": "x"}, ["verify", "--none@"]),
        ({"a.tsr": "x"}, ["none@"]),
    ],
)  # fmt: skip
def test_no_command_prints_what_terminals_act_on(
    command: Command, tmp_path: Path, texts: dict[str, str], words: Sequence[str], bad: str
) -> None:
    files(tmp_path, {"in/FIELD": FIELD, "in/CONFIG": CONFIG, "in/CONTROL": CONTROL, "a.top": TOPOLOGY})
    files(tmp_path, {"a.gro": COORDINATES, "a.psf": "PSF\n"})
    files(tmp_path, {name.replace("@", bad): text.replace("@", bad) for name, text in texts.items()})
    output = [] if "-o" in words or words[0] != "prepare" else ["-o", "a.tsr"]
    _, text = command(*(word.replace("@", bad) for word in words), *output)
    assert "should not happen" not in text, text
    assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) is None, repr(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('"a\\u001b[31m\\nb" = 1\n', "u001b"),
        ('[dynamics]\n"\\u001b[31m" = 1\n', "u001b"),
        ('[input]\nsystem = "a\\u009b\\u202e.tsr"\n', "u202e"),
        ('[dynamics]\nintegrator = "\\u0007"\n', "u0007"),
        ("[dynamics\x1b]\n", ""),
    ],
    ids=["section", "key", "path", "value", "raw"],
)
def test_the_engine_prints_what_terminals_show(
    run_engine: Callable[..., Any], tmp_path: Path, text: str, word: str
) -> None:
    (tmp_path / "a.toml").write_text(text)
    found = run_engine(tmp_path / "a.toml", check=False)
    refused((found.returncode, found.stdout + found.stderr), word)
    assert found.stderr.count("\n") == 1


def test_names_that_are_no_utf8(command: Command, tmp_path: Path) -> None:
    name = os.fsdecode(b"a\x9b\xff.tsr")
    (tmp_path / name).write_bytes(b"nonsense")
    refused_text = command("verify", name)
    assert refused_text[0] != 0 and "should not happen" not in refused_text[1]
    assert "\\udc9b\\udcff" in refused_text[1]


@pytest.mark.parametrize("digits", [20, 400, 5000])
@pytest.mark.parametrize(
    "words",
    [
        ["make", "water", "--atoms", "@", "-o", "a.tsr"],
        ["make", "nacl", "--ions", "@", "-o", "a.tsr"],
        ["fft", "plan", "@", "-n", "2"],
        ["fft", "plan", "8x@x8", "-n", "2"],
        ["grid", "plan", "@", "-n", "2", "--grids", "2"],
        ["machine", "explain", MAP, "--op", "bcast", "--bytes", "@"],
        ["machine", "explain", MAP, "--op", "bcast", "--bytes", "1k", "--ranks-per-host", "@"],
        ["machine", "hostfile", MAP, "--format", "plain", "-n", "@"],
        ["machine", "hostfile", MAP, "--format", "plain", "--order", "cartesian", "--dims", "@"],
        [*GROMACS, "-o", "a.tsr", "--box", "@", "30", "30"],
        ["grid", "bench", "8", "-n", "@"],
        ["grid", "bench", "8", "--batches", "@"],
        ["io", "bench", "d", "-n", "@"],
        ["export", "a.tsr", "-o", "a.pdb", "--frame", "@"],
        ["verify", "run"],
    ],
)
def test_numbers_of_many_digits(command: Command, tmp_path: Path, words: Sequence[str], digits: int) -> None:
    files(tmp_path, {"a.top": TOPOLOGY, "a.gro": COORDINATES})
    files(tmp_path, {"run/energy.csv": f"step,time [ps]\n{'9' * digits},0\n"})
    status, text = command(*(word.replace("@", "9" * digits) for word in words))
    assert status == (1 if words[0] == "verify" else 2) and "should not happen" not in text, text


@pytest.mark.parametrize("program", ["probe", "collectives"])
def test_programs_print_what_terminals_show(program: str) -> None:
    engine = next(iter(ENGINES.glob(f"tessera-{program}-*")), None)
    if engine is None:
        pytest.skip("no engine is built with MPI")
    found = run_program([engine, "--repeats", RED], status=2)
    assert "\x1b" not in found.stdout + found.stderr


def test_launchers_that_are_no_words(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESSERA_MPIRUN", "mpirun '")
    files(tmp_path, {"a.toml": ""})
    refused(command("energy", "a.tsr", "-n", "2"), "TESSERA_MPIRUN")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_options_are_finite(command: Command, value: str) -> None:
    refused(command("make", "water", "--atoms", "3000", "-o", "a.tsr", f"--memory={value}"), "--memory")
    refused(command("run", "a.toml", f"--max-hours={value}"), "--max-hours")
    refused(command("fft", "plan", "2147483648x1x1", "-n", "2"), "2147483648x1x1")


def test_transforms_of_too_long_edges() -> None:
    fft = pytest.importorskip("tessera.fft")
    for shape in ((2**31, 1, 1), (1, 2**30, 2), (1, 1, 2**40)):
        with pytest.raises(fft.FftError, match="an edge of more than"):
            fft.Transform(shape)


@pytest.mark.parametrize("rate", [1e308, 1e-320])
def test_maps_of_impossible_machines(command: Command, tmp_path: Path, rate: float) -> None:
    source = Path(__file__).parents[2] / "machines/eco-three-segments.json"
    machine = json.loads(source.read_text())
    machine["network"]["subnets"][1]["link"]["bandwidth"] = rate
    (tmp_path / "map.json").write_text(json.dumps(machine))
    refused(command("machine", "show", "map.json"), "map.json", "bandwidth of subnet 1")


@pytest.mark.parametrize("text", ["(" * 3000, "smarts C", "name " + "\x1b" * 500])
def test_selections(text: str) -> None:
    from tessera.export.structure import structure_of

    system = read(sample("peptide"))
    with pytest.raises(InputError) as found:
        selected(structure_of(system, "test", whole=False), text, system)
    assert len(str(found.value)) < 3500 and "\x1b" not in str(found.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("energy.csv", b"step,time [ps],total [kcal/mol]\n0,0,\xff\n"),
        ("energy.csv", b"step,time [ps],total [kcal/mol]\n0,0\n1,1,2\n"),
        ("energy.csv", b"step,time [ps],total [kcal/mol]\n0,0,\x001\n"),
        ("energy.csv", b"step,step,step\n0,0,1\n"),
        ("energy.csv", b"step\n1\n2\n"),
        ("report.json", b'{"phases": [' + b", ".join([b'{"name": "a", "seconds": 1}'] * 20_000) + b"]}"),
        ("report.json", b'{"phases": [{"seconds": 1.0}]}'),
        ("report.json", b'{"phases": [{"name": "a", "seconds": null}]}'),
        ("report.json", b'{"ns_per_day": "much"}'),
        ("report.json", b'{"n_atoms": ' + b"[" * 100_000),
        ("report.json", b"[1]"),
        ("report.json", b"\xff"),
    ],
)
def test_plots_of_damaged_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "energy.csv").write_text("step,time [ps],total [kcal/mol]\n0,0,1\n")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        plot_run(tmp_path, tmp_path / "run.png")


@pytest.mark.parametrize(
    "bad",
    ["nan", "1e999", "1e308", *(pytest.param(text, marks=pytest.mark.slow(part="fuzz")) for text in ("inf", "-inf"))],
)
@pytest.mark.parametrize("column", ["time [ps]", "temperature [K]", "kinetic [kcal/mol]", "total [kcal/mol]"])
def test_plots_of_a_run_that_blew_up(tmp_path: Path, column: str, bad: str) -> None:
    names = ["step", "time [ps]", "temperature [K]", "kinetic [kcal/mol]", "total [kcal/mol]"]
    rows = [[str(10 * row), str(0.1 * row), "300", "5", str(1.0 + row)] for row in range(4)]
    for row in rows[2:]:
        row[names.index(column)] = bad
    table = "\n".join(",".join(row) for row in [names, *rows]) + "\n"
    folder = tmp_path / "$_$ of \x1b[31m"  # no formula
    folder.mkdir()
    (folder / "energy.csv").write_text(table)
    phases = [{"name": "$_$ \x1b", "seconds": 1.0 + row} for row in range(12)]
    (folder / "report.json").write_text(json.dumps({"phases": phases, "wall_seconds": 100.0, "steps": 3}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plot_run(folder, tmp_path / "run.svg").stat().st_size > 0


@pytest.mark.parametrize(
    "text",
    [
        "input = 5",
        "[[input]]",
        "[input]\nsystem = 5",
        '[input]\nsystem = ["a"]',
        '[input]\nsystem = "a\\u0000"',
        "output = 5\n[input]\nstart = 5",
        "[dynamics]\ntimestep = nan",
    ],
)
def test_settings_of_a_damaged_run(command: Command, tmp_path: Path, text: str) -> None:
    files(tmp_path, {"run/settings.toml": text, "run/energy.csv": "step,time [ps]\n0,0\n"})
    refused(command("export", "run", "-o", "a.pdb"), "run")
    for words in (["traj", "info", "run"], ["traj", "verify", "run"], ["plot", "run"], ["verify", "run"]):
        assert "should not happen" not in command(*words)[1]
