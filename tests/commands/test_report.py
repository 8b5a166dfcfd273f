"""`tessera report`: a protocol on one page."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.launch import single_engine
from tessera.plots import read_report
from tessera.report import files, words
from tessera.report.citations import WORKS, works
from tessera.report.command import report
from tessera.report.files import files_of
from tessera.report.run import runs_of
from tessera.system import write
from tests.support.commands import said
from tests.support.inputs import ROOT
from tests.support.programs import TESSERA, run_program

RUN_FILE = """
[input]
system = "water & <b>ions.tsr"
[interactions]
cutoff = 8.0
switch = 7.0
[output]
energy_every = 2
trajectory_every = 5
progress = "none"
[[stage]]
name = "lower"
kind = "minimize"
minimize.steps = 2
[[stage]]
name = "keep"
dynamics.steps = 10
dynamics.ensemble = "npt"
dynamics.thermostat = "langevin"
"""


class Page(HTMLParser):
    """The texts of a page, and what its elements refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a protocol of two stages."""
    folder = tmp_path_factory.mktemp("report")
    write(make_water(2000), folder / "water & <b>ions.tsr")
    (folder / "run.toml").write_text(RUN_FILE)
    run_program([*TESSERA, "run", "run.toml"], cwd=folder)
    return folder / "output"


@pytest.fixture(scope="module", name="defaults")
def _defaults() -> str:
    return run_program([*single_engine(), "--print-defaults"]).stdout


def test_a_protocol_is_one_page(folder: Path, tmp_path: Path) -> None:
    """That says what was done, needs nothing else, shows foreign text as text, and is the same each time."""
    pages = []
    for name in ("one.html", "two.html"):
        said("report", folder, "-o", tmp_path / name)
        pages.append((tmp_path / name).read_text())
    assert pages[0] == pages[1]
    page = Page(pages[0])
    assert "b" not in page.tags
    assert "The system file water & <b>ions.tsr has 2,001 atoms in 667 molecules" in page.text
    assert "until no atom feels more than 10 kcal/mol/Å, or for 2 moves" in page.text
    assert "10 steps of 2 fs are 20 fs" in page.text
    assert "The temperature is kept at 300 K by Langevin dynamics" in page.text
    assert "by stochastic cell rescaling" in page.text
    assert "stochastic velocity rescaling" not in page.text
    assert [one[:10] for one in page.references if not one.startswith("https://doi.org/10.")] == ["data:image"]
    assert str(runs_of(folder)[-1].report["state_hash"]) in page.text
    for name in ("lower", "keep"):
        assert hashlib.sha256((folder / name / "checkpoint.tck").read_bytes()).hexdigest() in page.text


def test_a_page_of_a_run_in_its_own_folder_is_none_of_its_files(folder: Path) -> None:
    for _ in range(2):
        said("report", folder / "keep")
    text = (folder / "keep" / "report.html").read_text()
    (folder / "keep" / "report.html").unlink()
    assert "report.html" not in Page(text).text
    said("report", folder / "keep", "-o", folder / "quick.html", "--quick")
    assert "SHA-256" not in Page((folder / "quick.html").read_text()).text.replace("have this SHA-256", "")
    (folder / "quick.html").unlink()


def test_a_folder_has_the_checksum_of_its_lines(folder: Path) -> None:
    segments = folder / "keep" / "trajectory.segments"
    names = sorted(str(one.relative_to(segments)) for one in segments.rglob("*") if one.is_file())
    lines = subprocess.run(["sha256sum", *names], cwd=segments, capture_output=True, check=True).stdout
    found = {one.name: one for one in files_of(folder)}
    assert found["keep/trajectory.segments"].sha256 == hashlib.sha256(lines).hexdigest()
    assert found["keep/trajectory.segments"].note.startswith("3 frames")
    assert found["water & <b>ions.tsr"].problem == ""


def test_the_commands_of_the_page_do_it_again(folder: Path, tmp_path: Path) -> None:
    """Elsewhere, though settings have the places of the first run."""
    runs = runs_of(folder)
    shutil.copy(folder.parent / "water & <b>ions.tsr", tmp_path)
    page = tmp_path / "page.html"
    done = CliRunner().invoke(report, [str(folder), "-o", str(page), "--quick"])
    assert done.exit_code == 0, done.output
    texts = Page(page.read_text()).texts
    commands = next(text for text in texts if text.startswith("tessera run ")).splitlines()
    assert len(commands) == len(runs)
    for run, command in zip(runs, commands, strict=True):
        (tmp_path / f"{run.name}.toml").write_text(run.settings_text)
        run_program([*TESSERA, *shlex.split(command)[1:]], cwd=tmp_path)
    redone = json.loads((tmp_path / "keep" / "report.json").read_text())
    assert redone["state_hash"] == runs[-1].report["state_hash"]


def test_files_that_are_being_written_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("settings.toml", "energy.csv", ".lock", ".tessera.host.17.0.part"):
        (tmp_path / name).write_text("step,time [ps]\n")
    assert [one.name for one in files_of(tmp_path)] == ["energy.csv", "settings.toml"]
    sha256 = files._sha256

    def gone(path: Path) -> str:
        path.unlink() if path.name == "energy.csv" else None
        return sha256(path)

    monkeypatch.setattr(files, "_sha256", gone)
    assert [one.name for one in files_of(tmp_path)] == ["settings.toml"]


SETTINGS = "input = {}\noutput = {}\ninteractions = {}\ndynamics = {}\n"


@pytest.mark.parametrize(
    "text", ["", "[dynamics", "dynamics = 5", "\0", SETTINGS.replace("output = {}", ""), "[" * 9999]
)
def test_settings_that_no_run_has_written_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(InputError, match=r"settings\.toml.*the file is damaged"):
        runs_of(tmp_path)


@pytest.mark.parametrize(
    "dynamics",
    ['steps = "many"', "steps = [1]", "integrator = []", 'hydrogen_mass = "x"', f"steps = {'9' * 400}\ntimestep = 1.0"],
)
def test_settings_without_a_meaning_are_refused(tmp_path: Path, dynamics: str) -> None:
    (tmp_path / "settings.toml").write_text(SETTINGS.replace("dynamics = {}", f"[dynamics]\n{dynamics}"))
    done = CliRunner().invoke(report, [str(tmp_path), "--quick"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.output
    assert "settings.toml" in done.stderr and "the file is damaged" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["settings.toml"]


@pytest.mark.parametrize(
    "text",
    [
        '{"averages": 5}',
        '{"averages": {"temperature": 5}}',
        '{"averages": {"temperature": {"mean": 1, "unit": "K"}}}',
        '{"averages": {"temperature": {"mean": "much", "fluctuation": 1, "unit": "K"}}}',
        '{"averages": {"temperature": {"mean": 1, "fluctuation": 1, "unit": null}}}',
        '{"results": {"drift_kT_ns_dof": "much"}}',
        '{"results": [1]}',
        '{"versions": [1]}',
        '{"machine": 5}',
        '{"state_hash": 5}',
        '{"ms_per_step": "long"}',
    ],
)
def test_reports_that_no_run_has_written_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(InputError, match=r"report\.json.*the file is damaged"):
        read_report(tmp_path / "report.json")


def test_a_page_replaces_no_other_file(folder: Path) -> None:
    before = (folder / "keep" / "energy.csv").read_bytes()
    done = CliRunner().invoke(report, [str(folder), "-o", str(folder / "keep" / "energy.csv")])
    assert done.exit_code == 2 and "has to end in .html" in done.stderr
    assert (folder / "keep" / "energy.csv").read_bytes() == before


def test_what_is_damaged_is_shown(folder: Path) -> None:
    checkpoint = folder / "keep" / "checkpoint.tck"
    whole = checkpoint.read_bytes()
    try:
        checkpoint.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        found = {one.name: one for one in files_of(folder)}
    finally:
        checkpoint.write_bytes(whole)
    assert found["keep/checkpoint.tck"].problem
    assert not found["lower/checkpoint.tck"].problem


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("lj", words._LJ),
        ("electrostatics", {"pme": "", **words._COULOMB}),
        ("integrator", words._INTEGRATORS),
        ("constraints", words._CONSTRAINTS),
        ("thermostat", words._THERMOSTATS),
        ("barostat", words._BAROSTATS),
        ("coupling", words._COUPLINGS),
    ],
)
def test_each_value_of_a_key_has_words(key: str, known: dict[str, str], defaults: str) -> None:
    line = re.search(rf"^{key} = .*\(([^()]*)\)$", defaults, re.MULTILINE)
    assert line is not None
    assert set(line[1].split(", ")) - {"auto"} == set(known)


def test_a_value_without_words_stands_as_it_is() -> None:
    assert "thermostat = 'demon'" in " ".join(words.sentences({"dynamics": {"ensemble": "nvt", "thermostat": "demon"}}))


def test_works_are_those_of_the_bibliography_and_of_the_run() -> None:
    bibliography = (ROOT / "docs" / "bibliography.md").read_text()
    assert [work.doi for _, work in WORKS if f"[doi:{work.doi}]" not in bibliography] == []
    found = works([{"dynamics": {"ensemble": "nve", "thermostat": "bussi", "constraints": "none"}}])
    assert [work.what for work in found] == []
    assert [work.what for work in works([{"dynamics": {"mesh_every": "often"}}])] == []
    assert [work.what for work in works([{"dynamics": {"mesh_every": 2}}])] == ["several time steps"]


def test_means_that_are_no_numbers_are_left_out(folder: Path, tmp_path: Path) -> None:
    """As those of a run that blew up are."""
    shutil.copytree(folder / "keep", tmp_path / "keep")
    found = json.loads((tmp_path / "keep" / "report.json").read_text())
    found["averages"]["temperature"].update(mean=None, fluctuation=None)
    (tmp_path / "keep" / "report.json").write_text(json.dumps(found))
    said("report", tmp_path / "keep", "--quick")
    texts = Page((tmp_path / "keep" / "report.html").read_text()).texts
    assert "potential" in texts and "temperature" not in texts


def test_what_holds_no_run_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(report, [str(tmp_path)])
    assert (done.exit_code, "holds no run" in done.stderr) == (2, True)
    for name, message in (("none", "is not there"), ("file", "is a file")):
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match=message):
            runs_of(tmp_path / name)
    (tmp_path / "settings.toml").write_text("")
    (tmp_path / "report.json").write_text("[1")
    with pytest.raises(InputError, match="the file is damaged"):
        runs_of(tmp_path)
