"""Commands that documents name exist: the modules of `python -m`, the commands of `tessera`, the unit tests of `ctest`,
and the options that are given to them. Nothing is run."""

import importlib
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from tessera.cli import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: What files of Tessera begin with stands in code, too.
BEGIN_OF_FILES = ("tessera checked file", "tessera segment")
OPTION = re.compile(r"(?<!\S)(--[a-z][a-z0-9-]+)")


def commands(text: str) -> Iterator[str]:
    """Returns the simple commands in spans and blocks of code, without comments."""
    blocks = re.findall(r"^```(?:bash|console)\n(.*?)^```", text, flags=re.M | re.S)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    for line in [*spans, *(line for block in blocks for line in block.replace("\\\n", " ").splitlines())]:
        yield from re.split(r"\|\||&&|[|;]|\$\(|\)|  #", line.removeprefix("$ "))


def options_of(*found: click.Command) -> set[str]:
    named = {name for one in found for option in one.params for name in (*option.opts, *option.secondary_opts)}
    return named | {"--help", "--version"}


@cache
def command_of_module(name: str) -> click.Command | None:
    """Returns the click command of a script, where it has one; that of a folder is in its `__main__`."""
    if not name.startswith(("bench.", "papers.")):
        return None
    module = importlib.import_module(f"{name}.__main__" if is_folder(name) else name)
    own = [one for one in vars(module).values() if isinstance(one, click.Command)]
    return max(own, key=lambda one: isinstance(one, click.Group), default=None)


def is_folder(name: str) -> bool:
    return (ROOT / name.replace(".", "/")).is_dir()


def unknown_module(words: str) -> str | None:
    named = re.search(r"python3? -m ([\w.]+) ?([a-z][a-z-]*)?", words)
    if named is None:
        return None
    name = named[1].rstrip(".")
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        found = None
    if found is None:
        return f"python -m {name}: there is no such module"
    command = command_of_module(name)
    if isinstance(command, click.Group):
        if not named[2]:
            return None
        if named[2] not in command.commands:
            return f"python -m {name}: there is no {named[2]}"
        command = command.commands[named[2]]
    wrong = [] if command is None else [one for one in OPTION.findall(words) if one not in options_of(command)]
    return f"python -m {name} has no {wrong[0]}" if wrong else None


def unknown_command(words: str) -> str | None:
    named = re.match(r"(?:.* )?tessera ((?:[a-z][a-z-]+ ?)+)(.*)$", words)
    if named is None or words.startswith(BEGIN_OF_FILES):
        return None
    command: click.Command = cli
    context = click.Context(cli)
    for word in named[1].split():
        if not isinstance(command, click.Group):
            break
        inner = command.get_command(context, word)
        if inner is None:
            return f"tessera {named[1].strip()}: there is no {word}"
        command = inner
    wrong = [one for one in OPTION.findall(named[2].split(" -- ")[0]) if one not in options_of(command)]
    return f"tessera {named[1].strip()} has no {wrong[0]}" if wrong else None


def unknown_test(words: str) -> str | None:
    named = re.match(r"ctest .*-R '\^([\w\\.]+)'", words)
    if named is None:
        return None
    library, _, rest = named[1].replace("\\.", ".").rstrip(".").partition(".")
    suite, _, name = rest.partition(".")
    wanted = rf"TEST(?:_\w)?\({suite or chr(92) + 'w+'}, {name or chr(92) + 'w+'}\)"
    sources = (ROOT / "cpp" / "tessera" / library).rglob("*_test.cpp")
    is_there = any(re.search(wanted, source.read_text()) for source in sources)
    return None if is_there else f"ctest: there is no test {library}.{rest}"


def wrong_commands(text: str) -> list[str]:
    checks = (unknown_module, unknown_command, unknown_test)
    return [problem for words in commands(text) for check in checks if (problem := check(words.strip()))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_of_documents_exist(document: Path) -> None:
    assert not wrong_commands(document.read_text())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`python -m papers.fft --kept`", []),
        ("`python -m papers.ftf`", ["python -m papers.ftf: there is no such module"]),
        ("```console\n$ python -m papers.fft --keep\n```", ["python -m papers.fft has no --keep"]),
        ("`python -m bench.md growth --check`", []),
        ("`python -m bench.md grow`", ["python -m bench.md: there is no grow"]),
        ("`python -m bench.io setup --chek`", ["python -m bench.io has no --chek"]),
        ("`tessera machine hostfile MAP --order ring`", []),
        ("`tessera machine hostlist MAP`", ["tessera machine hostlist: there is no hostlist"]),
        ("```bash\ncd x && tessera fft plan 64 --rank 4\n```", ["tessera fft plan has no --rank"]),
        (r"`ctest -R '^machine\.Partition\.Figure1'`", []),
        (r"`ctest -R '^machine\.Partition\.Figure9'`", ["ctest: there is no test machine.Partition.Figure9"]),
    ],
)
def test_a_wrong_command_is_found(text: str, found: list[str]) -> None:
    assert wrong_commands(text) == found
