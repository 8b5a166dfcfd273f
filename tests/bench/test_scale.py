"""Tests routes, loads and times of the static model (bench/scale) on networks that are small enough to count by
hand."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tessera._core as core
from bench.scale import md_step, smpi
from bench.scale.platforms import Exchange, FatTree, Network, Node, Platform, Torus, platforms
from papers import fft

NODE = Node(injection=8.0, memory=100.0, latency=0.5, overhead=0.25, gap=0.0, inside_latency=0.125)


def walk(torus: Torus, a: int, b: int) -> dict[tuple[int, tuple[int, ...], int], int]:
    """Follows a message link by link; returns how often it takes each link (direction, node that it leaves, way)."""
    at, goal = list(np.unravel_index(a, torus.shape)), np.unravel_index(b, torus.shape)
    taken: dict[tuple[int, tuple[int, ...], int], int] = {}
    for d, k in enumerate(torus.shape):
        steps = int(goal[d] - at[d]) % k
        way = 1 if 2 * steps <= k else -1
        for _ in range(steps if way == 1 else k - steps if steps else 0):
            link = (d, tuple(int(i) for i in at), way)
            taken[link] = taken.get(link, 0) + 1
            at[d] = (at[d] + way) % k
    assert at == list(goal)
    return taken


def laid(network: Network, *messages: tuple[int, int, int]) -> Exchange:
    exchange = Exchange(Platform("test", network, NODE))
    exchange.add(np.array(messages))
    return exchange


def all_pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.divmod(np.arange(n * n), n)
    return a[a != b], b[a != b]


@pytest.mark.parametrize("shape", [(1, 1, 5), (3, 4, 2), (4, 2, 6)])
def test_loads_of_a_torus_are_those_of_messages_that_walk(shape: tuple[int, int, int]) -> None:
    torus = Torus(shape, 1.0)
    a, b = all_pairs(torus.nodes)
    n_bytes = np.random.default_rng(1).integers(1, 100, a.size)
    exchange = Exchange(Platform("torus", torus, NODE))
    for part in np.array_split(np.stack([a, b, n_bytes], axis=1), 3):
        exchange.add(part)
    expected: dict[tuple[int, tuple[int, ...], int], int] = {}
    for source, goal, weight in zip(a, b, n_bytes):
        for link, times in walk(torus, source, goal).items():
            expected[link] = expected.get(link, 0) + times * int(weight)
    found = torus.loads(exchange.kept)
    assert sorted(found[found > 0]) == sorted(expected.values())


def test_a_ring_of_four_by_hand() -> None:
    # Node 0 reaches node 1 over one link, node 2 over two links upwards, and node 3 over one link downwards.
    torus = Torus((1, 1, 4), 1.0)
    loads = torus.loads(laid(torus, (0, 1, 1), (0, 2, 10), (0, 3, 100)).kept)
    assert loads.reshape(3, -1)[2].reshape(2, 4).tolist() == [[11, 10, 0, 0], [100, 0, 0, 0]]


def test_fat_tree_by_hand() -> None:
    tree = FatTree(8, 1.0, down=2, up=2)  # leaves of 2 nodes, groups of 2 leaves
    kept = laid(tree, (0, 1, 1), (0, 3, 10), (0, 6, 100)).kept
    leaf_up, leaf_down, high = kept[:8].reshape(4, 2), kept[8:16].reshape(4, 2), kept[16:].reshape(2, 2, 2, 2)
    assert leaf_up[0].tolist() == [100, 10]  # 6 goes by port 0, 3 by port 1
    assert leaf_down[1].tolist() == [0, 10] and leaf_down[3].tolist() == [100, 0]
    assert high[0, 0, 0, 1] == 100 and high[1, 1, 0, 1] == 100 and kept[16:].sum() == 200  # leaf 3: port 1
    assert kept.sum() == 2 * 110 + 200


def test_seconds_are_starts_and_the_busiest_wire() -> None:
    platform = Platform("ring", Torus((1, 1, 4), 2.0), NODE)
    exchange = Exchange(platform)
    exchange.add(np.array([(0, 1, 20), (0, 2, 20), (0, 3, 20)]))
    assert exchange.seconds() == pytest.approx(0.5 + 3 * 0.25 + max(40 / 2, 60 / 8))
    assert Exchange(platform).seconds() == 0


def test_ranks_of_a_node_share_its_port_and_memory() -> None:
    node = Node(injection=8.0, memory=100.0, latency=0.5, overhead=0.25, gap=0.375, ranks=2, inside_latency=0.125)
    exchange = Exchange(Platform("pair", FatTree(2, 16.0), node))
    exchange.add(np.array([(0, 1, 1000), (0, 2, 16), (1, 3, 24)]))
    assert exchange.seconds() == pytest.approx(0.5 + max(0.25 + 0.125, 2 * 0.375) + max(40 / 8, 2 * 1000 / 100))


@pytest.mark.parametrize("shape", [(2, 4, 4), (8, 8, 16)])
def test_the_map_of_a_torus_has_blocks_and_what_leaves_them(shape: tuple[int, int, int], tmp_path: Path) -> None:
    platform = Platform("torus", Torus(shape, 5.0), Node(20.0, 100.0, 1e-6, 0.0, 0.0))
    path = tmp_path / "torus.json"
    path.write_text(json.dumps(platform.machine_file()))
    subnets = json.loads(core.read_map(str(path)))["network"]["subnets"]
    leaves = [s for s in subnets if "hosts" in s]
    assert {len(s["hosts"]) for s in leaves} == {8}
    # A cube of 2 × 2 × 2 nodes has 24 links outwards, and 8 fewer where the torus is no wider than the cube.
    assert {s["uplink"] for s in leaves} == {5.0 * (16 if shape[0] == 2 else 24)}


@pytest.mark.parametrize("network", [Torus((4, 4, 8), 5e9), FatTree(256, 12.5e9, down=16, up=8), FatTree(1024, 12.5e9)])
def test_a_survey_of_times_finds_the_routes(network: Torus | FatTree) -> None:
    node = Node(20e9, 100e9, 1e-6, 0.0, 0.0, ranks=4)
    routes = Platform("test", network, node).machine_file()["network"]["routes"]
    shape = network.shape if isinstance(network, Torus) else (network.down, network.up)
    kind = "torus" if isinstance(network, Torus) else "tree"
    assert routes == {"kind": kind, "shape": list(shape), "bandwidth": network.bandwidth}


def test_messages_of_a_plan_are_what_numpy_counts() -> None:
    """Each exchange carries all bytes that change their rank, and carries the same in pieces as at once."""
    plan = core.FftPlan("1d_alltoall", (32, 32, 32), is_real=False, ranks=64)
    assert plan.n_exchanges == 5 and plan.processes == [4, 4, 4]
    for i in range(plan.n_exchanges):
        whole = plan.messages(i, 0, 64)
        parts = np.concatenate([plan.messages(i, k, k + 16) for k in range(0, 64, 16)])
        assert np.array_equal(whole, parts)
        assert len(whole) == 64 * 3  # three partners in a row of four
        assert whole[:, 2].sum() == 2 * 32**3 * 3 // 4


@pytest.mark.parametrize("per_node", [1, 32])
def test_bricks_cover_the_mesh_and_lie_side_by_side_on_a_node(per_node: int) -> None:
    platform = next(p for p in platforms(256) if p.node.ranks == per_node)
    boxes = fft.bricks(64, platform)
    held = np.zeros((64,) * 3, np.int64)
    for lower, upper in boxes:
        held[tuple(slice(*pair) for pair in zip(lower, upper))] += 1
    assert (held == 1).all()
    node = boxes[:per_node]
    assert np.prod(node[:, 1].max(axis=0) - node[:, 0].min(axis=0)) == 64**3 * per_node // 256


def test_transforms_begin_with_the_bricks_that_are_given() -> None:
    """A transform of pencils that begins with bricks has one exchange more; backward sends the same messages in
    reverse."""
    platform = platforms(64)[0]
    own = fft.bricks(32, platform)
    plan = core.FftPlan("pencil", (32,) * 3, is_real=True, ranks=64, input=own)
    first, last = plan.messages(0, 0, 64), plan.messages(plan.n_exchanges - 1, 0, 64, backward=True)
    assert first[:, 2].sum() > 0
    back = last[:, [1, 0, 2]]
    assert sorted(map(tuple, back.tolist())) == sorted(map(tuple, first.tolist()))
    assert len(core.FftPlan("pencil", (32,) * 3, is_real=True, ranks=64).messages(0, 0, 64)) == 0


def test_the_choice_is_the_quickest_of_the_model() -> None:
    for per_node in (1, 32):
        where = [p for p in platforms(256) if p.node.ranks == per_node]
        for case, platform in zip(fft.simulate(1024, where), where):
            fft.choose(case, platform)
            assert set(case.total) == set(fft.SCHEMES)
            assert case.lost <= fft.NEAR, case


def test_pieces_are_put_together(tmp_path: Path) -> None:
    runner = CliRunner()
    pieces = ["--grids", "64", "--per-node", "1", "--smpi-ranks", "0", "--results", str(tmp_path)]
    assert runner.invoke(fft.main, ["--kept", "--results", str(tmp_path)]).exit_code == 1  # no results yet
    for networks, ranks in (("torus", "64"), ("fat tree", "64,128")):
        assert runner.invoke(fft.main, [*pieces, "--ranks", ranks, "--networks", networks]).exit_code == 0
    done = runner.invoke(fft.main, ["--kept", "--results", str(tmp_path), "--json"])
    figure = json.loads(done.stdout)
    cases = [(c["platform"], c["ranks"], c["judge"]) for c in figure["data"]["cases"]]
    assert cases == [("fat tree", 64, "links"), ("fat tree", 128, "links"), ("torus", 64, "links")]
    assert all(c["chosen"] in fft.SCHEMES for c in figure["data"]["cases"])


def test_a_choice_that_is_wrong_too_often_fails_the_check(tmp_path: Path) -> None:
    times = {"slab": 1.0, "pencil": 2.0}
    case = fft.Case(64, "torus", 64, 1, exchanges=times, passes=dict.fromkeys(times, 0.0), smpi=times)
    right, wrong = (replace(case, chosen=scheme) for scheme in times)
    assert fft.failures([right] * 9 + [wrong]) == []
    assert len(fft.failures([right] * 8 + [wrong])) == 1
    for one in (right, replace(right, ranks=128)):
        fft.keep(tmp_path, one)
    assert sorted(c.ranks for c in fft.kept(tmp_path)) == [64, 128]


@pytest.mark.skipif(not smpi.is_there(), reason="SimGrid is not installed: apt-get install libsimgrid-dev")
def test_smpi_agrees_with_the_loads_of_links(tmp_path: Path) -> None:
    replay = smpi.build(tmp_path)
    where = [p for p in platforms(64) if p.node.ranks == 1]
    for case in fft.simulate(128, where, replay):
        ratios = [model / by_smpi for *_, model, by_smpi in case.compared]
        assert len(ratios) >= 4 and min(ratios) > 0.9 and max(ratios) < 1.1, case


def test_a_step_is_planned_by_the_engines_plans() -> None:
    plan = core.MdPlan((200.0, 150.0, 150.0), (192, 144, 144), ranks=64, cutoff=12.0, buffer=2.5, group_radius=1.22)
    assert np.prod(plan.bricks[:, 1] - plan.bricks[:, 0], axis=1).sum() == 192 * 144 * 144
    assert np.prod(plan.cell_bricks[:, 1] - plan.cell_bricks[:, 0], axis=1).sum() == np.prod(plan.cells)
    halo = plan.halo(0, 64)
    assert set(map(tuple, halo[:, :2].tolist())) == set(map(tuple, halo[:, 1::-1].tolist()))  # in both directions
    assert (plan.padded[:, 0] < plan.bricks[:, 0]).all() and (plan.padded[:, 1] > plan.bricks[:, 1]).all()


def test_phases_of_a_step_follow_atoms_and_rates() -> None:
    rates = md_step.Rates(1e-6, 0.0, 1e-8, 1e-8, 1e-8, 1e-10, 1e-10)
    system = md_step.System("test", (200.0,) * 3, (192,) * 3, 2.0)
    where = [p for p in platforms(64) if p.node.ranks == 32]
    one, two = (md_step.step(system, where, rates, cores)[0] for cores in (1, 2))
    assert one["atoms"] >= system.atoms / 64
    assert one["seconds"]["pair"] == pytest.approx(1e-6 * one["atoms"]) == pytest.approx(2 * two["seconds"]["pair"])
    assert one["seconds"]["halo"] == two["seconds"]["halo"] > 0
    assert sum(md_step.shares(one["seconds"]).values()) == pytest.approx(1)
