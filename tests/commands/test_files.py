"""Commands write a file whole or not at all, and they replace regular files only."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tessera.build.fiber import generate
from tessera.build.fiber.tails import write_beads
from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.files import named, read_regular, replaced, replaced_folder, write_text
from tessera.launch import threads_of_run
from tessera.plots import read_energy_table, read_report
from tessera.printing import told
from tessera.select.resolve import read_file
from tessera.settings import sections_of
from tessera.stopping import Stopped
from tessera.system import read, write
from tessera.traj.find import settings_of
from tests.support.programs import TESSERA, run_program


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_text(path, "first")
    with pytest.raises(ZeroDivisionError), replaced(path) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "first"
    write_text(path, "second")
    assert path.read_text() == "second" and list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def test_a_folder_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a link leads, too, and where the command is ended between both names."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "file").write_text("first")
    (tmp_path / "link").symlink_to("away")
    with replaced_folder(tmp_path / "link") as new:
        (new / "file").write_text("second")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "away" / "file").read_text() == "second"
    rename = Path.rename

    def ended(self: Path, to: Path) -> None:
        monkeypatch.setattr(Path, "rename", rename)
        self.rename(to)
        raise Stopped(signal.SIGTERM)

    monkeypatch.setattr(Path, "rename", ended)
    with pytest.raises(Stopped), replaced_folder(tmp_path / "away") as new:
        (new / "file").write_text("third")
    assert (tmp_path / "away" / "file").read_text() == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["away", "link"]


def test_tables_of_fibres_are_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "table_text", lambda *_: "new")
    for write_one, name in ((generate.write_table, "table"), (write_beads, "beads")):
        old, path = tmp_path / f"old {name}", tmp_path / name
        old.write_text("old")
        os.link(old, path)
        write_one(path, [], [])
        assert old.read_text() == "old" != path.read_text()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_links_stay(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    for name in ("link", "to_none"):
        (tmp_path / name).symlink_to(f"away/{name}")
    write_text(tmp_path / "away" / "link", "old")
    for name in ("link", "to_none"):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink() and (tmp_path / "away" / name).read_text() == "new"


@pytest.mark.parametrize("name", ["/dev/null", "pipe", "to_null", "folder", "circle", "none/file", "x" * 300])
def test_what_is_no_place_of_a_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_null").symlink_to("/dev/null")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError):
        write_text(tmp_path / name, "x")
    with pytest.raises(InputError) as refusal:
        write(make_water(24), tmp_path / name)
    assert name.split("/file")[0] in str(refusal.value) and len(str(refusal.value).splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before and Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["pipe", "folder", "zeros", "circle"])
def test_only_regular_files_are_read(tmp_path: Path, name: str) -> None:
    """Who opens a pipe waits for its other end, and a device of zeros has no end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError) as refusal:
        read_regular(tmp_path / name)
    assert refusal.value.filename == str(tmp_path / name)


@pytest.mark.parametrize("name", ["settings.toml", "report.json", "energy.csv", "selections.json"])
def test_a_pipe_in_the_folder_of_a_run_holds_nobody_up(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert settings_of(tmp_path) == {} and read_file(tmp_path / "selections.json") == {}
    for read_one, path in ((read_report, "report.json"), (read_energy_table, "energy.csv")):
        if path == name:
            with pytest.raises(InputError, match="is no regular file"):
                read_one(tmp_path / path)
    with pytest.raises(InputError, match="is no regular file"):
        sections_of(tmp_path / name)


def test_a_run_file_that_is_too_deep_is_left_to_the_engine(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("x = " + "[" * 50_000)
    assert threads_of_run(None, tmp_path / "run.toml", []) is None


def test_messages_name_the_file(tmp_path: Path) -> None:
    """The user does not know its temporary, which is gone by then."""
    with pytest.raises(OSError) as refusal:
        write_text("/proc/self/new", "x")
    assert told(refusal.value).startswith("/proc/self/new: ") and "[Errno" not in told(refusal.value)
    temporary = f"{tmp_path}/.tessera.my.host.17.0.part"
    assert named(f"{temporary}: can't write", tmp_path / "CONFIG") == f"{tmp_path}/CONFIG: can't write"


@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg"])
def test_no_room_for_a_picture(tmp_path: Path, ending: str) -> None:
    """The writer of PDF fails in ways of its own where it can't write."""
    code = f"""
from pathlib import Path
from matplotlib.figure import Figure
from tessera import plots
figure = Figure()
figure.add_subplot().plot(range(100))
try:
    plots.save(figure, Path("p{ending}"))
except plots.InputError as error:
    assert "File too large" in str(error)
else:
    raise AssertionError
"""
    command = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", sys.executable, "-c", code]
    run_program(command, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kib", [0, 1, 4, 8, 16, 32, 48, 64, 68])
def test_no_room_for_a_system_file(tmp_path: Path, kib: int) -> None:
    """A full disk gives one message, although HDF5 itself crashes when a write fails."""
    path = tmp_path / "water.tsr"
    write(make_water(24), path)
    before = path.read_bytes()
    command = f'ulimit -f {kib}; exec {sys.executable} -m tessera make water --atoms 3000 -o "$0"'
    done = run_program(["bash", "-c", command, path], status=2)
    assert len(done.stderr.splitlines()) == 1 and "File too large" in done.stderr, done.stderr
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    assert read(path).n_atoms == 24


@pytest.mark.parametrize("name", ["/dev/null", "pipe"])
def test_commands_replace_no_device(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = [*TESSERA, "make", "water", "--atoms", "300", "-o", tmp_path / name]
    assert "no regular file" in run_program(command, status=2).stderr
    assert Path("/dev/null").is_char_device() and (tmp_path / "pipe").is_fifo()
