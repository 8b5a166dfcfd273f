"""Makes a protocol of the steps that CHARMM-GUI (Jo et al. 2008) writes for a program: minimisation, equilibration in
one or six steps whose restraints become weaker, production.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tessera.convert.model import Setting, Stage, Translation
from tessera.errors import InputError
from tessera.prepare.text import read_text

_STEP = re.compile(r"step(\d+)(?:\.(\d+))?_(minimization|equilibration|production)\.(mdp|inp|mdin|conf)")
_CYCLES = re.compile(r"cntmax\s*=\s*(\d+)")
_FOLDERS = {"gromacs": "gromacs", "openmm": "charmm-gui", "namd": "namd", "amber": "amber", "genesis": "genesis"}
#: keys that a stage hands down, with the values that they have where a step does not set them
_UNSET = {
    "output.trajectory_every": 0, "output.velocities": False, "output.forces": False, "dynamics.mesh_every": 1,
    "dynamics.direct_every": 1, "dynamics.surface_tension": 0.0,
}  # fmt: skip


def steps_in(folder: Path) -> list[Path]:
    """Returns the inputs of steps in a folder, in their order."""
    found = [(match, path) for path in folder.iterdir() if (match := _STEP.fullmatch(path.name)) and path.is_file()]
    return [path for _, path in sorted(found, key=lambda one: (int(one[0][1]), int(one[0][2] or 0)))]


def folder_of(folder: Path, program: str) -> tuple[Path, str]:
    """Returns the folder of a program in an archive and the program; that folder may be given itself. Without one, the
    first path is returned with no program. Raises `InputError` where there are several and none is named."""
    if steps_in(folder):
        return folder, program
    there = {name: folder / name for name in _FOLDERS if (folder / name).is_dir() and steps_in(folder / name)}
    if program:
        there = {name: path for name, path in there.items() if program in (name, _FOLDERS[name])}
    if len(there) > 1:
        raise InputError(f"{folder} has the inputs of {', '.join(there)}: say --from PROGRAM")
    return (next(iter(there.values())), program) if there else (folder, program)


def protocol(steps: Sequence[tuple[str, Translation]], whole: Translation) -> None:
    """Writes the stages of the steps, which are named, into `whole`."""
    pieces = [piece for name, step in steps for piece in _pieces(name, step, whole.system)]
    now: dict[str, Setting] = {}
    for n, piece in enumerate(pieces):
        keys = dict(piece.keys)
        velocities = keys.pop("dynamics.velocities", None)
        if velocities and velocities.value == "auto" and n and pieces[n - 1].kind == "minimize":
            velocities = Setting("generate", f"{velocities.origin}; a minimisation leaves none")
        if piece.kind == "dynamics":
            unset = {key: value for key, value in _UNSET.items() if key in now and key not in keys}
            keys |= {key: Setting(value, "this step does not ask for it") for key, value in unset.items()}
        own = {key: one for key, one in keys.items() if key not in now or now[key].value != one.value}
        if n == 0:
            whole.keys = {key: one for key, one in keys.items() if not key.startswith("minimize.")}
            own = {key: one for key, one in keys.items() if key not in whole.keys}
        if velocities and piece.kind == "dynamics" and (n == 0 or velocities.value in ("generate", "zero")):
            own["dynamics.velocities"] = velocities  # a later stage keeps those of the one above by itself
        now |= keys
        above = pieces[n - 1] if n else None
        held = None if above and _values(above.restraints) == _values(piece.restraints) else piece.restraints
        baths = [] if above and _values(above.baths) == _values(piece.baths) else piece.baths
        whole.stages.append(Stage(piece.name, piece.kind, own, held, baths))
    if not whole.stages[0].restraints:
        whole.stages[0].restraints = None


def _values(rows: Sequence[dict[str, Setting]] | None) -> list[dict[str, object]]:
    return [{key: setting.value for key, setting in row.items()} for row in rows or []]


def _pieces(name: str, step: Translation, system: str) -> list[Stage]:
    """Returns the stages of a step. Places of restraints are those of the system file, from which all steps begin."""
    held = [row for kind, row in step.tables if kind == "restraint"]
    held = [row | {"reference": Setting(system, "")} if row["kind"].value == "position" else row for row in held]
    baths = [row for kind, row in step.tables if kind == "bath"]
    other = {kind for kind, _ in step.tables} - {"restraint", "bath"}
    if other:
        raise InputError(f"{name}: rows of [[{other.pop()}]] in a step are not supported")
    plain = re.sub(r"\W", "_", name)
    stages = step.stages or [Stage("", "dynamics")]
    last = len(stages) - 1
    return [
        Stage(plain if n == last else f"{plain}_{stage.name}", stage.kind, {**step.keys, **stage.keys}, held, baths)
        for n, stage in enumerate(stages)
    ]


def cycles_of(folder: Path) -> int:
    """Returns how often the script README runs the last step; 1 where it does not say."""
    readme = folder / "README"
    found = _CYCLES.search(read_text(readme)) if readme.is_file() else None
    return int(found[1]) if found else 1
