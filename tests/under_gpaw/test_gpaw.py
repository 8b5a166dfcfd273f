"""GPAW's finite-difference calculations with Tessera enabled: the same operators, transformers and energies.

What needs GPAW runs in `make check-long PART=gpaw`, and is left out where `scripts/setup --gpaw` has not installed it:
one build for Open MPI, and one for MPICH. The MPIs take turns over the numbers of ranks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera import flavours
from tessera.gpaw import GpawError, domains, enable, is_enabled, operators
from tests.support.programs import LIBRARIES, Run, mpirun, run_program

HERE = Path(__file__).parent
MAPS = HERE.parents[1] / "machines"
#: what finds GPAW's build for each MPI: that for Open MPI is installed where Python looks by itself
BUILDS = {"openmpi": Path(sysconfig.get_path("platlib")), "mpich": Path(sys.prefix) / "gpaw-mpich"}
needs_gpaw = pytest.mark.skipif(
    not all(any(folder.glob("_gpaw.*")) for folder in BUILDS.values()),
    reason="GPAW is not installed for both MPIs: scripts/setup --gpaw",
)


@pytest.fixture
def run_with_gpaw() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python on ranks of an MPI with the GPAW that is built for it."""

    def run(
        ranks: int,
        *words: str | Path,
        mpi: str = "openmpi",
        launcher: str | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        launch = mpirun(launcher or mpi, ranks) if ranks > 1 else []
        backend = {"GPAW_MPI_BACKEND": "cgpaw"} if ranks > 1 else {}
        paths = os.pathsep.join([str(BUILDS[mpi]), os.environ["PYTHONPATH"]])
        own = {"OPENBLAS_NUM_THREADS": "1", "GPAW_MPI": LIBRARIES[mpi], "PYTHONPATH": paths, **backend, **env}
        return run_program([*launch, sys.executable, *words], env=own, check=check)

    return run


def runs_of(*rows: tuple[str, int]) -> pytest.MarkDecorator:
    """Gives a test its `mpi` and `ranks`."""
    return pytest.mark.parametrize(("mpi", "ranks"), rows, indirect=["mpi"])


@needs_gpaw
@pytest.mark.slow(part="gpaw")
@pytest.mark.mpi
@runs_of(
    *(("openmpi", ranks) for ranks in (1, 3, 4, 7, 8)),
    *(("mpich", ranks) for ranks in (1, 2, 5, 6, 7)),
)
def test_operators_do_what_those_of_gpaw_do(run_with_gpaw: Run, mpi: str, ranks: int) -> None:
    found = json.loads(run_with_gpaw(ranks, HERE / "seam_cases.py", mpi=mpi).stdout)
    assert len(found) >= 18  # fewer on seven ranks, whose boxes are too thin for transfers of high order
    assert {name: one for name, one in found.items() if one > 4e-15} == {}


@needs_gpaw
@pytest.mark.slow(part="gpaw")
@pytest.mark.mpi
@runs_of(("openmpi", 1), ("mpich", 2), ("openmpi", 3), ("mpich", 3), ("openmpi", 4), ("mpich", 5), ("openmpi", 7))
def test_potentials_are_those_of_gpaw(run_with_gpaw: Run, mpi: str, ranks: int) -> None:
    found = json.loads(run_with_gpaw(ranks, HERE / "poisson_cases.py", mpi=mpi).stdout)
    assert len(found) > 30
    assert {name: one for name, one in found.items() if not one < 1e-10} == {}


@needs_gpaw
@pytest.mark.slow(part="gpaw")
@pytest.mark.mpi
@runs_of(("openmpi", 1), ("mpich", 2), ("openmpi", 4))  # GPAW divides k-points over even numbers of ranks
def test_energies_are_those_of_gpaw(run_with_gpaw: Run, mpi: str, ranks: int) -> None:
    found = json.loads(run_with_gpaw(ranks, HERE / "energy_cases.py", mpi=mpi).stdout)
    assert len(found) >= 4
    for name, (without, tessera) in found.items():
        assert tessera == pytest.approx(without, rel=0, abs=1e-6), name  # eV


def python(run: Run, text: str) -> subprocess.CompletedProcess[str]:
    return run(1, "-c", text, check=False)


@needs_gpaw
@pytest.mark.slow(part="gpaw")
def test_enabling_is_undone(run_with_gpaw: Run) -> None:
    text = """
import gpaw.cgpaw as c
import gpaw.poisson as p
import tessera.gpaw as t
places = [(c, name) for name in ["Operator", "Transformer", "fd_precond", "WOperator"]]
places += [(one, "solve_neutral") for one in (p.FastPoissonSolver, p.FDPoissonSolver, p.FFTPoissonSolver)]
places += [(one, "get_description") for one in (p.FastPoissonSolver, p.FDPoissonSolver)]
now = lambda: [getattr(*place) for place in places]
own = now()
with t.enabled():
    assert all(ours is not one for ours, one in zip(now(), own))
    with t.enabled():
        pass
    assert t.is_enabled()
assert not t.is_enabled() and now() == own
t.enable()
t.enable(threads=2)
t.disable()
t.disable()
assert now() == own
"""
    assert python(run_with_gpaw, text).stderr == ""


@needs_gpaw
@pytest.mark.slow(part="gpaw")
def test_another_version_is_refused(run_with_gpaw: Run) -> None:
    text = "import gpaw, tessera.gpaw\ngpaw.__version__ = '99.1'\ntessera.gpaw.enable()"
    last = python(run_with_gpaw, text).stderr.splitlines()[-1]
    assert last.endswith("GPAW 99.1 is installed, with which tessera.gpaw was not tested; expected 26.7.0")


@needs_gpaw
@pytest.mark.slow(part="gpaw")
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("mpi", "ranks", "map_file", "said"),
    [
        ("openmpi", 1, "{", "is cut off"),
        ("mpich", 2, (MAPS / "eco-three-segments.json").read_text(), "is of another cluster: it has none of the hosts"),
        ("openmpi", 3, None, "map.json"),
    ],
    ids=["truncated", "another", "absent"],
    indirect=["mpi"],
)
def test_a_map_that_is_no_use_is_refused(
    run_with_gpaw: Run, tmp_path: Path, mpi: str, ranks: int, map_file: str | None, said: str
) -> None:
    """All ranks refuse it when Tessera is enabled, or else at the first operator on ranks, and can go on without it."""
    path = tmp_path / "map.json"
    if map_file is not None:
        path.write_text(map_file)
    text = f"""
import json, os, pathlib
from gpaw.fd_operators import Laplace
from gpaw.mpi import world
from gpaw.old.grid_descriptor import GridDescriptor
import tessera.gpaw
gd = GridDescriptor((16, 16, 16))
told = []
def apply():
    Laplace(gd).apply(gd.zeros(), gd.zeros())
def refused(work):
    try:
        work()
    except tessera.gpaw.GpawError as error:
        told.append(str(error))
os.environ["TESSERA_MACHINE"] = {str(path)!r}
refused(tessera.gpaw.enable)
assert not tessera.gpaw.is_enabled()
apply()
del os.environ["TESSERA_MACHINE"]
tessera.gpaw.enable()
apply()
tessera.gpaw.domains.set_threads(2)  # forgets the ranks
os.environ["TESSERA_MACHINE"] = {str(path)!r}
refused(apply)
pathlib.Path({str(tmp_path)!r}, str(world.rank)).write_text(json.dumps(told))
"""
    run_with_gpaw(ranks, "-c", text, mpi=mpi)
    messages = [message for rank in range(ranks) for message in json.loads((tmp_path / str(rank)).read_text())]
    assert len(messages) == 2 * ranks and len(set(messages)) == 1, messages
    assert messages[0].startswith("TESSERA_MACHINE names a map that can't be used: ") and "\n" not in messages[0]
    assert said in messages[0] and str(path) in messages[0] and messages[0].endswith(", or unset TESSERA_MACHINE")


@needs_gpaw
@pytest.mark.slow(part="gpaw")
def test_what_is_left_to_gpaw_is_said_once(run_with_gpaw: Run) -> None:
    text = """
import numpy as np
from gpaw.fd_operators import Gradient, Laplace
from gpaw.old.grid_descriptor import GridDescriptor
from gpaw.wfd_operators import WeightedFDOperator
import tessera.gpaw
gd = GridDescriptor((8, 8, 8))
tessera.gpaw.enable()
for again in range(2):
    sum = WeightedFDOperator([Laplace(gd), Gradient(gd, 0)])
    sum.set_weights([np.ones((8, 8, 8))] * 2)
"""
    told = python(run_with_gpaw, text).stderr
    assert told.count("tessera.gpaw does not replace weighted finite-difference operators; GPAW's own are used") == 1


@needs_gpaw
@pytest.mark.slow(part="gpaw")
def test_poisson_solvers_left_to_gpaw(run_with_gpaw: Run) -> None:
    text = """
import numpy as np
from gpaw.old.grid_descriptor import GridDescriptor
from gpaw.poisson import FDPoissonSolver, PoissonSolver
import tessera.gpaw
class Mine(FDPoissonSolver):
    pass
box, oblique = GridDescriptor((16, 16, 16)), GridDescriptor((16, 16, 16), [[1, 0, 0], [0.3, 1, 0], [0, 0, 1]])
for solver, gd in [(PoissonSolver(), oblique), (FDPoissonSolver(), oblique), (FDPoissonSolver(nn="M"), box),
                   (Mine(), box), (PoissonSolver("fft"), box)]:
    rho, expected, found = gd.zeros(), gd.zeros(), gd.zeros()
    rho[3, 4, 5], rho[4, 4, 5] = 1, -1
    solver.set_grid_descriptor(gd)
    solver.solve(expected, rho)
    with tessera.gpaw.enabled():
        solver.solve(found, rho)
        solver.solve(gd.zeros(), rho)
    assert np.array_equal(found, expected)
"""
    outcome = python(run_with_gpaw, text)
    assert outcome.returncode == 0, outcome.stderr
    for what in ("of oblique cells", "with Mehrstellen stencils", "of the class Mine", "of the class FFTPoissonSolver"):
        assert outcome.stderr.count(f"tessera.gpaw does not replace Poisson solvers {what}; GPAW's own are used") == 1


@needs_gpaw
@pytest.mark.slow(part="gpaw")
def test_a_density_that_is_no_number_is_refused(run_with_gpaw: Run) -> None:
    text = """
from gpaw.old.grid_descriptor import GridDescriptor
from gpaw.poisson import PoissonSolver
import tessera.gpaw
gd = GridDescriptor((16, 16, 16))
solver = PoissonSolver()
solver.set_grid_descriptor(gd)
tessera.gpaw.enable()
solver.solve(gd.zeros(), gd.zeros() + float("nan"), charge=0)
"""
    assert "the density has values that are not finite" in python(run_with_gpaw, text).stderr.splitlines()[-1]


@needs_gpaw
@pytest.mark.slow(part="gpaw")
def test_operators_of_both_in_one_preconditioner(run_with_gpaw: Run) -> None:
    text = """
from types import SimpleNamespace
from gpaw.fd_operators import Laplace
from gpaw.old.grid_descriptor import GridDescriptor
from gpaw.preconditioner import Preconditioner
import tessera.gpaw
gd = GridDescriptor((16, 16, 16))
own = Laplace(gd, -0.5, 3)
tessera.gpaw.enable()
Preconditioner(gd, own)(gd.zeros(1), SimpleNamespace(phase_cd=None))
"""
    assert "call tessera.gpaw.enable() before" in python(run_with_gpaw, text).stderr.splitlines()[-1]


@needs_gpaw
@pytest.mark.slow(part="gpaw")
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("mpi", "launcher", "env", "said"),
    [
        # Debian's libmpi.so is that of Open MPI, which GPAW loads beside its own.
        ("mpich", "mpich", {"GPAW_MPI": "libmpi.so.40"}, "GPAW runs on MPICH"),
        ("mpich", "openmpi", {"GPAW_MPI_BACKEND": "mpi4py", "MPI4PY_LIBMPI": LIBRARIES["openmpi"]}, "for MPICH"),
        ("openmpi", "mpich", {"GPAW_MPI_BACKEND": "mpi4py", "MPI4PY_LIBMPI": LIBRARIES["mpich"]}, "for Open MPI"),
        ("openmpi", "mpich", {}, "the mpiexec of MPICH or another with PMI started several processes"),
    ],
    ids=["two", "mpi4py on Open MPI", "mpi4py on MPICH", "launcher"],
)
def test_another_mpi_than_that_of_gpaw_is_refused(
    run_with_gpaw: Run, mpi: str, launcher: str, env: dict[str, str], said: str
) -> None:
    """All ranks refuse it in the same words, and nothing is enabled."""
    text = """
import sys
import gpaw.mpi, tessera.gpaw
try:
    tessera.gpaw.enable()
except tessera.gpaw.GpawError as error:
    sys.stdout.write(f"{error}\\n")  # at once, so that ranks do not print into each other's lines
assert not tessera.gpaw.is_enabled()
"""
    told = run_with_gpaw(2, "-c", text, mpi=mpi, launcher=launcher, env=env).stdout.splitlines()
    assert len(told) == 2 and told[0] == told[1] and said in told[0]


@needs_gpaw
@pytest.mark.slow(part="gpaw")
@runs_of(("openmpi", 2), ("mpich", 3))
def test_ranks_may_talk_by_mpi4py(run_with_gpaw: Run, mpi: str, ranks: int) -> None:
    text = """
import numpy as np
from gpaw.fd_operators import Laplace
from gpaw.mpi import world
from gpaw.old.grid_descriptor import GridDescriptor
import tessera.gpaw
gd = GridDescriptor((16, 18, 20))
values, found, expected = gd.zeros() + world.rank, gd.zeros(), gd.zeros()
Laplace(gd).apply(values, expected)
with tessera.gpaw.enabled():
    Laplace(gd).apply(values, found)
assert world.backend == "mpi4py" and np.allclose(found, expected, rtol=0, atol=1e-12)
"""
    run_with_gpaw(ranks, "-c", text, mpi=mpi, env={"GPAW_MPI_BACKEND": "mpi4py", "MPI4PY_LIBMPI": LIBRARIES[mpi]})


MPICH, OPEN_MPI = "MPICH Version:      5.0.2\nMPICH Release date: today", "Open MPI v4.1.4, package: Debian\0"


@pytest.fixture
def gpaw_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a stand-in for GPAW in place: its number of ranks, what they talk by, and what the libraries say of
    themselves of which its compiled part, mpi4py and Tessera's module are."""

    def put(size: int, backend: str, *, compiled: str, by_mpi4py: str = "", ours: str = "") -> None:
        modules = {name: ModuleType(name) for name in ("gpaw", "gpaw.mpi", "gpaw.cgpaw", "mpi4py", "mpi4py.MPI")}
        gpaw, mpi, cgpaw, mpi4py, library = modules.values()
        gpaw.mpi, gpaw.cgpaw, mpi4py.MPI = mpi, cgpaw, library  # type: ignore[attr-defined]
        mpi.world = SimpleNamespace(size=size, backend=backend)  # type: ignore[attr-defined]
        cgpaw.have_mpi = bool(compiled)  # type: ignore[attr-defined]
        library.Get_library_version = lambda: by_mpi4py  # type: ignore[attr-defined]
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(domains, "_compiled_version", lambda: compiled)
        loaded = SimpleNamespace(__name__="tessera._gpaw", library=lambda: ours.splitlines()[0])
        monkeypatch.setattr(flavours, "load", lambda part, flavour: loaded)
        for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
            monkeypatch.delenv(variable, raising=False)

    return put


def test_two_mpi_libraries_in_one_process_are_refused(gpaw_of: Callable[..., None]) -> None:
    for compiled, other in [(MPICH, OPEN_MPI), (OPEN_MPI[:-1], MPICH), (MPICH, MPICH.replace("5.0.2", "4.0.2"))]:
        gpaw_of(2, "mpi4py", compiled=compiled, by_mpi4py=other, ours=other)
        with pytest.raises(GpawError, match=r"built for (MPICH 5.0.2|Open MPI v4.1.4), but mpi4py, .* on [MO]"):
            domains.check_modules()
        gpaw_of(2, "cgpaw", compiled=compiled, ours=other)
        with pytest.raises(ImportError, match=r"GPAW runs on .*, but tessera._gpaw on .*; set GPAW_MPI and MPI4PY_LIB"):
            domains.check_modules()
    gpaw_of(2, "mpi4py", compiled=OPEN_MPI[:-1], by_mpi4py=OPEN_MPI, ours="Open MPI v4.1.4")
    domains.check_modules()
    gpaw_of(2, "mpi4py", compiled="", by_mpi4py=MPICH, ours=MPICH)  # a GPAW that was built without MPI
    domains.check_modules()


def test_ranks_that_do_not_find_each_other_are_refused(
    gpaw_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpaw_of(1, "cgpaw", compiled=MPICH, ours=OPEN_MPI)
    domains.check_modules()  # alone, it needs no MPI
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(GpawError, match=r"the mpirun of Open MPI started several processes, but GPAW runs on MPICH 5"):
        domains.check_modules()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "1")
    domains.check_modules()


@pytest.mark.mpi
@pytest.mark.parametrize(("mpi", "ranks"), [("mpich", 5)], indirect=["mpi"])
def test_operators_on_ranks_that_gpaw_would_have(mpi: str, ranks: int) -> None:
    """Where there is no GPAW, as in CI, a stand-in says what it tells Tessera."""
    command = [*mpirun(mpi, ranks), sys.executable, "-m", "mpi4py", HERE / "ranks_cases.py"]
    found = json.loads(run_program(command, env={"MPI4PY_LIBMPI": LIBRARIES[mpi]}).stdout)
    assert len(found) == 18
    assert {name: one for name, one in found.items() if one > 2e-14} == {}


@pytest.mark.skipif(find_spec("_gpaw") is not None, reason="GPAW is installed")
def test_without_gpaw() -> None:
    with pytest.raises(GpawError, match=r"GPAW can't be imported .*; `scripts/setup --gpaw` installs it"):
        enable()
    assert not is_enabled()


def test_threads_are_checked() -> None:
    with pytest.raises(GpawError, match="threads is 0; expected a whole number from 1 up"):
        enable(threads=0)


lengths = st.tuples(*[st.integers(1, 5)] * 3)


@given(processes=lengths, periodic=st.tuples(*[st.booleans()] * 3), data=st.data())
def test_boxes_from_neighbours(processes: tuple[int, int, int], periodic: tuple[bool, bool, bool], data: Any) -> None:
    """The boxes are found again from what GPAW tells a rank."""
    widths = [data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)) for n in processes]
    bounds = [np.cumsum([0, *width]) for width in widths]
    points, neighbours, lower = [], [], []
    for place in np.ndindex(*processes):
        lower.append([bounds[c][p] for c, p in enumerate(place)])
        points.append([widths[c][p] for c, p in enumerate(place)])
        around = np.full((3, 2), -1)
        for c in range(3):
            for d, step in enumerate((-1, 1)):
                other = list(place)
                other[c] += step
                if periodic[c] or 0 <= other[c] < processes[c]:
                    other[c] %= processes[c]
                    around[c, d] = np.ravel_multi_index(tuple(other), processes)
        neighbours.append(around)
    found = domains.boxes(np.array(points), np.array(neighbours))
    assert np.array_equal(found[0], lower)
    assert np.array_equal(found[1] - found[0], points)
    assert tuple(found[2]) == periodic


@settings(deadline=None)
@given(shape=lengths, padding=st.integers(1, 4), data=st.data())
def test_offsets_are_unflattened(shape: tuple[int, int, int], padding: int, data: Any) -> None:
    reach = st.integers(-padding, padding)
    offsets = np.array(data.draw(st.lists(st.tuples(reach, reach, reach), min_size=1, max_size=9)))
    whole = np.array(shape) + 2 * padding
    flat = offsets @ [whole[1] * whole[2], whole[2], 1]
    assert np.array_equal(operators.unflattened(flat, shape, padding), offsets)


def test_phases_of_ranks_at_the_ends_of_an_axis() -> None:
    phase = np.exp(0.7j)
    alone, first, last, inside = [phase, phase.conj()], [phase, 1], [1, phase.conj()], [1, 1]
    assert domains.phases_of(np.array([alone, first, last])) == [phase] * 3
    assert domains.phases_of(np.array([inside, inside, alone])) == [1, 1, phase]
