"""A machine without what GROMACS is built with hears of it before anything is fetched or built."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from bench.common import gromacs_build


@pytest.mark.parametrize("found", [True, False])
def test_fftw_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bool) -> None:
    asked: list[str] = []

    def run(words: list[str], **_: Any) -> SimpleNamespace:
        asked.append(words[0])
        return SimpleNamespace(returncode=0 if found else 1)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(gromacs_build.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    assert gromacs_build.what_is_missing() == ([] if found else ["FFTW in single precision"])
    if not found:
        common: Any = SimpleNamespace(work=tmp_path, say=print)
        with pytest.raises(
            click.ClickException, match=r"needs FFTW in single precision: apt-get install .*libfftw3-dev"
        ):
            gromacs_build.build(common, "AVX2")
        assert set(asked) == {"g++"} and not list(tmp_path.rglob("sources.list"))
