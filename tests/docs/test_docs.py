"""Runs the code in README.md and docs/: the blocks of each document run in order, in an empty folder.

bash     runs, and must succeed
python   runs, and must succeed
toml     must parse; written to the file that a comment on its first line names (`# run.toml`), if one does
text     after `<!-- printed -->`: must be part of what the bash block before it prints
console  and other languages are for the eye only

`<!-- not run: reason -->` on the line before a block leaves it out. After `<!-- run with the MPICH of .venv -->` its
mpirun and python are those of the environment, for other MPIs differ from machine to machine. `examples` and `machines`
are as in a checkout.
"""

import os
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("bash", "python", "toml")


@dataclass
class Block:
    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    lines = iter(enumerate(text.splitlines(), 1))
    before = ""
    for number, line in lines:
        fence = re.fullmatch(r"```(\w*)", line)
        if not fence:
            before = line.strip() or before
            continue
        body = []
        for _, inner in lines:
            if inner == "```":
                break
            body.append(inner)
        if before == "<!-- printed -->":
            found.append(Block("printed", "\n".join(body) + "\n", number))
        elif before == "<!-- run with the MPICH of .venv -->":
            found.append(Block("ranks", "\n".join(body) + "\n", number))
        elif fence[1] in LANGUAGES and not re.fullmatch(r"<!-- not run: .+ -->", before):
            found.append(Block(fence[1], "\n".join(body) + "\n", number))
        before = ""
    return found


def with_code() -> list[Path]:
    return [document for document in DOCUMENTS if document.exists() and blocks(document.read_text())]


@pytest.mark.parametrize("document", with_code(), ids=lambda path: str(path.relative_to(ROOT)))
def test_code_runs(document: Path, tmp_path: Path) -> None:
    for folder in ("examples", "machines"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    printed = ""
    path = f"{ROOT / 'build' / 'release' / 'bin'}:{os.environ['PATH']}"
    for block in blocks(document.read_text()):
        if block.language == "printed":
            assert block.text in printed, f"{document.relative_to(ROOT)}:{block.line}: printed was\n{printed}"
            continue
        if block.language == "toml":
            tomllib.loads(block.text)
            name = re.match(r"# (\S+\.toml)$", block.text.splitlines()[0])
            if name:
                (tmp_path / name[1]).write_text(block.text)
            continue
        command = [sys.executable, "-c"] if block.language == "python" else ["bash", "-euo", "pipefail", "-c"]
        own = Path(sys.executable).parent
        environment = {"PATH": path}
        if block.language == "ranks":
            environment = {"PATH": f"{own}:{path}", "MPI4PY_LIBMPI": str(own.parent / "lib" / "libmpi.so.12")}
        done = run_program([*command, block.text], cwd=tmp_path, env=environment, check=False)
        printed = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
        if done.returncode != 0:
            pytest.fail(
                f"{document.relative_to(ROOT)}:{block.line}: exit status {done.returncode}\n"
                f"{block.text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            )


def test_blocks_are_found_and_left_out() -> None:
    text = (
        "a\n```bash\nx\n```\n<!-- not run: needs root -->\n```bash\ny\n```\n```console\nz\n```\n```toml\nt = 1\n```\n"
        "<!-- printed -->\n```text\nx\n```\n```text\ny\n```\n<!-- run with the MPICH of .venv -->\n```bash\nz\n```\n"
    )
    assert [(block.language, block.text, block.line) for block in blocks(text)] == [
        ("bash", "x\n", 2),
        ("toml", "t = 1\n", 12),
        ("printed", "x\n", 16),
        ("ranks", "z\n", 23),
    ]


def test_reference_is_what_the_programs_say() -> None:
    run_program([sys.executable, ROOT / "scripts" / "reference", "--check"])
