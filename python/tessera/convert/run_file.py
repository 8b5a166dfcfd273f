"""Writes run files whose keys have their origins as comments, and asks the engine whether it would read one."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tessera import launch
from tessera.convert.model import Setting, Translation
from tessera.errors import InputError
from tessera.printing import printable
from tessera.settings import toml_value

_SECTIONS = ("interactions", "pme", "dynamics", "minimize", "output", "parallel")


def run_file_text(translation: Translation, system: str, title: str) -> str:
    """Returns the text of the run file. `system` is the path of the system file as the run file has it."""
    lines = [_comment(title), *(_comment(f"Note: {note}") for note in translation.notes)]
    if translation.prepare:
        lines += [_comment("The system: " + shlex.join(translation.prepare))]
    lines += ["", "[input]", f"system = {toml_value('system', system)}"]
    lines += _sections(translation.keys, "")
    for name, keys in translation.tables:
        lines += ["", f"[[{name}]]", *_assignments(keys)]
    for stage in translation.stages:
        lines += ["", "[[stage]]", f"name = {toml_value('name', stage.name)}"]
        if stage.kind != "dynamics":
            lines.append(f"kind = {toml_value('kind', stage.kind)}")
        if stage.restraints == []:
            lines.append("restraint = []")
        lines += _sections(stage.keys, "stage.")
        for name, rows in (("bath", stage.baths), ("restraint", stage.restraints or [])):
            for row in rows:
                lines += ["", f"[[stage.{name}]]", *_assignments(row)]
    return "\n".join(lines) + "\n"


def check_run_file(path: Path) -> None:
    """Asks the engine whether it understands a run file. Raises `InputError` where it does not, with the origin of the
    key that it refuses: the file itself will not be there."""
    command = [*launch.single_engine(), launch.word_of(path), "--list-selections"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        place = re.search(rf"\S*{re.escape(path.name)}:(\d+): ", said)
        if place is None:
            raise InputError(f"the run file would be refused: {said}")
        line = path.read_text(encoding="utf-8").split("\n")[int(place[1]) - 1]
        origin = line.partition("  # ")[2] or line
        raise InputError(f"{origin}: the run file would be refused: {said[place.end() :]}")


def _sections(keys: Mapping[str, Setting], prefix: str) -> list[str]:
    lines = []
    for section in _SECTIONS:
        own = {name.partition(".")[2]: value for name, value in keys.items() if name.partition(".")[0] == section}
        if own:
            lines += ["", f"[{prefix}{section}]", *_assignments(own)]
    return lines


def _assignments(keys: Mapping[str, Setting]) -> list[str]:
    lines = []
    for name, setting in keys.items():
        comment = f"  {_comment(setting.origin)}" if setting.origin else ""
        lines.append(f"{name} = {toml_value(name, setting.value)}{comment}")
    return lines


def _comment(text: str) -> str:
    return "# " + printable(" ".join(text.split()))
