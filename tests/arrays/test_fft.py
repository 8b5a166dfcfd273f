"""tessera.fft gives NumPy's results under both MPIs, and the same bits on any ranks and threads and by any scheme."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tessera import fft
from tests.arrays import one_launch
from tests.support.commands import said
from tests.support.drawn import Case, examples
from tests.support.fft_cases import run
from tests.support.programs import ENGINES, LIBRARIES, RANKS, in_turns, mpirun, run_program

SCHEMES = ["slab", "pencil", "2d_alltoall", "1d_alltoall", "auto"]
EXCHANGES = ["auto", "pairwise", "alltoall", "collectives"]

lengths = st.one_of(st.integers(1, 12), st.sampled_from([16, 18, 25, 30, 33]))
case = st.fixed_dictionaries(
    {
        "shape": st.tuples(lengths, lengths, lengths),
        "kind": st.sampled_from(["r2c", "c2c"]),
        "dtype": st.sampled_from(["float32", "float64"]),
        "batch": st.sampled_from([None, None, 1, 3]),
        "threads": st.sampled_from([1, 2]),
        "shared_memory": st.booleans(),
        "exchange": st.sampled_from(EXCHANGES),
    }
)


def cases(ranks: int = 1) -> list[Case]:
    """Returns cases with every scheme. Many ranks take turns on few cores, so they get fewer."""
    found = [{**one, "scheme": scheme} for one in examples(case, 10, 4) for scheme in SCHEMES]
    if ranks > 5:
        return found[: 4 * len(SCHEMES)]
    # One trial is enough, because it runs all schemes and exchanges many times.
    return [*found, {**found[0], "scheme": "trial", "exchange": "auto"}]


def test_schemes_and_exchanges_are_those_tested() -> None:
    assert {*fft.exchanges(), "auto"} == set(EXCHANGES) == {one["exchange"] for one in cases()}
    assert {*fft.schemes(), "auto"} == set(SCHEMES)


@pytest.fixture(scope="module")
def expected() -> list[list[str]]:
    """Returns the digests from this process alone, which has compared the results with NumPy's."""
    found = [run(one, None)[0] for one in cases()]
    assert found[-1] == found[0]
    for i in range(0, len(found) - 1, len(SCHEMES)):
        assert all(digests == found[i] for digests in found[i : i + len(SCHEMES)])
    assert len({tuple(digests) for digests in found}) > 8
    return found


@in_turns(*RANKS, also=(1, 4, 6, 8))
def test_same_bits_as_one_process(mpi: str, ranks: int, expected: list[list[str]]) -> None:
    found = one_launch.results(mpi, ranks, "fft")
    assert not [case for case, (ours, _), alone in zip(cases(ranks), found, expected) if ours != alone]


WRONG_ON_ONE_RANK = """
texts.append(said(lambda: fft.Transform((8, 8, 8 + comm.rank // 2), comm=comm)))
texts.append(said(lambda: fft.Transform((8, 8, 8), comm=comm, kind="r2r" if comm.rank == 1 else "r2c")))
t = fft.Transform((8, 9, 10), comm=comm)
x = np.ones(t.input_shape)
texts.append(said(lambda: t.forward(x if comm.rank != 2 else x[..., :-1])))
texts.append(said(lambda: t.forward(x if comm.rank != 2 else x + 1j)))
texts.append(said(lambda: fft.Transform((float("inf") if odd else 8, 8, 8), comm=comm)))
texts.append(said(lambda: fft.Transform((8, 8, 8), comm=comm, threads="2" if odd else 1)))
texts.append(said(lambda: fft.Transform((8, 8, 8), comm=comm, batch=1.5 if odd else None)))
texts.append(said(lambda: fft.Transform((8, 8, 8), comm=comm, machine=3 if odd else None)))
texts.append(said(lambda: t.forward([[1], [1, 2]] if odd else x)))
texts.append(said(lambda: t.forward(x, [] if odd else None)))
y = np.empty(t.output_shape, complex)
y.flags.writeable = False
texts.append(said(lambda: t.forward(x, y if odd else None)))
import resource
limits = resource.getrlimit(resource.RLIMIT_AS)
if odd:
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**28, limits[1]))
texts.append(said(lambda: fft.Transform((8, 8, 8), comm=comm, threads=4000 if odd else 1)))
resource.setrlimit(resource.RLIMIT_AS, limits)
assert said(lambda: t.forward(x)) is None
"""


def test_an_error_on_one_rank_is_everybodys(mpi: str) -> None:
    differ, kind, shape, dtype, infinite, threads, batch, machine, ragged, no_array, read_only, too_many = (
        one_launch.messages(mpi, "fft")
    )
    assert "ranks 0 and 2 ask for different transforms" in differ
    assert kind == "kind is 'r2r'; expected 'r2c' or 'c2c'"
    assert "but this rank's part has" in shape
    assert "an array of complex128, which does not go into float64" in dtype
    assert infinite == "shape is (inf, 8, 8); expected three whole numbers from 1 up"
    assert threads == "threads is '2'; expected a whole number from 1 up"
    assert batch == "batch is 1.5; expected a whole number from 1 up"
    assert machine == "machine is 3; expected the path of a map"
    assert ragged.startswith("what is given is no array")
    assert no_array.startswith("out is a list; expected an array of complex128")
    assert ", read-only; expected an array of complex128" in read_only
    assert "of 4000 threads can be started" in too_many


CASES_AFTER_ERRORS: list[Case] = [
    {"shape": (8, 9, 10), "scheme": "auto", "shared_memory": True},
    {"shape": (8, 9, 10), "scheme": "1d_alltoall", "shared_memory": True},
    {"shape": (8, 9, 10), "scheme": "auto", "shared_memory": False},
    {"shape": (1, 1, 40), "scheme": "auto", "shared_memory": True},
]


@in_turns(*RANKS, also=(1, 4, 6, 8))
def test_after_an_error_transforms_go_on(mpi: str, ranks: int) -> None:
    """A transform that one rank can't begin leaves nothing behind that disturbs a later transform."""
    refused = one_launch.results(mpi, ranks, "fft after errors")
    assert len(refused) == len(CASES_AFTER_ERRORS) and min(refused) > 10


def test_the_example_in_cpp() -> None:
    program = ENGINES.parent / "examples" / "fft" / "spectrum"
    found = run_program([*mpirun("openmpi", 3), program]).stdout
    assert "60×45×50 real points on 3 ranks" in found
    assert "sum 135000\n" in found and "and back 1\n" in found


THREADS_OF_PYTHON = """
import threading, time
import numpy as np
from mpi4py import MPI
from tessera import fft
comm = MPI.COMM_WORLD
pair = [fft.Transform((8, 9, 10), comm=comm) for _ in range(2)]
x = np.ones(pair[0].input_shape)
def use(turn):
    time.sleep(0.5 * turn)
    pair[turn ^ comm.rank].backward(pair[turn ^ comm.rank].forward(x))
threads = [threading.Thread(target=use, args=(turn,)) for turn in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("both done")
"""


def test_threads_of_python_wait_for_other_ranks_side_by_side(mpi: str) -> None:
    """Rank 0 begins with one transform and rank 1 with the other."""
    found = run_program(
        [*mpirun(mpi, 2), sys.executable, "-c", THREADS_OF_PYTHON],
        env={"MPI4PY_LIBMPI": LIBRARIES[mpi]},
    )
    assert found.stdout.count("both done") == 2


def test_threads_that_share_a_transform_take_turns() -> None:
    field = np.random.default_rng(1).normal(size=(16, 15, 14))
    transform = fft.Transform(field.shape)
    expected = transform.forward(field)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(y, expected) for y in pool.map(transform.forward, [field] * 400))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"shape": (4, 0, 4)}, "three whole numbers"),
        ({"shape": (4, 4)}, "three whole numbers"),
        ({"shape": (4, 4, 4.5)}, "three whole numbers"),
        ({"dtype": "int32"}, "dtype is 'int32'"),
        ({"scheme": "pencils"}, "expected one of auto, trial, slab"),
        ({"exchange": "all"}, "expected one of auto, pairwise"),
        ({"threads": 0}, "threads is 0"),
        ({"batch": 0}, "batch is 0"),
        ({"shape": (2**29, 2**29, 2**29)}, "more points than memory has addresses"),
        ({"shape": (8, 2**31, 8)}, "an edge of more than 1,073,741,823 points"),
        ({"shape": (10**5, 10**5, 10**5)}, "does not fit into memory"),
        ({"machine": 3}, "expected the path of a map"),
        ({"comm": "world"}, "expected an mpi4py communicator"),
    ],
)
def test_what_can_not_be_made(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(fft.FftError, match=said):
        fft.Transform(**{"shape": (4, 4, 4), **arguments})


@pytest.mark.parametrize("words", [["0", "-n", "4"], ["2000000", "-n", "4"], ["1" + 20 * "0", "-n", "4"]])
def test_meshes_that_no_memory_holds_are_not_planned(words: list[str]) -> None:
    assert "has no points, or more than memory has addresses" in said("fft", "plan", *words, status=2)


def test_plans_of_many_ranks_are_estimated() -> None:
    """Counting all messages would take minutes. The number of ranks is prime, so boxes overlap in many pieces; no host
    has so many cores."""
    result = said("fft", "plan", "4096", "-n", "65537")
    assert "chosen: " in result and "estimated by some ranks" in result
    result = said("fft", "plan", "65536", "-n", "1000003", status=2)
    assert "1000003 ranks: plans of more than 262144 take minutes; give fewer (-n)" in result


def test_arrays_of_any_kind() -> None:
    """Arrays of other types, orders and strides are copied, and results go into the array that is given for them."""
    transform = fft.Transform((6, 5, 8), dtype="float32", kind="c2c")
    field = np.asfortranarray(np.arange(6 * 10 * 8).reshape(6, 10, 8))[:, ::2].astype(np.float32)
    out = np.empty((6, 5, 8), np.complex64)
    assert transform.forward(field, out) is out
    np.testing.assert_allclose(out, np.fft.fftn(field), rtol=1e-5, atol=1e-2)
    for bad in (out.astype(np.complex128), out[:, :, ::2], out[:3]):
        with pytest.raises(fft.FftError, match="expected an array of complex64"):
            transform.forward(field, bad)
    with pytest.raises(fft.FftError, match="is transformed; expected another"):
        transform.forward(out, out)
