"""The studies of examples/studies run to their ends, in their short form; what they assert holds."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "examples" / "studies").glob("*.py"))


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_a_study_runs(study: Path, tmp_path: Path, run_program: Callable) -> None:
    done = run_program([sys.executable, study], cwd=tmp_path, env={"TESSERA_STUDY": "short"})
    assert "first shell" in done.stdout


def test_the_page_has_every_study() -> None:
    page = (ROOT / "docs" / "guide" / "studies.md").read_text()
    assert re.findall(r"examples/studies/([\w.]+)\)", page) == [study.name for study in STUDIES]
