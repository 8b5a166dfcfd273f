"""The studies of examples/studies run to their ends, in their short form, and what they assert holds; their pages show
their code and texts, with what a longer run printed and drew."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest
from matplotlib import pyplot

from bench import studies
from tests.support.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
STUDIES = sorted((ROOT / "examples" / "studies").glob("*.py"))
SMALL = "# %% [markdown]\n# # A\n#\n# Text.\n\n# %%\nprint(1 + 1)\n\n# %% [markdown]\n# End.\n"


def page_of(study: Path) -> str:
    return (ROOT / "docs" / "studies" / f"{study.stem}.md").read_text()


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_a_study_runs(study: Path, tmp_path: Path) -> None:
    run_program([sys.executable, study], cwd=tmp_path, env={"TESSERA_STUDY": "short"})
    assert (tmp_path / f"{study.stem}.png").stat().st_size > 10_000


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_a_page_is_that_of_its_study(study: Path) -> None:
    page = page_of(study)
    assert studies.without_results(page) == studies.without_run(study.read_text()), "run python -m bench.studies --help"
    assert re.search(rf"^!\[[^\]]{{20,}}\]\({study.stem}\.svg\)$", page, re.M), "the figure has words for who can't see"
    assert "`TESSERA_STUDY=short" not in page, "a short run shows nothing"
    assert page.count("<!-- printed by the study -->") >= 2


def test_the_list_has_every_study() -> None:
    page = (ROOT / "docs" / "guide" / "studies.md").read_text()
    assert sorted(re.findall(r"examples/studies/([\w.]+)\)", page)) == [study.name for study in STUDIES]
    assert sorted(set(re.findall(r"\.\./studies/(\w+)\.md\)", page))) == [study.stem for study in STUDIES]


def test_a_page_is_made_of_cells(tmp_path: Path) -> None:
    study = ROOT / "examples" / "studies" / "none.py"
    drawn = SMALL.replace("print(1 + 1)", 'import matplotlib.pyplot as p\np.figure(num="a b")\nprint(1 + 1)')
    cells = studies.cells(drawn)
    assert [cell.is_text for cell in cells] == [True, False, True]
    of_others = pyplot.figure()
    shown = studies.run(cells[1], {}, tmp_path / "small.svg")
    assert shown == "\n<!-- printed by the study -->\n```text\n2\n```\n\n![a b](small.svg)\n"
    pyplot.close(of_others)
    assert (tmp_path / "small.svg").read_text().startswith("<?xml")
    parts = [f"{cell.markdown()}\n{'' if cell.is_text else shown}" for cell in cells]
    page = "\n".join([f"# A\n{studies.about(study, 'minutes', 60.0)}\nText.\n", *parts[1:]])
    assert studies.without_results(page) == studies.without_run(drawn)
    assert studies.without_results(page) != studies.without_run(drawn.replace("1 + 1", "1 + 2"))
    assert studies.with_new_texts(page, drawn.replace("End.", "The end.")) == page.replace("End.", "The end.")
    with pytest.raises(click.ClickException, match="other code"):
        studies.with_new_texts(page, drawn.replace("1 + 1", "1 + 2"))
