"""Tests `tessera machine` on a stored map: what it shows, writes and explains, and its messages on bad input."""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tessera.machine import plot
from tessera.machine.quantities import bytes_text, names_text, rate_text, time_text
from tests.support.commands import called, said

DATA = Path(__file__).resolve().parents[1] / "data"
MAP = str(DATA / "two_racks.json")  # a switch of four hosts and a shared medium of three, joined by a slow link
EVERY_HOST = {f"n{i}" for i in range(4)} | {f"w{i}" for i in range(3)}


run, output = partial(called, "machine"), partial(said, "machine")


def error(*arguments: str | Path) -> str:
    """Returns the one-line message of a command, which must fail with exit status 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    message = result.output.strip().splitlines()[-1].removeprefix("Error: ")
    assert "Traceback" not in result.output
    return message


def test_show_draws_the_tree() -> None:
    assert output("show", MAP).replace(MAP, "MAP") == (
        "MAP: 7 hosts, 14 slots, 2 subnets on 1 level\n"
        "\n"
        "all 7 hosts  9.36 Mbit/s  410 µs  bus or switch unknown\n"
        "├─ n[0-3]    93.6 Mbit/s  230 µs  switch                 up-link 9.36 Mbit/s\n"
        "└─ w[0-2]     9.2 Mbit/s  320 µs  shared medium          up-link 9.2 Mbit/s\n"
        "inside a host: 5.2 GB/s, 800 ns (measured on 6 of 7)\n"
        "\n"
        "nodes: 7 nodes, 1 socket, 2 cores, 2 threads, L1 64 KiB, 512 MiB\n"
    )


def test_show_json_is_a_map_again(tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_text(output("show", MAP, "--json"))
    assert output("show", copy, "--json") == copy.read_text()
    assert len(json.loads(copy.read_text())["network"]["hosts"]) == 7


SIZES = [1, 1000, 1_000_000]


def measured_map(path: Path) -> Path:
    """Writes the map with times of its links. They are a tenth longer where a host's number is odd; the pair n0 and n1
    was not measured."""
    content = json.loads(Path(MAP).read_text())
    whole, *leaves = content["network"]["subnets"]

    def seconds(a: str, b: str) -> list[float]:
        link = next((leaf for leaf in leaves if {a, b} <= set(leaf["hosts"])), whole)["link"]
        factor = 1.1 if int(a[1]) % 2 or int(b[1]) % 2 else 1.0
        return [factor * (link["latency"] + size / link["bandwidth"]) for size in SIZES]

    hosts = sorted(EVERY_HOST)
    pairs = [pair for pair in itertools.combinations(hosts, 2) if pair != ("n0", "n1")]
    content["measurements"] = {
        "sizes": SIZES,
        "hosts": [{"name": name, "slots": 2} for name in hosts],
        "pairs": [{"from": a, "to": b, "seconds": seconds(a, b)} for a, b in pairs],
    }
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Returns a list to which each figure is appended in place of being written."""
    figures: list[Figure] = []
    write = plot.save

    def save(figure: Figure, path: Path) -> None:
        figures.append(figure)
        write(figure, path)

    monkeypatch.setattr(plot, "save", save)
    return figures


def test_show_draws_a_picture(tmp_path: Path, drawn: list[Figure]) -> None:
    picture = tmp_path / "map.png"
    assert f"wrote {picture}" in output("show", MAP, "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "can't write" in str(run("show", MAP, "--plot", tmp_path / "none" / "map.png").exception)
    matrix, tree, rates, _ = drawn[0].axes  # the fourth is the colour bar
    assert matrix.get_title("left") == "Time of 128 KiB between hosts, by the links"
    assert not rates.containers  # no point was measured
    links = ["93.6 Mbit/s\nup-link 9.36 Mbit/s", "9.2 Mbit/s\nup-link 9.2 Mbit/s", "9.36 Mbit/s"]
    assert [text.get_text() for text in tree.texts] == [*links, "thick: shared medium"]


def test_show_draws_what_was_measured(tmp_path: Path, drawn: list[Figure]) -> None:
    """The matrix is that of the longest message, with gaps where nothing is known; points stand beside the links'
    lines."""
    output("show", measured_map(tmp_path / "map.json"), "--plot", tmp_path / "map.svg")
    matrix, _, rates, bar = drawn[0].axes
    assert matrix.get_title("left") == "Time of 1 MB between hosts"
    names = [label.get_text() for label in matrix.get_yticklabels()]
    assert set(names) == EVERY_HOST
    times = matrix.images[0].get_array().filled(np.nan)
    at = names.index
    assert np.isnan(times[at("n0"), at("n1")]) and np.isnan(times[at("n0"), at("n0")])
    assert times[at("n0"), at("n2")] == pytest.approx(0.23 + 1e9 / 11.7e6)  # ms
    assert times[at("n3"), at("w1")] == times[at("w1"), at("n3")] == pytest.approx(1.1 * (0.41 + 1e9 / 1.17e6))
    assert bar.get_ylabel() == "ms"
    curves = [line for line in rates.get_lines() if len(line.get_xdata()) == 100]
    assert len(curves) == 2  # the slow rack and the link between racks have one rate
    assert len(rates.containers) == len(curves) * len(SIZES)
    assert {float(point.lines[0].get_xdata()[0]) for point in rates.containers} == set(map(float, SIZES))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[: len(text) // 2], "cut off"),
        (lambda text: "hosts: n0 n1", "JSON"),
        (lambda text: text.replace('"version": 3', '"version": 99'), "version 99"),
        (lambda text: text.replace("11700000.0", "-11700000.0"), "bandwidth"),
        (lambda text: text.replace('"w2"\n', '"w7"\n'), "w7"),
        (lambda text: text.replace('"w2"', '"w2\\nevil slots=9"'), 'is called "w2\\nevil slots=9", with white space'),
        (lambda text: text.replace('"w2"', '"-oProxyCommand=x"'), "which a launcher would take for an option"),
        (lambda text: text.replace('"w2"', '"w2:99"'), 'is called "w2:99"'),
        (lambda text: text.replace('"w2"', '""'), "has no name"),
    ],
)
def test_bad_maps_are_named(tmp_path: Path, change, says: str) -> None:  # type: ignore[no-untyped-def]
    bad = tmp_path / "bad.json"
    text = Path(MAP).read_text()
    bad.write_text(change(text))
    assert bad.read_text() != text
    for command in (["show", bad], ["explain", bad, "--op", "barrier"], ["hostfile", bad, "--format", "plain"]):
        message = error(*command)
        assert str(bad) in message
        assert says in message


def test_a_map_of_one_node_has_no_network(tmp_path: Path) -> None:
    content = json.loads(Path(MAP).read_text())
    del content["network"]
    node = tmp_path / "node.json"
    node.write_text(json.dumps(content))
    assert "no network measured" in output("show", node)
    assert "holds no network" in error("explain", node, "--op", "barrier")


def test_missing_map() -> None:
    assert "no_such.json" in error("show", "no_such.json")


def write_matrix(path: Path, names: list[str], time) -> Path:  # type: ignore[no-untyped-def]
    rows = [",".join(["", *names])]
    rows += [",".join([a, *(str(0 if a == b else time(a, b)) for b in names)]) for a in names]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_partition_finds_racks_and_levels(tmp_path: Path) -> None:
    names = [f"{site}{rack}{i}" for i in range(3) for site in "xy" for rack in "ab"]

    def time(a: str, b: str) -> float:
        return 1.0 if a[:2] == b[:2] else 3.0 if a[0] == b[0] else 9.0

    matrix = write_matrix(tmp_path / "rtt.csv", names, time)
    subnets = json.loads(output("partition", matrix, "--json"))
    assert list(subnets) == ["subnets"]
    expected = {frozenset(f"{subnet}{i}" for i in range(3)) for subnet in ("xa", "xb", "ya", "yb")}
    assert {frozenset(hosts) for hosts in subnets["subnets"]} == expected
    assert output("partition", matrix) == (
        "12 hosts in 4 subnets\n"
        "\n"
        "12 hosts       from 9\n"
        "├─ 6 hosts     from 3\n"
        "│  ├─ xa[0-2]  from 1\n"
        "│  └─ xb[0-2]  from 1\n"
        "└─ 6 hosts     from 3\n"
        "   ├─ ya[0-2]  from 1\n"
        "   └─ yb[0-2]  from 1\n"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (",a,b\na,0,1\n", "the row of b is missing"),
        (",a,b\na,0,1,2\nb,1,0\n", "rtt.csv:2"),
        (",a,b\na,0,fast\nb,1,0\n", "fast"),
        (",a,b\na,0,-1\nb,1,0\n", "-1"),
        (",a,b\na,0,inf\nb,1,0\n", "inf"),
        (",a,b\nb,0,1\na,1,0\n", "order"),
        (",a,a\na,0,1\na,1,0\n", "a"),
    ],
)
def test_bad_matrices_are_named(tmp_path: Path, text: str, says: str) -> None:
    matrix = tmp_path / "rtt.csv"
    matrix.write_text(text)
    message = error("partition", matrix)
    assert str(matrix) in message
    assert says in message


@pytest.mark.parametrize("file_format", ["openmpi", "mpich", "slurm", "plain"])
@pytest.mark.parametrize("order", [["hypercube"], ["ring"], ["cartesian", "--dims", "7,2"]])
def test_host_files_place_every_rank(tmp_path: Path, file_format: str, order: list[str]) -> None:
    file = tmp_path / "hosts"
    arguments = ["hostfile", MAP, "--format", file_format, "--order", *order]
    assert output(*arguments, "-o", file) == ""
    assert file.read_text() == output(*arguments)
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert {line.split()[0].split(":")[0] for line in lines} == EVERY_HOST


def test_ring_keeps_subnets_together() -> None:
    hosts = [
        line for line in output("hostfile", MAP, "--format", "plain", "--order", "ring").split() if line in EVERY_HOST
    ]
    changes = sum(a[0] != b[0] for a, b in zip(hosts, hosts[1:] + hosts[:1]))
    assert changes == 2


def test_host_files_need_sense() -> None:
    assert "--dims" in error("hostfile", MAP, "--format", "plain", "--order", "cartesian")
    assert "expected whole numbers" in error(
        "hostfile", MAP, "--format", "plain", "--order", "cartesian", "--dims", "7,x"
    )
    assert "14" in error("hostfile", MAP, "--format", "plain", "-n", "15")
    assert "tape" in error("hostfile", MAP, "--format", "tape")


def test_slots_are_added_up_in_64_bits(tmp_path: Path) -> None:
    content = json.loads(Path(MAP).read_text())
    for host in content["network"]["hosts"][:2]:
        host["slots"] = 2**31 - 1
    large = tmp_path / "large.json"
    large.write_text(json.dumps(content))
    assert f"{2 * (2**31 - 1) + 10} ranks, more than the 10000000" in error("hostfile", large, "--format", "openmpi")
    assert output("hostfile", large, "--format", "plain", "-n", "3").count("\n") == 4


def explained(*arguments: str) -> dict:  # type: ignore[type-arg]
    content = json.loads(output("explain", MAP, *arguments, "--json"))
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize("name", ["allreduce", "all_reduce", "MPI_Allreduce", "all-reduce"])
def test_operations_have_many_names(name: str) -> None:
    assert explained("--op", name, "--bytes", "64k")["operation"] == "all_reduce"


def test_explain_orders_candidates_and_chooses_one() -> None:
    content = explained("--op", "bcast", "--bytes", "1.3M", "--ranks-per-host", "2")
    assert (content["operation"], content["bytes"], content["n_ranks"], content["n_hosts"]) == (
        "broadcast",
        1_300_000,
        14,
        7,
    )
    seconds = [candidate["seconds"] for candidate in content["candidates"]]
    # The first is the one with the fewest messages among all within 4 % of the fastest.
    assert seconds[1:] == sorted(seconds[1:]) and seconds[0] <= 1.05 * min(seconds)
    assert len(seconds) > 3
    # No candidate can move 1.3 MB over the link of 1.17 MB/s in less time than this.
    assert min(seconds) > 1.3 / 1.17
    gains = content["native_seconds"] / seconds[0] >= 1.1
    assert content["chosen"] == (content["candidates"][0]["plan"] if gains else "native")


def test_explain_says_what_a_run_would_do() -> None:
    """Sizes of a class share its choice, which is made for a power of two; the times are those of the size."""
    small, large = (explained("--op", "bcast", "--bytes", size) for size in ("50000", "98303"))
    stands_for_both = explained("--op", "bcast", "--bytes", "65536")
    assert {one["class_bytes"] for one in (small, large, stands_for_both)} == {65536}
    assert {(one["chosen"], one["reason"]) for one in (small, large, stands_for_both)} == {
        (stands_for_both["chosen"], stands_for_both["reason"])
    }
    for key in ("native_seconds", "seconds"):
        times = [(one if key in one else one["candidates"][0])[key] for one in (small, stands_for_both, large)]
        assert times == sorted(times) and times[0] < times[2], key
    assert explained("--op", "bcast", "--bytes", "98304")["class_bytes"] == 131072
    text = output("explain", MAP, "--op", "bcast", "--bytes", "50000")
    assert "chosen as for 64 KiB, which stands for sizes near it" in text


def test_explain_in_text_marks_the_choice() -> None:
    arguments = ["--op", "allgather", "--bytes", "1.3M", "--ranks-per-host", "2"]
    content = explained(*arguments)
    lines = output("explain", MAP, *arguments).splitlines()
    assert lines[0].startswith("all-gather of 1.3 MB on 14 ranks of 7 hosts: ")
    assert lines[1] == content["reason"]
    (chosen,) = [line for line in lines if line.startswith("*")]
    name = "the MPI library's own" if content["chosen"] == "native" else content["chosen"]
    assert name in chosen
    assert lines[0].endswith(name)


def test_one_rank_has_nobody_to_talk_to() -> None:
    assert explained("--op", "bcast", "--bytes", "8", "--ranks-per-host", "1,0,0,0,0,0,0")["chosen"] == "native"


@pytest.mark.parametrize("name", ["alltoall", "MPI_Reduce_scatter_block", "barrier", "scan", "exscan", "allgatherv"])
def test_every_operation_can_be_explained(name: str) -> None:
    assert explained("--op", name, "--bytes", "8KiB")["candidates"]


@pytest.mark.parametrize("name", ["scatterv", "MPI_Gatherv", "all_to_allv", "Alltoallw"])
def test_operations_whose_counts_no_rank_knows_are_the_librarys(name: str) -> None:
    content = explained("--op", name, "--bytes", "8KiB")
    assert (content["chosen"], content["candidates"]) == ("native", [])
    assert "each rank knows only its own counts" in content["reason"]
    (chosen,) = [line for line in output("explain", MAP, "--op", name, "--bytes", "8KiB").splitlines() if "*" in line]
    assert "the MPI library's own" in chosen


def test_explain_says_what_is_wrong() -> None:
    assert (
        error("explain", MAP, "--op", "allredcue", "--bytes", "8")
        == "unknown operation allredcue; did you mean all_reduce?"
    )
    assert "how many bytes" in error("explain", MAP, "--op", "bcast")
    assert "no number of bytes" in error("explain", MAP, "--op", "bcast", "--bytes", "many")
    assert "the map has 7" in error("explain", MAP, "--op", "barrier", "--ranks-per-host", "1,2")
    many = error("explain", MAP, "--op", "barrier", "--ranks-per-host", "100000")
    assert "700000 ranks in all; give at most 65536" in many


def test_bytes_that_do_not_count() -> None:
    assert "more bytes than 64 bits" in error("explain", MAP, "--op", "bcast", "--bytes", "9000000000TB")
    assert explained("--op", "barrier", "--bytes", "8KiB")["bytes"] == 0


def test_unknown_command_names_the_nearest() -> None:
    assert error("shwo", MAP) == "unknown command machine shwo; did you mean show?"


def test_measure_starts_the_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tessera import launch
    from tests.support.programs import MPICH, OPEN_MPI, script

    for flavour in ("openmpi", "mpich"):
        script(tmp_path / "bin" / f"tessera-probe-{flavour}", "true")
        script(tmp_path / "bin" / f"tessera-collectives-{flavour}", "true")
    monkeypatch.setattr(launch, "engine_folders", lambda: [tmp_path / "bin"])
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    launch._version_text.cache_clear()
    for flavour, version, option in (("openmpi", OPEN_MPI, "--hostfile"), ("mpich", MPICH, "-f")):
        mpirun = script(tmp_path / flavour / "mpirun", version)
        monkeypatch.setenv("TESSERA_MPIRUN", str(mpirun))
        words = output("measure", "-n", "4", "--hostfile", "H", "-o", "m.json", "--seconds", "9", "--dry-run").split()
        probe = str(tmp_path / "bin" / f"tessera-probe-{flavour}")
        assert words[0] == str(mpirun)
        assert words[words.index(option) + 1] == "H"
        assert words[words.index(probe) :] == [probe, "-o", "m.json", "--seconds", "9.0"]
        assert output("--probe", flavour).strip() == probe
        checking = output("measure", "-n", "4", "-o", "m.json", "--check", "--dry-run").split()
        assert checking[-2:] == ["--check", "m.json"]
        tuning = output(
            "tune", "m.json", "-n", "4", "--ops", "MPI_Bcast,allreduce", "--sizes", "1KiB,1M", "--dry-run"
        ).split()
        program = str(tmp_path / "bin" / f"tessera-collectives-{flavour}")
        wanted = [program, "tune", "m.json", "--operations", "broadcast,all_reduce", "--sizes", "1024,1000000"]
        assert tuning[tuning.index(program) :] == wanted
    monkeypatch.setattr(launch, "engine_folders", lambda: [tmp_path / "none"])
    assert "there is no tessera-probe-*" in error("--probe", "mpich")


def test_quantities_read_well() -> None:
    assert [rate_text(v) for v in (1.18e6, 125e6, 124.96e6, 1.25e10)] == [
        "9.44 Mbit/s",
        "1 Gbit/s",
        "1 Gbit/s",
        "100 Gbit/s",
    ]
    assert [time_text(v) for v in (3.41e-4, 0.9999e-3, 12.345)] == ["341 µs", "1 ms", "12.3 s"]
    assert [bytes_text(v) for v in (1, 1500, 131072, 1.3e6)] == ["1 B", "1.5 kB", "128 KiB", "1.3 MB"]
    assert names_text(["n0", "n1", "n2", "n4", "m", "k09", "k10", "a1b", "a2b"]) == "n[0-2] n4 m k[09-10] a[1-2]b"


def test_show_says_who_shares_processors(tmp_path: Path) -> None:
    content = json.loads(Path(MAP).read_text())
    content["network"]["processors"] = [{"hosts": ["n0", "n1"], "work": {"latency": 4e-5, "bandwidth": 2e8}}]
    file = tmp_path / "map.json"
    file.write_text(json.dumps(content))
    assert "n[0-1] share processors: 40 µs and 200 MB/s at each end of a message\n" in output("show", file)
    content["network"]["processors"][0]["hosts"] = ["n0", "elsewhere"]
    file.write_text(json.dumps(content))
    assert "network.processors[0].hosts has elsewhere, which is not one of network.hosts" in error("show", file)


def test_show_says_which_routes(tmp_path: Path) -> None:
    content = json.loads(Path(MAP).read_text())
    content["network"]["routes"] = {"kind": "torus", "shape": [1, 7], "bandwidth": 1.25e9}
    file = tmp_path / "map.json"
    file.write_text(json.dumps(content))
    assert "routes of a torus of 1 × 7 hosts, 10 Gbit/s a link\n" in output("show", file)
    content["network"]["routes"]["shape"] = [2, 4]
    file.write_text(json.dumps(content))
    assert "routes of a torus of shape 2×4 do not fit 7 hosts" in error("show", file)


def test_traffic_of_others_is_shown_and_counts(tmp_path: Path) -> None:
    content = json.loads(Path(MAP).read_text())
    ports = [{"host": "n1", "out": 0.6, "in": 0.25}]
    lines = [{"subnet": 2, "bus": 0.45, "up": 0.0, "down": 0.0}]
    content["network"]["traffic"] = {"date": "2026-11-28T06:15:00Z", "ports": ports, "lines": lines}
    busy = tmp_path / "busy.json"
    busy.write_text(json.dumps(content))
    said = "traffic of others at 2026-11-28T06:15:00Z: n1 out 60%, subnet 2 bus 45%, n1 in 25%"
    assert said in output("show", busy).splitlines()
    assert json.loads(output("show", busy, "--json"))["network"]["traffic"] == content["network"]["traffic"]
    words = ("--op", "bcast", "--bytes", "1.3M")
    assert "traffic of others at 2026-11-28T06:15:00Z" in output("explain", busy, *words)
    quiet, later = explained(*words), json.loads(output("explain", busy, *words, "--json"))
    assert (quiet["traffic_of"], later["traffic_of"]) == (None, "2026-11-28T06:15:00Z")
    assert later["candidates"][0]["seconds"] > 1.2 * quiet["candidates"][0]["seconds"]
    content["network"]["traffic"]["ports"][0]["out"] = 1
    busy.write_text(json.dumps(content))
    assert "traffic takes 1 of a wire, expected a share from 0 to 0.99" in error("show", busy)
