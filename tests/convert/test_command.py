"""The command `tessera convert`: files, folders, the table, refusals, and what a file is of."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from tests.convert import test_amber, test_genesis, test_gromacs, test_namd
from tests.support.commands import called, said
from tests.support.inputs import SMALL

FILES = {
    "gromacs": ("run.mdp", test_gromacs.WATER),
    "namd": ("run.conf", test_namd.WATER),
    "amber": ("run.in", test_amber.WATER),
    "genesis": ("inp", test_genesis.WATER),
}


def refused(*words: object) -> str:
    """Returns what the command prints and the message of the error in which it ends."""
    done = called("convert", *words)
    assert done.exit_code != 0
    return f"{done.output}{done.exception}"


@pytest.mark.parametrize("program", FILES)
def test_programs_are_recognised(tmp_path: Path, program: str) -> None:
    name, text = FILES[program]
    (tmp_path / name).write_text(text)
    table = json.JSONDecoder().raw_decode(said("convert", tmp_path / name, "--json"))[0]
    assert table["program"] == program
    for row in table["options"]:
        assert row["status"] in ("translated", "replaced", "agrees", "ignored", "default")
        assert (row["line"] is None) == (row["status"] == "default")
    given = [row["line"] for row in table["options"] if row["line"]]
    assert len(given) > 15 and max(given) <= text.count("\n") + 1


def test_settings_of_dlpoly_are_sent_to_prepare(tmp_path: Path) -> None:
    for name in ("CONTROL", "CONFIG", "FIELD", "run.control"):
        (tmp_path / name).write_text("some text\nfinish\n")
    for words in ((tmp_path / "CONTROL",), (tmp_path,), (tmp_path / "run.control",), ("x", "--from", "dlpoly")):
        assert "tessera prepare dlpoly FOLDER" in refused(*words)


def test_a_folder_with_one_file(tmp_path: Path) -> None:
    (tmp_path / "run.mdp").write_text(test_gromacs.WATER)
    out = tmp_path / "run.toml"
    told = said("convert", tmp_path, "-o", out, "--system", "my water.tsr")
    assert "options translated" in told and "--mdp run.mdp -o 'my water.tsr'" in told
    assert "exists; --force replaces it" in refused(tmp_path, "-o", out)
    said("convert", tmp_path, "-o", out, "--force")
    (tmp_path / "other.mdp").write_text(test_gromacs.WATER)
    assert "name the file to convert" in refused(tmp_path)


def test_nothing_is_written_where_an_option_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.mdp").write_text(test_gromacs.changed("electric-field-x", "1 0 0 0"))
    told = refused(tmp_path / "bad.mdp", "-o", tmp_path / "run.toml", "--lenient")
    assert "bad.mdp:33: electric-field-x = 1 0 0 0: an electric field is not supported" in told
    assert re.search(r"1 of \d+ options is refused, so nothing is written", told)
    assert not (tmp_path / "run.toml").exists()
    (tmp_path / "long.mdp").write_text(test_gromacs.changed("electric-field-x", "1 " * 50_000))
    assert len(refused(tmp_path / "long.mdp")) < 2000


def test_foreign_text_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "esc.conf").write_text(test_namd.changed("outputname", "a\x1b(B\x07b"))
    told = said("convert", tmp_path / "esc.conf", "--json")
    assert "\x1b" not in told and "\x07" not in told
    (tmp_path / "other.conf").write_text(test_namd.changed("structure", "a\x1bb"))
    assert "\x1b" not in said("convert", tmp_path / "other.conf")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from", "word"], "expected one of gromacs"),
        (["--from", "gromacs@new"], "expected numbers with points"),
        (["--group", "SOL"], "expected NAME=SELECTION"),
    ],
)
def test_arguments_that_are_refused(tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "run.mdp").write_text(test_gromacs.WATER)
    assert says in refused(tmp_path / "run.mdp", *words)


def test_a_file_of_no_program(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of this kind\n")
    assert "notes.txt is of no program that is known here: say --from PROGRAM" in refused(tmp_path / "notes.txt")


def test_settings_beside_a_prepared_system(tmp_path: Path) -> None:
    """`prepare --settings` writes the run file beside the system, or nothing where an option is refused."""
    name = SMALL / "alanine-dipeptide-implicit"
    files = ["--prmtop", name.with_suffix(".prmtop"), "--coords", name.with_suffix(".inpcrd")]
    words = ["prepare", "amber", *files, "--from", "amber@24"]
    out = tmp_path / "a.tsr"
    (tmp_path / "md.mdin").write_text(test_amber.WATER)
    (tmp_path / "bad.mdin").write_text(test_amber.changed("ibelly", "1"))
    bad = [*words, "--settings", tmp_path / "bad.mdin", "-o", out]
    done = called(*bad)
    assert "ibelly = 1" in f"{done.output}{done.exception}" and not out.exists()
    (tmp_path / "bad.mdin").write_text(test_amber.changed("ibelly", f"'{'x' * 100_000}'"))
    done = called(*bad)
    assert "ibelly = " in f"{done.output}{done.exception}" and len(f"{done.output}{done.exception}") < 2000
    assert "a.toml is a run by these settings" in said(*words, "--settings", tmp_path / "md.mdin", "-o", out)
    assert tomllib.loads((tmp_path / "a.toml").read_text())["input"] == {"system": "a.tsr"}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("nstenergy", "9999999999999999", r"run\.mdp:\d+ nstenergy = 9999999999999999: .*output\.energy_every"),
        ("nsteps", "9" * 25, r"run\.mdp:\d+: nsteps = 9{25}: expected a whole number of at most 64 bits"),
        ("dt", "x" * 100_000, r"run\.mdp:\d+: dt = x{200}…: expected a number"),
    ],
)
def test_what_the_run_file_may_not_hold_is_named_by_its_line(
    tmp_path: Path, name: str, value: str, message: str
) -> None:
    """And by no file that nobody has ever seen."""
    (tmp_path / "run.mdp").write_text(test_gromacs.changed(name, value))
    told = refused(tmp_path / "run.mdp", "-o", tmp_path / "run.toml")
    assert re.search(message, told) and ".part" not in told and len(told) < 2000
    assert [path.name for path in tmp_path.iterdir()] == ["run.mdp"]


def test_files_of_several_runs_are_not_mixed(tmp_path: Path) -> None:
    for name in ("nvt.mdp", "npt.mdp"):
        (tmp_path / name).write_text(test_gromacs.WATER)
    assert "nvt.mdp, npt.mdp: a run has one file" in refused(tmp_path / "nvt.mdp", tmp_path / "npt.mdp")


def test_pipes_and_links_are_told_apart_from_what_is_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mdp")
    (tmp_path / "link.mdp").symlink_to("away.mdp")
    assert "is a pipe or a device" in refused(tmp_path / "pipe.mdp")
    assert "a link to away.mdp, which is not there" in refused(tmp_path / "link.mdp")


def test_a_full_disk_is_named_by_the_file(tiny_disk: Path, tmp_path: Path) -> None:
    (tmp_path / "run.mdp").write_text(test_gromacs.WATER)
    with contextlib.suppress(OSError):
        (tiny_disk / "rest").write_bytes(bytes(1 << 21))
    told = refused(tmp_path / "run.mdp", "-o", tiny_disk / "run.toml")
    assert f"No space left on device: '{tiny_disk / 'run.toml'}'" in told
    assert [path.name for path in tiny_disk.iterdir()] == ["rest"]
