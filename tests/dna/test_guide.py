"""Runs the commands of docs/guide/chromatin.md, which need CHARMM36's files."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.commands import called
from tests.support.programs import run_program

ROOT = Path(__file__).resolve().parents[2]


def test_the_guide_builds_and_minimises_a_helix(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("top_all36_na.rtf", "par_all36_na.prm"):
        (tmp_path / name).symlink_to(data_folder / "charmm36_toppar" / name)
    guide = (ROOT / "docs" / "guide" / "chromatin.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    printed = ""
    for line in "".join(blocks).splitlines():
        words = shlex.split(line)
        if words[:2] == ["tessera", "minimize"]:  # which sets handlers of signals
            run_program([sys.executable, "-m", *words])
        elif words[0] == "tessera":
            done = called(*words[1:])
            assert done.exit_code == 0, done.output
            printed += done.stdout
        else:
            run_program(["bash", "-c", line])
    assert "12 base pairs" in printed
    assert (tmp_path / "dna.psf").stat().st_size > 0
