"""The house rules as tests, and that they would notice."""

import tomllib
from pathlib import Path

import house
import includes
import pytest

import tessera


def test_libraries_include_only_what_they_may() -> None:
    assert not includes.violations()


def test_house_rules() -> None:
    assert not house.violations()


def test_one_version() -> None:
    project = tomllib.loads((house.ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == tessera.__version__
    assert f"project(tessera VERSION {tessera.__version__} " in (house.ROOT / "CMakeLists.txt").read_text()


@pytest.mark.parametrize(
    ("library", "line"),
    [
        ("base", '#include "tessera/comm/communicator.h"'),
        ("md", '#include "tessera/io/segment.h"'),
        ("io", '#include "tessera/md/engine.h"'),
        ("md", "#include <mpi.h>"),
        ("md", "#include <hdf5.h>"),
        ("model", '#include "system.h"'),
    ],
)
def test_a_wrong_include_is_found(library: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpp" / "tessera" / library / "wrong.cpp"
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n")
    monkeypatch.setattr(includes, "ROOT", tmp_path)
    assert len(includes.violations()) == 1


@pytest.mark.parametrize("line", ["std::cout << 1;", 'printf("x");', "std::exit(1);", "// T" + "ODO later"])
def test_a_forbidden_word_is_found(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("cpp/tessera/md/wrong.cpp")
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(line + "\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.forbidden_words([path])) == 1


def test_a_dead_link_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A heading\n[x](b.md) [y](#a-heading) [z](#another)\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert len(house.dead_links([Path("a.md")])) == 2
