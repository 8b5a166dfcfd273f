"""What a run has written about itself: settings, the report, the system that it names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tessera.errors import SENSELESS, InputError
from tessera.files import read_regular
from tessera.plots import read_report
from tessera.printing import counted, layout
from tessera.report.words import sentences
from tessera.settings import toml_value
from tessera.system import System, read
from tessera.system.box import describe_box
from tessera.traj.find import SETTINGS, input_of, protocol, settings_of

_NAMED = 8  # kinds of molecules, of which a longer list says nothing


@dataclass(frozen=True)
class Run:
    """A run, or a stage of a protocol: its folder, its settings, and its report, which is empty while there is none."""

    folder: Path
    settings: dict[str, Any]
    report: dict[str, Any]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def kind(self) -> str:
        """What it does: dynamics, or minimize."""
        stages = self.settings.get("stage") or [{}]
        return str(stages[-1].get("kind", "dynamics"))

    @property
    def settings_text(self) -> str:
        return read_regular(self.folder / SETTINGS).decode(errors="replace")

    def facts(self) -> str:
        """Returns its size, length and speed in one line."""
        if not self.report:
            return "there is no report.json yet: the run has not ended"
        steps = self.report.get("last_step", self.report.get("steps", 0))
        return (
            f"{counted(self.report.get('n_atoms', 0), 'atom')} · {counted(steps, 'step')} · {self._ranks()} · "
            f"{self.report.get('ns_per_day', 0.0):.3g} ns/day"
        )

    def system_words(self) -> Iterator[str]:
        """Yields what the system file that it names holds, where that is still there."""
        name = input_of(self.folder, "system")
        path = self.folder / name
        if not name or not path.is_file():
            yield f"The system file {name or 'of the run'} is not there any more."
            return
        system = read(path, has_atoms=False)
        place = f"in a box of {describe_box(system.box, 2)}" if system.periodic else "in a vacuum"
        yield f"The system file {path.name} has {_size(system)} {place}:"
        yield f"{molecules_of(system)}. It was made by: {system.source}."

    def speed_words(self) -> str:
        """Returns how fast it was, and where."""
        processor = (self.report.get("machine") or {}).get("processor", "an unknown processor")
        simd = (self.report.get("versions") or {}).get("simd", "an unknown instruction set")
        return (
            f"{self.report.get('ns_per_day', 0.0):.4g} ns/day, {self.report.get('ms_per_step', 0.0):.4g} ms a step, on "
            f"{self._ranks()} of {processor} with {simd}."
        )

    def _ranks(self) -> str:
        return layout(self.report.get("ranks", 1), self.report.get("threads", 1))

    def versions(self) -> str:
        """Returns with what it was run, and how to run it."""
        found = dict.fromkeys(("tessera", "mpi", "compiler"), "unknown") | (self.report.get("versions") or {})
        return f"Tessera {found['tessera']}, MPI: {found['mpi']}, compiler {found['compiler']}."

    def place(self, name: str) -> str:
        """Returns where its files are if it is done again into a folder: settings of a minimisation are a protocol of
        one stage, which has a folder of its own."""
        stages = self.settings.get("stage")
        return f"{name}/{stages[-1].get('name', '')}" if stages else name

    def command(self, name: str, start: str = "") -> str:
        """Returns the command that does it again: the settings lie in NAME.toml, and what they name beside it, since
        they have the places of this run. `start` is the place of the stage before."""
        places = {key: Path(input_of(self.folder, key)).name for key in ("system", "start")}
        places["start"] = start or places["start"]
        settings = {f"input.{key}": place for key, place in places.items() if place} | {"output.folder": name}
        parallel = ("-n", str(self.report.get("ranks", 1)), "-t", str(self.report.get("threads", 1)))
        words = [word for key, place in settings.items() for word in ("--set", f"{key}={_set_value(place)}")]
        return shlex.join(["tessera", "run", f"{name}.toml", *parallel, *words])

    def words(self) -> str:
        """Returns what its settings say in sentences. Raises `InputError` where they are not those of a run."""
        try:
            return " ".join(sentences(self.settings, self.kind))
        except SENSELESS as error:
            raise InputError(f"{self.folder / SETTINGS}: {error}; the file is damaged") from None


def _size(system: System) -> str:
    return f"{counted(system.n_atoms, 'atom')} in {counted(system.n_molecules, 'molecule')}"


def _set_value(text: str) -> str:
    """Returns a text as `--set` takes it: quoted where it might be taken for something else."""
    return text if re.fullmatch(r"[A-Za-z_][\w./-]*", text) else toml_value("", text)


def molecules_of(system: System) -> str:
    """Returns how many molecules there are of each kind, the most frequent first."""
    count: dict[str, int] = dict.fromkeys(system.chain_name, 1)
    is_alone = np.ones(len(system.runs), bool)
    for begin, runs in system.chains.tolist():
        is_alone[begin : begin + runs] = False
    for row, number in system.runs[is_alone].tolist():  # a liquid has too many instances to list
        count[system.templates[row].name] = count.get(system.templates[row].name, 0) + number
    ordered = sorted(count.items(), key=lambda one: (-one[1], one[0]))
    shown = [f"{number:,} {name.strip() or '(blank)'}" for name, number in ordered[:_NAMED]]
    return ", ".join(shown) + (f" and {len(ordered) - _NAMED} other kinds" if len(ordered) > _NAMED else "")


def runs_of(folder: Path) -> list[Run]:
    """Returns the run in a folder, or the stages of a protocol in their order. Raises `InputError` where there is
    none, and for a report that is damaged."""
    if not folder.is_dir():
        is_there = "is a file" if folder.exists() else "is not there"
        raise InputError(f"{folder} {is_there}: expected the output folder of a run or of a protocol")
    folders = [folder] if (folder / SETTINGS).is_file() else protocol(folder)
    if not folders:
        raise InputError(f"{folder} holds no run: expected the output folder of a run or of a protocol")
    return [Run(one, _settings_of(one), read_report(one / "report.json") or {}) for one in folders]


def _settings_of(folder: Path) -> dict[str, Any]:
    """Returns the settings of a run. Raises `InputError` where they are damaged."""
    found = settings_of(folder)
    if not all(isinstance(found.get(section), dict) for section in ("input", "interactions", "dynamics", "output")):
        raise InputError(f"{folder / SETTINGS}: expected the settings that a run has written; the file is damaged")
    return found
