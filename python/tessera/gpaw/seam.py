"""Puts Tessera's classes in the place of GPAW's compiled ones, and takes them out again.

GPAW's Python layer looks these names up in `gpaw.cgpaw` each time it makes an operator, makes a transformer or applies
the preconditioner, so replacing them there is enough:

    Operator     finite differences          operators.Operator
    Transformer  restriction, interpolation  transformers.Transformer
    fd_precond   the preconditioner's cycle  preconditioner.precondition
    WOperator    weighted sums of operators  GPAW's own, said once

Of the Poisson solvers in `gpaw.poisson` the classes' methods are replaced, for solvers that are there already, too:

    FastPoissonSolver, FDPoissonSolver   the linear solve of a neutral density, the description in the log
    FFTPoissonSolver                     GPAW's own, said once
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tessera.gpaw import domains, operators, poisson, preconditioner, transformers
from tessera.gpaw.errors import GpawError, GpawWarning

#: Versions of GPAW with which the test suite was run.
TESTED_VERSIONS = ("26.7.0",)


#: GPAW's own, by owner and name, while Tessera is enabled.
_own: dict[tuple[Any, str], Any] = {}
_said: set[str] = set()


def is_enabled() -> bool:
    """Tells whether GPAW makes Tessera's operators now."""
    return bool(_own)


def enable(*, threads: int = 1) -> None:
    """Makes GPAW use Tessera for the operators and transformers that it makes from now on, and in all Poisson solvers.

    `threads`: of each rank, for one field after the other. Collective: every rank of a calculation calls it. Raises
    `GpawError` where GPAW is missing, has a version that was not tested or was built for an MPI for which Tessera was
    not, and where the map of the machine that TESSERA_MACHINE names can't be read or lacks hosts of the ranks.
    """
    if threads < 1:
        raise GpawError(f"threads is {threads}; expected a whole number from 1 up")
    compiled = _checked_gpaw()
    domains.set_threads(threads)
    domains.check_machine()
    if _own:
        return
    for owner, replacements in [(compiled, _replacements()), *_replacements_in_solvers()]:
        for name, make in replacements.items():
            _own[owner, name] = getattr(owner, name)
            setattr(owner, name, make(_own[owner, name]))


def disable() -> None:
    """Gives GPAW its own code back. Operators and transformers that were made before stay Tessera's."""
    for (owner, name), own in _own.items():
        setattr(owner, name, own)
    _own.clear()
    poisson.forget()


@contextmanager
def enabled(*, threads: int = 1) -> Iterator[None]:
    """Enables Tessera for the `with` block, and leaves it as it was before."""
    was_enabled = is_enabled()
    enable(threads=threads)
    try:
        yield
    finally:
        if not was_enabled:
            disable()


def _replacements() -> dict[str, Callable[[Any], Any]]:
    """Returns functions that make a replacement for GPAW's own compiled ones."""
    return {
        "Operator": lambda own: _unless_on_gpu(operators.Operator, own, position=8),
        "Transformer": lambda own: _unless_on_gpu(transformers.Transformer, own, position=10),
        "fd_precond": preconditioner.precondition_or,
        "WOperator": lambda own: _left_to_gpaw(own, "weighted finite-difference operators"),
    }


def _replacements_in_solvers() -> list[tuple[type, dict[str, Callable[[Any], Any]]]]:
    """Returns the same for the methods of classes of Poisson solvers."""
    from gpaw.poisson import FastPoissonSolver, FDPoissonSolver, FFTPoissonSolver

    left = "Poisson solvers of the class FFTPoissonSolver"
    return [
        (FastPoissonSolver, {"solve_neutral": lambda own: poisson.fast_or(own, _say_once),
                             "get_description": poisson.described_or}),
        (FDPoissonSolver, {"solve_neutral": lambda own: poisson.multigrid_or(own, _say_once),
                           "get_description": poisson.described_or}),
        (FFTPoissonSolver, {"solve_neutral": lambda own: _left_to_gpaw(own, left)}),
    ]  # fmt: skip


def _unless_on_gpu(ours: Callable[..., Any], own: Callable[..., Any], position: int) -> Callable[..., Any]:
    def make(*arguments: Any) -> Any:
        if len(arguments) > position and arguments[position]:
            _say_once("operators on a GPU")
            return own(*arguments)
        return ours(*arguments[:position])

    return make


def _left_to_gpaw(own: Callable[..., Any], what: str) -> Callable[..., Any]:
    def make(*arguments: Any, **named: Any) -> Any:
        _say_once(what)
        return own(*arguments, **named)

    return make


def _say_once(what: str) -> None:
    from gpaw.mpi import world

    if what not in _said and world.rank == 0:
        warnings.warn(f"tessera.gpaw does not replace {what}; GPAW's own are used", GpawWarning, stacklevel=4)
    _said.add(what)


def _checked_gpaw() -> ModuleType:
    """Returns GPAW's compiled module. Raises GpawError."""
    try:
        import gpaw
        import gpaw.cgpaw as compiled
    except ImportError as error:
        raise GpawError(f"GPAW can't be imported ({error}); `scripts/setup --gpaw` installs it") from None
    if gpaw.__version__ not in TESTED_VERSIONS:
        raise GpawError(
            f"GPAW {gpaw.__version__} is installed, with which tessera.gpaw was not tested; expected "
            f"{' or '.join(TESTED_VERSIONS)}"
        )
    missing = [name for name in _replacements() if not hasattr(compiled, name)]
    if missing or gpaw.GPAW_NO_C_EXTENSION:
        raise GpawError(
            f"GPAW runs without its compiled part (no {', '.join(missing) or 'C extension'}); expected a complete build"
        )
    try:
        domains.check_modules()
    except ImportError as error:
        raise GpawError(str(error)) from None
    return compiled
