"""`tessera grid plan` and `tessera grid bench`: what is predicted, measured, chosen and refused."""

from __future__ import annotations

import json
import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tessera._core as core
from tessera.commands.grid import bench_text
from tessera.grid import approaches
from tessera.grid.bench import Request, judged, put_into_map
from tests.support.commands import called, facts_of

MAP = Path(__file__).parents[1] / "data" / "two_racks.json"


call = partial(called, "grid")


def plan(*words: object) -> dict[str, Any]:
    return dict(facts_of("grid", "plan", *words, "--point", "193"))


def test_a_plan_lists_each_approach_and_takes_the_quickest() -> None:
    found = plan("192", "-n", 1024, "-t", 4, "--grids", 2816)
    names = [one["approach"] for one in found["approaches"]]
    assert set(approaches()) <= set(names) and len(set(names)) == 4
    times = [one["seconds"] for one in found["approaches"]]
    assert times == sorted(times) and found["chosen"] == names[0]
    for one in found["approaches"]:
        parts = ("computing", "packing", "starting", "waiting", "synchronising")
        assert one["seconds"] == pytest.approx(sum(one[part] for part in parts))
        assert one["computing"] == pytest.approx(2816 * 192**3 / 1024 * 193e-9)
        assert math.prod(one["processes"]) == one["ranks"] == 1024 // one["threads"]
    bytes_of = {one["approach"]: one["bytes"] for one in found["approaches"]}
    assert bytes_of["flat-optimized"] == 8 * 2 * 2 * (24 * 24 + 2 * 12 * 24)  # 16 × 8 × 8 boxes of 12 × 24 × 24
    assert bytes_of["hybrid-multiple"] == 8 * 2 * 2 * (24 * 24 + 2 * 24 * 48)


def test_a_plan_on_a_map_as_text() -> None:
    done = call("plan", "24x24x12", "-n", 8, "--grids", 16, "--machine", MAP, "--point", 10, "--periodic", "xy")
    assert done.exit_code == 0, done.output
    assert "hosts of" in done.output and "10 ns a point (given" in done.output and "chosen: " in done.output
    assert "left out: hybrid-multiple, because: with one thread a rank it is flat-optimized" in done.output


def test_without_a_given_time_a_point_is_measured() -> None:
    done = call("plan", "16", "-n", 2, "--grids", 4)
    assert done.exit_code == 0 and " a point (measured here, " in done.output


def test_divisions_for_gpaw() -> None:
    found = plan("48", "-n", 12, "--bands", 48, "--kpts", 4, "--machine", MAP, "--dtype", "complex128")
    divisions = found["divisions"]
    assert [one["seconds"] for one in divisions] == sorted(one["seconds"] for one in divisions)
    for one in divisions:
        assert one["kpt"] * one["band"] * math.prod(one["domain"]) == 12
        assert one["kpt"] <= 4 and 48 % one["band"] == 0
        assert one["seconds"] == pytest.approx(one["stencils"] + one["orthogonalisation"])
    assert divisions[0]["kpt"] == 4  # k-points need no messages
    text = call("plan", "48", "-n", 32, "--bands", 48, "--kpts", 4, "--point", 193).output.splitlines()[-1]
    assert text.startswith("parallel={'kpt': 4, 'domain': (")
    assert eval(f"dict({text})")["parallel"]["kpt"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["0", "-n", "4", "--grids", "1"], "has no points"),
        (["16", "-n", "4", "--grids", "0"], "0 is not in the range"),
        (["16", "-n", "100000", "--grids", "1"], "plans of more than 65536 take long; give fewer (-n)"),
        (["16", "-n", "4", "--grids", "1", "--periodic", "w"], "are no edges; write xyz"),
        (["16", "-n", "1000", "--grids", "1", "--machine", str(MAP)], "slots"),
        (["4", "-n", "7", "--bands", "3", "--kpts", "1"], "7 ranks can't be divided over 1 k-points, 3 bands"),
        (["16", "-n", "4", "--grids", "1", "--machine", "none.json"], "none.json"),
    ],
)
def test_what_can_not_be_planned(words: list[str], said: str) -> None:
    done = call("plan", *words, "--point", "1")
    assert done.exit_code != 0
    assert said in done.output


def test_the_model_is_the_formula_of_the_paper() -> None:
    """Kristensen et al. (2011), Figure 5.2: 4 batches of 8 fields, of which the first waits for all its faces."""
    found = json.loads(
        core.predict_grid(
            "flat-optimized", computing=2.0, exchanges=[(3.0, 4.0, 0.0)], fields=32, threads=1, batch=8, slope=0
        )
    )
    assert found["waiting"] == pytest.approx((3 + 8 * 4) + (4 - 1) * (3 + 8 * 4 - 8 * 2))


def test_a_bench_measures_and_judges(mpi: str, tmp_path: Path) -> None:
    picture = tmp_path / "times.png"
    words = ["16", "-n", "1,2", "-t", "1", "--grids", "6", "--batches", "1,3", "--slopes", "0,1", "--repeats", "2"]
    done = call("bench", *words, "--mpi", mpi, "--oversubscribe", "--json", "--plot", picture)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [(job["ranks"], job["threads"]) for job in found["jobs"]] == [(1, 1), (2, 1)]
    for job in found["jobs"]:
        tried = {one["approach"] for one in job["trials"]} | {one["approach"] for one in job["left_out"]}
        assert tried == set(approaches())
        assert job["alone"] > 0 and job["chosen_over_quickest"] >= 1
        for one in job["trials"]:
            assert len(one["seconds"]) == 2 and one["median"] > 0 and 0 <= one["waits"] < 1 and one["predicted"] > 0
            assert one["overlap"] is None and not one["sends"], "ranks of one host share memory"
    assert picture.stat().st_size > 1000


def test_a_bench_on_one_rank_needs_no_mpi_and_has_no_overlap() -> None:
    done = call("bench", "12", "-n", 1, "-t", 1, "--grids", 6, "--batches", 2, "--repeats", 1)
    assert done.exit_code == 0, done.output
    assert "1 × 1: the model chooses" in done.output
    assert done.output.count("none: nothing is sent") == 4 and "1 × 1: overlap" not in done.output


def test_messages_are_timed_with_and_without_computing(mpi: str) -> None:
    words = ["16", "-n", 2, "-t", 1, "--grids", 6, "--batches", 2, "--approaches", "flat-original,flat-optimized"]
    done = call("bench", *words, "--messages", "--mpi", mpi, "--oversubscribe", "--repeats", 2, "--json")
    assert done.exit_code == 0, done.output
    one_by_one, in_batches = json.loads(done.stdout)["jobs"][0]["trials"]
    assert one_by_one["sends"] and one_by_one["batches"] == 1 and one_by_one["overlap"] is None
    assert in_batches["sends"] and in_batches["batches"] == 3
    assert len(in_batches["exchange"]) == len(in_batches["apart"]) in (0, 2)
    assert in_batches["overlap"] is None or 0 <= in_batches["overlap"] <= 1


def found_by_ranks(together: float) -> dict[str, Any]:
    """Returns what ranks find that compute 8 ms and send for 4, in 4 batches, together or apart."""
    one = {"approach": "flat-optimized", "batch": 4, "slope": 0, "batches": 4, "sends": True, "seconds": [together],
           "together": [together], "apart": [0.012], "exchange": [0.004]}  # fmt: skip
    rates = {"point": 1e-9, "packing": 1e-10, "synchronising": 0.0, "overlap": 0.9}
    return {"processes": [2, 1, 1], "rates": rates, "alone": [0.008], "trials": [one], "left_out": []}


@pytest.mark.parametrize(("together", "overlap"), [(0.012, 0.0), (0.0105, 0.5), (0.009, 1.0)])
def test_the_model_takes_the_overlap_that_is_measured(together: float, overlap: float) -> None:
    request = Request((64, 64, 64), 16, "float64", 4, (2,), (1,), ("flat-optimized",), (4,), (0,), 1, machine=MAP)
    job = judged(request, 2, 1, found_by_ranks(together))
    assert job["overlap"] == job["trials"][0]["overlap"] == pytest.approx(overlap) and job["overlap_is_told"]
    said = bench_text({"shape": request.shape, "dtype": "float64", "order": 4, "grids": 16, "jobs": [job]}, request)
    assert f"2 × 1: overlap {overlap:.0%}, with which" in said
    nothing = {**found_by_ranks(together), "trials": [{**found_by_ranks(together)["trials"][0], "exchange": []}]}
    assert judged(request, 2, 1, nothing)["overlap"] == 0.9, "an operator's own trial"


def test_a_plan_takes_the_overlap_of_its_map_and_says_so(tmp_path: Path) -> None:
    target = tmp_path / "map.json"
    shutil.copy(MAP, target)
    words = ("plan", "24x24x12", "-n", 8, "--grids", 16, "--machine", target, "--point", 10)

    def share() -> tuple[float, str]:
        found = json.loads(call(*words, "--json").output)
        return found["rates"]["overlap"], found["overlap_is"]

    assert share() == (1.0, "assumed")
    assert "overlap of 100% of messages with computing (assumed: no map has a measured one)" in call(*words).output
    before = json.loads(target.read_text())
    job = {"ranks": 2, "threads": 1, "overlap": 0.25, "overlap_is_told": True}
    assert not put_into_map({"jobs": [{**job, "overlap_is_told": False}]}, target)
    assert put_into_map({"jobs": [job, {**job, "ranks": 64, "overlap": 0.75}, {**job, "threads": 4}]}, target)
    assert put_into_map({"jobs": [{**job, "overlap": 0.5}]}, target), "takes the place of the older one"
    after = json.loads(target.read_text())
    assert [one["share"] for one in after.pop("overlaps")] == [0.75, 0.25, 0.5]
    assert all(after[key] == value for key, value in before.items() if key != "version")
    assert share() == (0.5, "measured"), "that of 2 ranks is nearer to 8 than that of 64"
    assert f"overlap of 50% of messages with computing (measured, in {target})" in call(*words).output
    assert "overlap of 30% of messages with computing (given)" in call(*words, "--overlap", "0.3").output


def test_less_overlap_is_predicted_to_take_longer() -> None:
    cost = {"computing": 2.0, "exchanges": [(3.0, 1.0, 0.0)], "fields": 32, "threads": 1, "batch": 4}
    all_hidden, half, none = (
        json.loads(core.predict_grid("flat-optimized", **cost, overlap=share))["seconds"] for share in (1, 0.5, 0)
    )
    assert all_hidden < half < none


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--approaches", "round"], "'round' is unknown; they are flat-original"),
        (["--slopes", "x"], "are no numbers of batches"),
        (["-n", "0"], "are no numbers of ranks"),
        (["-o", "none.json"], "'none.json' does not exist"),
    ],
)
def test_what_can_not_be_measured(words: list[str], said: str) -> None:
    done = call("bench", "12", *words)
    assert done.exit_code == 2
    assert said in done.output


def test_jobs_fit_onto_the_cores_and_configurations_differ() -> None:
    request = Request((8, 8, 8), 4, "float64", 4, (1, 2**20), (1,), ("flat-original", "flat-optimized"), (1, 2, 64),
                      (0, 1), 1)  # fmt: skip
    assert request.jobs() == [(1, 1)]
    found = [(one["approach"], one["batch"], one["slope"]) for one in request.configurations()]
    assert len(found) == len(set(found)) and ("flat-original", 1, 0) in found and ("flat-optimized", 4, 1) in found
    assert ("flat-optimized", 1, 1) not in found
