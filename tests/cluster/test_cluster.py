"""Tests the emulated cluster itself: how specs are read, and that a link has the rate of its spec."""

import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster import launch, namespaces, spec
from tests.cluster.racks import two_racks
from tests.support.programs import run_program

PAYLOAD = 1448 / 1538  # share of a full frame that is left without the headers of Ethernet, IP and TCP
COMPILERS = {"openmpi": "mpicc.openmpi", "mpich": str(Path(sys.executable).parent / "mpicc")}

FOUR = two_racks(scale=10)


@pytest.fixture
def four(tmp_path: Path) -> spec.Spec:
    path = tmp_path / "four.toml"
    path.write_text(FOUR)
    return spec.read(str(path))


@pytest.mark.parametrize(("text", "value"), [("100mbit", 1e8), ("1.5 gbit", 1.5e9), ("64kb", 64e3), ("2ms", 2e-3)])
def test_quantities(text: str, value: float) -> None:
    assert spec.quantity(text) == pytest.approx(value)


def test_names_expand() -> None:
    assert spec.expand("n[0-2,5] m") == ["n0", "n1", "n2", "n5", "m"]
    assert spec.expand(["a", "b[1-2]x"]) == ["a", "b1x", "b2x"]


@pytest.mark.parametrize("name", spec.names())
def test_own_specs_can_be_read(name: str) -> None:
    found = spec.read(name)
    assert found.about and found.ranks >= 2
    for a, b in spec.pairs(found):
        assert found.path_rate(a, b) == found.path_rate(b, a) > 0


@pytest.mark.parametrize(
    ("name", "a", "b", "mbit"),
    [
        ("crow8-pairs", "n0", "n1", 100),  # the second card
        ("crow8-pairs", "n1", "n2", 10),
        ("fat-and-slow", "f0", "f1", 100),
        ("fat-and-slow", "f0", "f2", 10),
        ("eco-three-segments", "w0", "w7", 10),
        ("eco-table7", "f0", "f1", 100),
        ("eco-table7", "f0", "a0", 10),
        ("slow-host", "n3", "n4", 5),
        ("three-levels", "n0", "n3", 30),
        ("three-levels", "n0", "n11", 10),
    ],
)
def test_rate_of_a_path(name: str, a: str, b: str, mbit: float) -> None:
    assert spec.read(name).path_rate(a, b) == pytest.approx(mbit * 1e6)


def test_wires_of_a_path(four: spec.Spec) -> None:
    assert [wire.name for wire in four.wires("n0", "n3")] == ["n0 → left", "left → right", "right → n3"]
    assert [wire.name for wire in spec.read("eco-three-segments").wires("w0", "w3")] == ["a", "b"]
    assert [wire.name for wire in spec.read("crow8-pairs").wires("n0", "n1")] == ["n0 → pair0", "pair0 → n1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("slots = 2", "slot = 2", "unknown slot; known are"),
        ('rate = "200mbit"', 'rate = "fast"', "'fast' is no quantity"),
        ('ends = ["left", "right"]', 'ends = ["left", "rihgt"]', "should be the names of two networks"),
        ('[[link]]\nends = ["left", "right"]\nrate = "200mbit"', "", "no path between n0 and n2"),
        ("[[link]]", '[[link]]\nends = ["left", "right"]\n[[link]]', "closes a loop"),
        ('name = "right"', 'name = "left"', "given twice"),
        ('rate = "1gbit"\n[[link]]', "[[link]]", "has no rate"),
        ('nodes = "n[2-3]"', 'nodes = "n[2-3]-is-a-long-name"', "is no name"),
        ("slots = 2", "slots = 0", "at least one slot"),
        ("[[link]]", "[node_slots]\nm = 2\n[[link]]", "there is no node m"),
    ],
)
def test_a_faulty_spec_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert FOUR.count(old) == 1
    path = tmp_path / "faulty.toml"
    path.write_text(FOUR.replace(old, new))
    with pytest.raises(spec.ClusterError, match=message) as error:
        spec.read(str(path))
    assert "faulty.toml" in str(error.value)


def test_an_unknown_spec_is_named() -> None:
    with pytest.raises(spec.ClusterError, match=r"nosuch: no such file.*crow8-pairs"):
        spec.read("nosuch")


def test_orders(four: spec.Spec, tmp_path: Path) -> None:
    plain = launch.host_by_host(four)
    assert plain == ["n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"]
    assert launch.shuffled(four, 1) == launch.shuffled(four, 1) != launch.shuffled(four, 2)
    assert sorted(launch.shuffled(four, 1)) == plain
    (tmp_path / "order").write_text("n2  # first\nn0:2\n\nn1 slots=1\n")
    assert launch.read_order(four, tmp_path / "order") == ["n2", "n0", "n0", "n1"]
    (tmp_path / "order").write_text("n2\nn9\n")
    with pytest.raises(spec.ClusterError, match=r"order:2: 'n9'; expected a host of four"):
        launch.read_order(four, tmp_path / "order")


@pytest.fixture(scope="module")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Gives clusters of this test a state folder of their own, so that a cluster that is up stays as it is."""
    folder = tmp_path_factory.mktemp("cluster")
    namespaces.STATE = folder / "state"


@pytest.fixture(params=launch.MPIS)
def ping_pong(request: pytest.FixtureRequest, tmp_path: Path, own_state: None) -> tuple[str, Path]:
    if (reason := namespaces.why_not()) is not None:
        pytest.skip(reason)
    if shutil.which(COMPILERS[request.param]) is None:
        pytest.skip(f"no {COMPILERS[request.param]}")
    program = tmp_path / "ping_pong"
    source = Path(__file__).with_name("ping_pong.c")
    subprocess.run([COMPILERS[request.param], "-O2", "-o", str(program), str(source)], check=True)
    return request.param, program


@pytest.mark.mpi
def test_a_slow_link_is_no_faster_than_it_should_be(four: spec.Spec, ping_pong: tuple[str, Path]) -> None:
    """Ranks 0 and 1 are on n0 and share memory; rank 4 is on n2, behind 20 Mbit/s. In the second order rank 1 is
    there."""
    mpi, program = ping_pong
    size = 128 << 10
    expected = size * 8 / (20e6 * PAYLOAD)
    least = 0.85 * expected  # the bucket of the rate limit makes the first messages faster

    def seconds(cluster: namespaces.Cluster, order: list[str], other: int, most: float = math.inf) -> float:
        """Returns the least of as many times as one of at most `most` takes: what else the machine does only adds to
        them."""
        words, environment = launch.command([str(program), "0", str(other), str(size), "3"], order, mpi=mpi)
        found = math.inf
        for _ in range(100):
            done = launch.start(cluster, words, environment, capture=True)
            assert done.returncode == 0, done.stdout + done.stderr
            found = min(found, float(done.stdout.split()[-1]))
            if found <= most:
                break
        return found

    with launch.cluster_of(four) as cluster:
        plain = launch.host_by_host(four)
        inside, across = seconds(cluster, plain, 1, most=least / 2), seconds(cluster, plain, 4)
        reordered = seconds(cluster, ["n0", "n2", "n1", "n3", "n0", "n2", "n1", "n3"], 1)
        processes = list(cluster.pids.values())
    # How much slower messages are than the link alone is for benchmarks to tell: a busy machine has a part in it.
    assert inside < least / 2
    assert min(across, reordered) > least
    assert namespaces.current() is None
    # On a busy machine the last process may take a while to end.
    deadline = time.monotonic() + 600
    while any(_is_alive(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(_is_alive(process) for process in processes)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.mpi
def test_status_and_environment_come_through(four: spec.Spec, own_state: None, tmp_path: Path) -> None:
    if (reason := namespaces.why_not()) is not None:
        pytest.skip(reason)
    root = Path(__file__).resolve().parents[2]
    state = {"TESSERA_CLUSTER_STATE": str(tmp_path / "state"), "TESSERA_WORD": "hello"}
    words = [sys.executable, "-m", "tests.cluster", "run", str(four.path), "-n", "3", "--"]
    say = ["sh", "-c", "echo $(hostname) $TESSERA_WORD"]
    done = run_program([*words, *say], cwd=root, env=state)
    assert sorted(done.stdout.split()) == sorted(["n0", "hello"] * 2 + ["n1", "hello"])
    assert run_program([*words, "sh", "-c", "exit 3"], cwd=root, env=state, check=False).returncode == 3
    assert not (tmp_path / "state").exists()
