"""Makes charges of a file for a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tessera.build.charges.apbs import require_apbs
from tessera.build.charges.core import Core, read_core
from tessera.build.charges.make import Made, make_charges
from tessera.build.dna.helix import read_field
from tessera.build.nucleosome.assemble import build_nucleosome
from tessera.build.nucleosome.template import read_template
from tessera.errors import InputError
from tessera.files import check_free, write_text
from tessera.printing import printable
from tessera.system import write

Report = Callable[[str], None]


def charges_of(
    structure: Path,
    salt: float,
    with_tails: bool,
    count: int,
    toppar: Sequence[Path],
    seed: int,
    memory: int,
    output: Path,
    report: Report,
) -> Made:
    """Writes this many charges in place of the core of a nucleosome, and returns them. What the structure lacks is
    built first, but for a system file. Raises `InputError`."""
    require_apbs()
    check_free(output, force=True)
    core = _core(structure, with_tails, toppar, seed, report)
    made = make_charges(core, salt, count, memory, seed, report)
    words = (structure.name, *(file.name for file in toppar))
    write_text(output, made.csv(printable(f"build charges: {' '.join(words)}")))
    return made


def _core(structure: Path, with_tails: bool, toppar: Sequence[Path], seed: int, report: Report) -> Core:
    if structure.suffix.lower() == ".tsr":
        report("reading the nucleosome")
        return read_core(structure, with_tails)
    if not toppar:
        raise InputError(
            f"{structure.name} has no charges: add CHARMM's files with --toppar, or give the system file (.tsr) of a "
            "nucleosome that was built"
        )
    report("reading the force field")
    field = read_field(toppar)
    template = read_template(structure, field, seed=seed, report=report)
    system = build_nucleosome(template, field, structure.name, seed=seed, report=report)
    with tempfile.TemporaryDirectory(prefix="tessera-charges-") as folder:
        path = Path(folder) / f"{structure.stem}.tsr"
        write(system, path)
        core = read_core(path, with_tails)
    core.notes[:0] = system.notes
    return core
