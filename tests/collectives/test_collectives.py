"""Compares collective operations that plans carry out with those of the MPI library: every entry with every operation,
on examples that Hypothesis draws. The plans are for networks that exist only as data; the ranks of one machine carry
them out."""

from __future__ import annotations

import json
import os
import platform
import random
import signal
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.support.drawn import Case, examples
from tests.support.programs import (
    ENGINES,
    FLAVOURS,
    HANGS,
    RANKS,
    Run,
    in_turns,
    job_under_way,
    mpirun,
    ranks_of,
    run_program,
    wait_until,
)

#: odd and even numbers and a power of two, each for one of the MPIs; all up to 16 under both are slow tests
ON_RANKS = in_turns(5, 2, 4, 3, also=range(1, 17))

MOVES = ["broadcast", "scatter", "scatterv", "gather", "gatherv", "all_gather", "all_gatherv", "all_to_all"]
MOVES += ["all_to_allv"]
REDUCTIONS = ["reduce", "all_reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"]
#: the calls that use a plan of each operation
CALLS = {"all_gather": ["all_gather", "all_gatherv"], "reduce_scatter": ["reduce_scatter", "reduce_scatter_block"]}
#: Only pairs of ranks know the counts of these operations. They are planned where an entry is asked for, with messages
#: straight to ranks.
DIRECT = ["scatterv", "gatherv", "all_to_allv"]


ORDERED = ["max", "min", "sum", "prod"]
WHOLE = [*ORDERED, "land", "band", "lor", "bor", "lxor", "bxor"]
INTEGERS = ["signed char", "short", "int", "long", "long long", "int8", "int16", "int32", "int64"]
INTEGERS += ["unsigned char", "unsigned short", "unsigned", "unsigned long", "unsigned long long"]
INTEGERS += ["uint8", "uint16", "uint32", "uint64", "aint", "offset", "count"]
#: datatypes with the operations that MPI defines for them, and with a user's operation
COMBINED: dict[str, list[str]] = {
    name: operations
    for names, operations in [
        (INTEGERS, WHOLE),
        (["float", "double", "long double"], ORDERED),
        (["float complex", "complex", "long double complex"], ["sum", "prod"]),
        (["float_int", "double_int", "long double_int", "short_int", "2int", "long_int"], ["maxloc", "minloc"]),
        (["bool"], ["land", "lor", "lxor"]),
        (["byte"], ["band", "bor", "bxor"]),
        (["vector", "contiguous"], ["user-sum"]),
    ]
    for name in names
}
REDUCED = st.sampled_from([(name, op) for name, operations in COMBINED.items() for op in operations])
AFFINE = ["affine", "affine-holes"]
THREE_DOUBLES = ["double", "contiguous", "vector", "permuted"]
#: with the types that can only be moved
EVERY_TYPE = [*COMBINED, "char", "wchar", "permuted", "struct", *AFFINE]
NOT_COMMUTATIVE = st.tuples(st.sampled_from(AFFINE), st.just("user-affine"))
#: pairs of types with one signature, and single types
MOVED = st.one_of(
    st.tuples(*[st.sampled_from(THREE_DOUBLES)] * 2),
    st.sampled_from(EVERY_TYPE).map(lambda name: (name, name)),
)
COUNT = st.sampled_from([0, 1, 2, 3, 5, 7, 16, 33, 100, 257, 1000])
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "receives": st.sampled_from([1, 2, 3, 64]),
        "sends": st.sampled_from([1, 2, 64]),
        "landing_bytes": st.sampled_from([1, 100, 10_000]),
        "tags": st.sampled_from([1, 2, 5, 32767]),
    },
)


@st.composite
def details(draw: st.DrawFn) -> Case:
    """Draws all of a case but operation, entry and type."""
    case: Case = {
        "root": draw(st.integers(0, 63)),
        "counts": draw(st.lists(COUNT, min_size=1, max_size=5)),
        "gap": draw(st.sampled_from([0, 0, 1, -1, -2])),
        "in_place": draw(st.booleans()),
        "network": draw(st.sampled_from(["switch", "racks", "segments", "quads"])),
        "seed": draw(st.integers(0, 2**20)),
        "limits": draw(LIMITS),
    }
    # There are enough pieces for pipelining, but so few that ranks that share cores finish in time.
    longest = max(case["counts"])
    if draw(st.booleans()):
        case["limits"]["piece"] = max(1, longest // draw(st.integers(1, 7)))
    if draw(st.booleans()):
        case["segment"] = 8 * longest // draw(st.integers(1, 15)) if draw(st.booleans()) else 0
        case["degree"] = draw(st.integers(1, 4))
        case["pattern"] = draw(st.sampled_from(["chain", "binary", "binomial", "star", "star,chain", "chain/star"]))
    return case


@st.composite
def complete(draw: st.DrawFn, operation: str, *, commutative: bool = True) -> Case:
    case: Case = {"operation": operation, **draw(details())}
    if operation in MOVES:
        case["type"], case["receive_type"] = draw(MOVED)
        case["mixed"] = draw(st.booleans())
        case["in_place"] &= operation != "broadcast"
    elif operation in REDUCTIONS:
        case["type"], case["op"] = draw(REDUCED if commutative else NOT_COMMUTATIVE)
        case["fractions"] = case["op"] == "sum" and case["type"] == "double" and draw(st.booleans())
    return case


@cache
def possible(ranks: int) -> dict[str, dict[str, list[str]]]:
    """Returns the possible entries by operation, for commutative operations and for others."""
    program = ENGINES / "tessera-collectives-openmpi"
    return dict(json.loads(run_program([*mpirun("openmpi", 1), program, "entries", "--ranks", str(ranks)]).stdout))


def types_in_turn(operation: str, commutative: bool, turn: int) -> list[tuple[str, str]]:
    """Returns every type with one of its operations, a different one in each turn."""
    if operation in MOVES:
        return [(name, "") for name in EVERY_TYPE]
    if not commutative:
        return [(name, "user-affine") for name in AFFINE]
    return [(name, operations[turn % len(operations)]) for name, operations in COMBINED.items()]


def every_entry(ranks: int, start: int) -> list[Case]:
    """Returns cases of each entry with each operation that it can do: those that Hypothesis draws, then every type on
    few elements."""
    cases = []
    for commutative, entries in ((True, "commutative"), (False, "other")):
        for operation, names in possible(ranks)[entries].items():
            if not commutative and operation not in REDUCTIONS:
                continue
            drawn = examples(complete(operation, commutative=commutative), len(names) + 20, start)
            drawn = [case for case in drawn if any(case["counts"])][-len(names) :] if names else []
            for i, (name, case) in enumerate(zip(names, drawn, strict=True)):
                calls = CALLS.get(operation, [operation])
                call = calls[(i + start) % len(calls)]
                counts = case["counts"] if call in ("all_gatherv", "reduce_scatter") else [max(case["counts"])]
                case.update(operation=call, entry=name, counts=counts)
                if name == "hierarchical":
                    case["network"] = "switch"
                cases.append(case)
                if operation == "barrier":
                    continue
                few = {"counts": [min(count, 5) for count in counts], "rounds": 1, "fractions": False, "mixed": False}
                cases.append({**case, **few, "types": types_in_turn(operation, commutative, i + start)})
    return cases


def anything(count: int, start: int) -> list[Case]:
    """Returns cases with the automatic choice and with operations that need no plan."""
    free = st.sampled_from(MOVES + REDUCTIONS + ["barrier"]).flatmap(complete)
    cases = examples(free, count, start)
    for i, case in enumerate(cases):
        if case["operation"] in DIRECT:
            case["entry"] = "subnets"
        elif case.get("mixed") or case.get("type") != case.get("receive_type", case.get("type")):
            # Where types differ, MPI libraries hang or move wrong data (check.cpp), so a plan must be asked for.
            case["entry"] = "star" if case["operation"] != "all_to_all" else "pairwise"
        else:
            case["entry"] = ("auto", "binomial", "ring", "subnets")[i % 4]
            if "segment" in case and case["entry"] == "auto":
                del case["segment"]
    few = {"entry": "subnets", "counts": [3, 0, 5], "rounds": 1}
    cases += [{"operation": operation, **few, "types": types_in_turn(operation, True, 0)} for operation in DIRECT]
    # One plain call of the library for each operation.
    plain = [{"operation": operation, "entry": "native", "counts": [7]} for operation in MOVES + REDUCTIONS]
    return cases + plain


def check(
    folder: Path, cases: list[Case], mpi: str, ranks: int, *arguments: str | Path, status: int = 0
) -> dict[str, Any]:
    """Runs the program on these cases and returns its result."""
    file = folder / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    command = [*mpirun(mpi, ranks), ENGINES / f"tessera-collectives-{mpi}", "check", file, *arguments]
    found = run_program(command, check=False)
    assert found.returncode == status, (found.stdout[-2000:], found.stderr[-2000:])
    result: dict[str, Any] = json.loads(found.stdout.splitlines()[0])
    assert result["cases"] == len(cases)
    failed = [(failure, cases[failure["case"] - 1]) for failure in result["failures"]]
    assert (status == 1) == bool(failed), failed
    return result


def calls_by_entry(result: dict[str, Any]) -> Counter[str]:
    """Counts by "operation: entry" how often each entry carried out each operation, with any parameters."""
    found: Counter[str] = Counter()
    for plan, times in result["plans"].items():
        found[plan.split("(")[0]] += times
    return found


@ON_RANKS
def test_as_the_library_does(tmp_path: Path, mpi: str, ranks: int) -> None:
    start = ranks + 100 * FLAVOURS.index(mpi)
    forced = every_entry(ranks, start)
    result = check(tmp_path, forced + anything(60, 1000 + start), mpi, ranks)
    used = calls_by_entry(result)
    wanted: Counter[str] = Counter()
    for case in forced if ranks > 1 else []:
        wanted[f"{case['operation']}: {case['entry']}"] += len(case.get("types", [None]))
    assert len(wanted) >= (60 if ranks > 1 else 0)
    assert wanted <= used, wanted - used


@in_turns(*RANKS, also=(1, 4, 6, 8))
def test_operations_of_the_engine(mpi: str, ranks: int) -> None:
    """Every collective operation of a communicator has the same results with every entry and with the library."""
    command = [*mpirun(mpi, ranks), ENGINES / f"tessera-collectives-{mpi}", "operations"]
    found = json.loads(run_program(command).stdout)
    assert {"no network", "auto", "ring", "subnets", "hierarchical"} <= set(found["runs"])
    assert not found["wrong"]


def available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))


@pytest.mark.slow(part="bits")
@pytest.mark.parametrize("entry", ["auto", "native", "ring"])
@pytest.mark.parametrize("operation", ["broadcast", "all_reduce"])
def test_more_than_an_int_counts(mpi: str, operation: str, entry: str) -> None:
    """Open MPI 4.1 counts in ints: a plan is used there, and its own function ends with a clear message."""
    if available_bytes() < 16e9:
        pytest.skip("less than 16 GB of memory are free")
    program = ENGINES / f"tessera-collectives-{mpi}"
    words = ["large", "--operation", operation, "--count", str(2**31 + 7), "--entry", entry]
    done = run_program([*mpirun(mpi, 2), program, *words], check=False)
    if (mpi, entry) == ("openmpi", "native"):
        assert done.returncode == 3
        assert f"{operation} of {2**31 + 7} bytes by native: MPI_ERR_COUNT: invalid count" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == 0
    if entry == "auto":
        assert ("can't count so far" in found["reason"]) == (mpi == "openmpi") == (found["plan"] != "native")
    else:
        assert found["plan"].startswith(entry)


HIERARCHICAL = ["barrier", "broadcast", "all_gather", "all_gatherv", "reduce", "all_reduce", "reduce_scatter"]
HIERARCHICAL += ["reduce_scatter_block"]


@ON_RANKS
def test_hosts_of_any_size(tmp_path: Path, mpi: str, ranks: int) -> None:
    """The library's own collectives run inside hosts. A host may have any ranks, unless the order of ranks matters;
    operations that can't be split in this way are left to the library."""
    cases: list[Case] = []
    wanted: Counter[str] = Counter()
    for turn, name in enumerate(HIERARCHICAL):
        for commutative in [True, False] if name in REDUCTIONS else [True]:
            drawn = examples(complete(name, commutative=commutative), 12, 10 * ranks + turn)
            for i, case in enumerate(drawn):
                n_hosts = random.Random(100 * turn + i).randint(1, (ranks + 1) // 2)
                hosts = random.Random(turn + i).choices([f"h{host}" for host in range(n_hosts)], k=ranks)
                is_free = commutative and name not in ("all_gather", "all_gatherv", *REDUCTIONS[2:])
                if i % 2:
                    hosts.sort()
                n_runs = 1 + sum(a != b for a, b in pairwise(hosts))
                n_hosts = len(set(hosts))
                is_possible = 1 < n_hosts < ranks and (is_free or n_runs == n_hosts)
                if name not in ("all_gatherv", "reduce_scatter"):
                    case["counts"] = [max(case["counts"])]
                if not any(case["counts"][:ranks]) and name != "barrier":
                    continue
                if not is_possible:  # a form in which the libraries' results are right (check.cpp)
                    case = {"operation": name, "counts": [5], "root": case["root"]}
                    if not commutative:
                        case.update(type="affine", op="user-affine")
                case.update(entry="hierarchical", network="switch", hosts=hosts)
                if "segment" in case:
                    case["pattern"] = ["ring", "recursive_halving", "subnets,chain", "binomial"][i % 4]
                cases.append(case)
                wanted[f"{name}: {'hierarchical' if is_possible else 'native'}"] += 1
    result = check(tmp_path, cases, mpi, ranks)
    assert calls_by_entry(result) == wanted
    assert ranks < 3 or len(wanted) > len(HIERARCHICAL)


def test_a_class_of_sizes_is_chosen_for_once(tmp_path: Path) -> None:
    """Sizes within a factor of two share a choice, which rank 0 tells once; groups of ranks choose for themselves and
    find their hosts without a message, in any order of ranks."""
    for operation, boundary in (("broadcast", 12_288), ("all_reduce", 1536), ("all_gatherv", 2048)):
        case = {"operation": operation, "type": "byte", "network": "racks", "longer": 20, "rounds": 1}
        case["op"] = "bor"
        for start, choices in ((boundary + 10, 1), (boundary - 10, 2)):
            found = check(tmp_path, [{**case, "counts": [start]}], "openmpi", 6)
            assert found["choices"] == choices, (operation, found)
            assert sum(found["plans"].values()) == 21
    case = {"operation": "all_reduce", "network": "racks", "counts": [40_000], "groups": 2, "entry": "subnets"}
    by_hosts = {"operation": "all_reduce", "network": "racks", "counts": [40_000], "entry": "hierarchical"}
    in_order = [{**case, "order": "ranks", "entry": "ring"}, {**by_hosts, "order": "ranks"}]
    found = check(tmp_path, [case, *in_order, by_hosts], "mpich", 5)
    assert found["choices"] == 4
    assert sum(found["plans"][plan] for plan in found["plans"] if "hierarchical" in plan) == 1
    assert found["plans"]["all_reduce: native"] == 1, "in the order of ranks there are no hosts"
    assert any("in the order of ranks" in plan for plan in found["plans"]), found["plans"]


@pytest.mark.parametrize(("mpi", "operation"), [("openmpi", "broadcast"), ("mpich", "all_reduce")])
def test_a_wrong_bit_is_noticed(tmp_path: Path, mpi: str, operation: str) -> None:
    good = {"operation": operation, "entry": "binomial", "counts": [100], "type": "int", "root": 1}
    result = check(tmp_path, [good, {**good, "spoil": True}], mpi, 3, status=1)
    assert [failure["case"] for failure in result["failures"]] == [2]
    assert "library" in result["failures"][0]["what"]


# Maps.

HOSTS = ["a", "b", "c", "d"]


def machine_map() -> dict[str, Any]:
    """Returns a map of two racks of two hosts."""
    link = {"latency": 5e-5, "bandwidth": 1.2e8}
    thin = {"latency": 2e-4, "bandwidth": 1.2e6}
    return {
        "format": "tessera-machine",
        "version": 3,
        "network": {
            "hosts": [{"name": name, "slots": 2} for name in HOSTS],
            "subnets": [
                {"parts": [1, 2], "link": thin, "medium": "fabric"},
                {"hosts": HOSTS[:2], "link": link, "medium": "fabric", "uplink": 1.2e6},
                {"hosts": HOSTS[2:], "link": link, "medium": "fabric", "uplink": 1.2e6},
            ],
        },
    }


ON_MAP = {"operation": "all_reduce", "counts": [20_000], "hosts": [*HOSTS[::2], *HOSTS[1::2]]}


def check_on_map(folder: Path, text: str, mpi: str, case: Case) -> dict[str, Any]:
    file = folder / "map.json"
    file.write_text(text)
    return check(folder, [case], mpi, 4, "--map", file)


def test_a_map_is_used(tmp_path: Path, mpi: str) -> None:
    result = check_on_map(tmp_path, json.dumps(machine_map()), mpi, ON_MAP)
    assert not result["warnings"]
    assert "all_reduce: native" not in result["plans"]


@pytest.mark.parametrize(
    ("mpi", "text", "hosts", "said"),
    [
        # The root reads the map (comm/mpi/placement/hosts.cpp); C++ tests of machine find what else may be wrong there.
        ("mpich", json.dumps(machine_map())[:-40], HOSTS, "is cut off"),
        ("openmpi", json.dumps({**machine_map(), "network": None}), HOSTS, "knows no network"),
        # Each rank looks for its host (comm/mpi/collectives.cpp).
        ("openmpi", json.dumps(machine_map()), ["x", "y"], "of another cluster"),
        ("mpich", json.dumps(machine_map()), ["a", "b", "x", "d"], "lacks the host(s) x"),
    ],
    ids=["truncated", "node", "another", "host"],
    indirect=["mpi"],
)
def test_a_map_that_is_no_use(tmp_path: Path, mpi: str, text: str, hosts: list[str], said: str) -> None:
    """There is one clear message, and the library's own collectives give right results."""
    result = check_on_map(tmp_path, text, mpi, {**ON_MAP, "hosts": hosts})
    (warning,) = result["warnings"]
    assert said in warning and "\n" not in warning
    assert "MPI library's own" in warning
    assert list(result["plans"]) == ["all_reduce: native"]


def test_an_unknown_entry() -> None:
    """All ranks end with one message, which suggests a known entry."""
    program = ENGINES / "tessera-collectives-openmpi"
    command = [*mpirun("openmpi", 3), program, "time", "--operation", "all_reduce", "--entries", "rign"]
    found = run_program(command, status=2)
    assert found.stderr.count("tessera-collectives: error") == 1
    assert 'did you mean "ring"?' in found.stderr


def test_times(mpi: str) -> None:
    program = ENGINES / f"tessera-collectives-{mpi}"
    words = ["--operation", "reduce_scatter", "--bytes", "80000", "--repeats", "3", "--order", "shuffle:4"]
    command = [*mpirun(mpi, 4), program, "time", *words, "--entries", "auto,native,ring,k_ary:degree=3"]
    found = json.loads(run_program(command).stdout)
    assert [entry["entry"] for entry in found["entries"]] == ["auto", "native", "ring", "k_ary:degree=3"]
    for entry in found["entries"]:
        assert len(entry["times"]) == 3
        assert 0 < entry["min"] <= entry["median"] <= max(entry["times"])
    assert found["entries"][2]["plan"] == "ring"
    assert found["entries"][2]["predicted"] > 0


# Trials.


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.slow(part="bits"))], indirect=True)
def test_trials_are_kept_in_the_map(tmp_path: Path, mpi: str) -> None:
    """Trials that are stored in the map correct its predictions for the same MPI library. The map's rates are given, so
    that what is tried does not depend on what else the machine does."""
    file = tmp_path / "map.json"
    host = {"name": platform.node(), "slots": 4, "inside": {"latency": 4e-7, "bandwidth": 4e9}}
    network = {"hosts": [host], "subnets": [{"hosts": [host["name"]]}]}
    file.write_text(json.dumps({"format": "tessera-machine", "version": 3, "network": network}))
    program = ENGINES / f"tessera-collectives-{mpi}"
    words = ["--operations", "broadcast,all_reduce,barrier", "--sizes", "1000,200000", "--candidates", "2"]
    words += ["--seconds", "600"]  # so that nothing is left out where ranks are slow; a few are enough elsewhere
    for turn in range(2):  # the second trial replaces the result of the first
        found = json.loads(run_program([*mpirun(mpi, 4), program, "tune", file, *words]).stdout)
        assert found["trials"] >= 10 and found["left_out"] == [], turn
    trials = json.loads(file.read_text())["trials"]
    assert len(trials) == found["trials"]
    cases = {(trial["operation"], trial["bytes"]) for trial in trials}
    assert cases == {
        ("barrier", 0),
        *((name, size) for name in ("broadcast", "all_reduce") for size in (1000, 200_000)),
    }
    for operation, size in cases:
        entries = [t["entry"] for t in trials if (t["operation"], t["bytes"]) == (operation, size)]
        assert entries[0] == "native" and len(set(entries)) == len(entries) == 3
    assert all(t["ranks"] == 4 and t["seconds"] > 0 and t["predicted"] > 0 for t in trials)

    assert all(("least_gain" in t) == (t["entry"] != "native") for t in trials)
    assert all("placement" not in t for t in trials)  # ranks fill slots host after host

    # A library that takes ten seconds is not chosen, unless the difference may be chance. The times say nothing of
    # another library.
    content = json.loads(file.read_text())
    time = [*mpirun(mpi, 4), program, "time", "--map", file, "--operation", "broadcast", "--bytes", "200000"]
    for least_gain in (0.5, 1e7):
        for trial in content["trials"]:
            trial["seconds"] = 10.0 if trial["entry"] == "native" else 1e-6
            trial["least_gain"] = least_gain
        file.write_text(json.dumps(content))
        (entry,) = json.loads(run_program([*time, "--entries", "auto"]).stdout)["entries"]
        assert (entry["plan"] == "native") == (least_gain < 1), entry["reason"]
    assert "was tried" in entry["reason"]
    for trial in content["trials"]:
        trial["library"] = "another"
    file.write_text(json.dumps(content))
    (entry,) = json.loads(run_program([*time, "--entries", "auto"]).stdout)["entries"]
    assert "was tried" not in entry["reason"]


def test_trials_of_another_cluster(tmp_path: Path) -> None:
    """All ranks end with one message, and the map stays as it was."""
    file = tmp_path / "map.json"
    file.write_text(json.dumps(machine_map()))
    before = file.read_text()
    command = [*mpirun("openmpi", 3), ENGINES / "tessera-collectives-openmpi", "tune", file]
    found = run_program(command, status=2)
    assert found.stderr.count("tessera-collectives: error") == 1 and "of another cluster" in found.stderr
    assert file.read_text() == before


def test_what_a_trial_could_not_keep_is_not_begun(tmp_path: Path) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps(machine_map()))
    command = [*mpirun("openmpi", 2), ENGINES / "tessera-collectives-openmpi", "tune", file, "-o", "/no/such/map.json"]
    found = run_program(command, status=2)
    assert found.stderr.count("/no/such/map.json: there is no folder /no/such") == 1


def test_a_flooded_uplink_is_paced(tmp_path: Path, mpi: str) -> None:
    """An all-to-all over a slow link between racks has few messages under way at a time."""
    case = {"operation": "all_to_all", "entry": "subnets", "pattern": "direct", "network": "racks", "counts": [4000]}
    result = check(tmp_path, [case, {**case, "in_place": True}, {**case, "counts": [3]}], mpi, 8)
    assert result["plans"] == {"all_to_all: subnets(direct, paced)": 2, "all_to_all: subnets(direct)": 1}


@pytest.mark.slow(part="cluster")
def test_unexpected_messages_do_not_pile_up(on_cluster: Run, tmp_path: Path) -> None:
    """With ranks scattered over pairs of hosts, pieces of an all-reduce arrive at a rank before it asks for them.
    libfabric stops reading from a neighbour once 64 pieces wait, so this hung until sends followed the plan more
    closely."""
    file = tmp_path / "map.json"
    on_cluster("crow8-pairs", "mpich", ENGINES / "tessera-probe-mpich", "-o", file)
    words = ["--map", file, "--operation", "all_reduce", "--bytes", "1301088", "--repeats", "2", "--entries", "auto"]
    program = ENGINES / "tessera-collectives-mpich"
    done = on_cluster("crow8-pairs", "mpich", program, "time", *words, shuffle=1)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
    (entry,) = json.loads(line)["entries"]
    assert entry["plan"] != "native"


# A rank that dies.


def processor_seconds(process: int) -> float:
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_a_rank_dies(mpi: str) -> None:
    """A rank that is killed in the middle of an operation ends the job, which had days to go, with an error of MPI."""
    name, ranks = f"tessera-collectives-{mpi}", 3
    words = ["time", "--operation", "all_reduce", "--bytes", "8000000", "--repeats", "1000000", "--entries", "ring"]
    with job_under_way(mpi, ranks, "tessera-collectives", *words) as (process, mark):

        def have_begun() -> bool:
            """Tells whether all ranks have computed for half a second, which is more than their start takes."""
            found = ranks_of(mark, name)
            return len(found) == ranks and min(map(processor_seconds, found)) > 0.5

        wait_until(have_begun, process)
        os.kill(ranks_of(mark, name)[1], signal.SIGKILL)
        out, err = process.communicate(timeout=HANGS)
        assert not ranks_of(mark, name)
    assert process.returncode != 0
    assert not out.startswith("{"), "a result, though a rank is missing"
    # MPICH's launcher names the signal, or a rank that waits for the dead one is first to abort.
    assert any(words in out + err for words in ("signal 9", "KILLED", "Abort("))
