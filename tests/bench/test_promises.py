"""Every promise of a benchmark is missed by a broken case, and stands in docs/records/promises.md."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bench import promises, wheel
from bench.build import array, clashes, locus
from bench.common.results import above
from bench.convert import converters
from bench.grid import stencil
from bench.io import (
    checkpoint,
    convert,
    formatter,
    frames,
    raw,
    reader,
    segments,
    setup,
    trajectory,
)
from bench.md import conservation, costs, device, growth, largest, memory, predictions, watching
from bench.physics import bilayer, drifts, liquids
from bench.physics.liquids import Liquid, Mean
from papers import write_methods
from tests.support.programs import ROOT

BENCH = ROOT / "bench"
SCRIPTS = sorted([*BENCH.glob("*.py"), *BENCH.glob("*/*.py"), *(ROOT / "papers").glob("*.py")])
SYSTEM = {"seconds": 1.0, "peak_bytes": 1e9, "share_seconds": 0.01, "share_peak_megabytes": 10.0}
FRAMES = dict.fromkeys(frames.KINDS, 1.01)
READ = {"kind": "segments", "ranks": 2, "ratio": 0.95, "rate": 1e8}


def written(**rates: float) -> dict[str, Any]:
    """What `tessera io bench` prints where all is as in the paper, but for rates in MB/s of `METHOD_FORMAT`."""
    usual = {"pdaw_text": 900.0, "sdaw_text": 90.0, "sdaw-printf_text": 80.0, "mpiw-collective_text": 500.0,
             "mpiw-collective:writers=8_text": 900.0, "sncw_netcdf": 80.0, "pdaw_binary": 900.0}  # fmt: skip
    size = {"text": 120, "binary": 40, "netcdf": 12}
    trials = [
        {"candidate": candidate, "method": candidate.split(":")[0], "format": name, "bytes": 1e6 * size[name],
         "seconds": [size[name] / mb]}
        for key, mb in (usual | rates).items()
        for candidate, name in [key.rsplit("_", 1)]
    ]  # fmt: skip
    return {"atoms": 10**6, "runs": [{"ranks": 2, "raw": {"bytes": 1e9, "seconds": [1.0]}, "trials": trials}]}


def on_a_gpu(*ratios: float) -> list[dict[str, Any]]:
    """What scripts/device_check times where Tessera's steps take so many of OpenMM's, in the order of promises."""
    return [
        {"run": run, "ms_per_step": {"gpu": [ratio, ratio, 9.0], "cpu": [9.0], "openmm": [1.0]}}
        for run, ratio in zip(device.MOST_OF_OPENMM, ratios, strict=False)
    ]


MASTER = {**written()["runs"][0], "trials": written()["runs"][0]["trials"][:1]}
WRITTEN = {"write": 10.0, "read": 10.0}
KEPT: dict[str, Callable[[], list[str]]] = {
    "frames": lambda: frames.missed(FRAMES | {"XTC": 9.0}),  # which is not promised
    "checkpoint": lambda: checkpoint.missed({1: 0.95, 2: 1.5}),
    "segments": lambda: segments.missed({("float32", 1): 0.95, ("lossless", 1): 0.1}),
    "reader": lambda: reader.missed([READ, READ | {"kind": "config", "ratio": 0.2, "rate": 5e8}]),
    "trajectory": lambda: trajectory.missed(2.5, 0.1),
    "convert": lambda: convert.missed(1.7, {"dcd": 3.0}),
    "formatter": lambda: formatter.missed(900e6),
    "write_methods": lambda: write_methods.missed(written(), WRITTEN),
    "setup": lambda: setup.missed({"nacl": SYSTEM, "water": SYSTEM}),
    "stencil": lambda: stencil.missed(144, 0.9, 1.0, 2.0) + stencil.missed(64, 0.1, 9.0, 1.0),
    "costs": lambda: (
        costs.missed("dhfr", dict.fromkeys(costs.BATHS, 0.6), costs.PROMISED_OF_BATHS)
        + costs.missed("dhfr", dict.fromkeys(costs.restraints_of(10), 1.0), costs.PROMISED_OF_RESTRAINTS)
        + costs.missed("dhfr", {"empty hook": 1.01, "springs on all atoms": 9.0}, costs.PROMISED_OF_HOOKS)
    ),
    "converters": lambda: converters.missed({"a": 1.9e-5}),
    "clashes": lambda: clashes.missed({10**5: 0.3, 10**7: 29.0}, 59.0, 0.9) + clashes.missed({10**5: 99.0}, 9.0, 1.0),
    "locus": lambda: (
        locus.missed({"build": BUILT, "minimize": MINIMIZED, "solvate": SOLVATED, "plan": PLAN})
        + locus.missed({"build": BUILT | {"seconds": 9e9}}, 12)
    ),
    "array": lambda: array.missed(ARRAY | {"drift": -0.011}),  # by less than two standard errors
    "wheel": lambda: wheel.missed(24_900_000, 119.0),
    "growth": lambda: growth.missed(1.1),
    "memory": lambda: memory.missed("water1m", 999_999, 590.0) + memory.missed("water24k", 24_000, 900.0),
    "largest": lambda: largest.missed(19e9),
    "watching": lambda: watching.missed({"neither": 100.0, "black box": 103.0, "black box, watched": 103.5}),
    "device": lambda: device.missed(on_a_gpu(0.97, 0.5, 1.4)),
    "predictions": lambda: predictions.missed({"a": {"time of a step": 1.19, "memory of a rank": 0.86}}),
    "conservation": lambda: conservation.missed("dhfr", -0.009, 0.001),
    "drifts": lambda: drifts.missed("Bussi", -0.011, 0.001) + drifts.missed("leapfrog", 9.0, 1.0),
    "bilayer": lambda: bilayer.wrong(*LAYER),
    "liquids": lambda: liquids.wrong_of_water("TIP3P", WATER),
}
ARRAY = {"atoms": 4_900_000, "clashes": 0, "drift": 0.001, "error": 0.002, "converged": True, "max_force": 19.0}
BUILT = {"seconds": 599.0, "peak_bytes": 5.9e9, "left": 0}
SOLVATED = {"seconds": 1799.0, "peak_bytes": 3.9e9}
PLAN = {"templates": 24.0}
MINIMIZED = {"seconds": 3599.0, "peak_bytes": 17.9e9, "converged": True, "max_force": 99.0}
LAYER = np.array([[0.0, 65.0, 37.5]]), np.ones((3, 3)), np.ones((3, 3))
WATER = Liquid(Mean(0.983, 1e-3), 2.77, Mean(2.7, 0.01), Mean(6.05, 0.1))
BROKEN: list[tuple[str, Callable[[], list[str]], str]] = [
    ("frames", lambda: frames.missed(FRAMES | {"segments, rounded to 0.01 Å": 1.028}), "rounded to 0.01 Å: 1.028"),
    ("frames", lambda: frames.missed(FRAMES | {"segments": math.nan}), "segments"),
    ("frames", lambda: frames.missed({"segments": 1.0}), "rounded to 0.01 Å was not measured"),
    ("checkpoint", lambda: checkpoint.missed({1: 0.95, 2: 0.85}), "2 ranks: 0.85"),
    ("segments", lambda: segments.missed({("float32", 2): 0.5}), "float32, 2 ranks: 0.50"),
    ("reader", lambda: reader.missed([READ | {"ratio": 0.8, "rate": 9e9}]), "segments, 2 ranks: 0.80"),
    ("reader", lambda: reader.missed([READ | {"kind": "config", "ratio": 0.8}]), "CONFIG, as numbers, 2 ranks"),
    ("trajectory", lambda: trajectory.missed(1.9, 0.1), "1.90 times"),
    ("trajectory", lambda: trajectory.missed(2.5, 0.3), "opening took 0.30 s"),
    ("convert", lambda: convert.missed(1.4, {"dcd": 3.0}), "XTC on two processors is 1.40"),
    ("convert", lambda: convert.missed(1.7, {"dcd": 1.4}), "dcd is 1.40 times"),
    ("formatter", lambda: formatter.missed(700e6), "700 MB/s"),
    (
        "write_methods",
        lambda: write_methods.missed(written(pdaw_text=799.0), WRITTEN),
        "799 MB/s, 80% of the raw writer",
    ),
    ("write_methods", lambda: write_methods.missed(written(sdaw_text=200.0), WRITTEN), "pdaw over sdaw, text: 4.5"),
    ("write_methods", lambda: write_methods.missed(written(sncw_netcdf=1.0), WRITTEN), "over sncw, time: 0.125"),
    ("write_methods", lambda: write_methods.missed(written(pdaw_binary=90.0), WRITTEN), "over binary, time: 0.3"),
    ("write_methods", lambda: write_methods.missed({"runs": [MASTER]}, WRITTEN), "pdaw over sdaw, text: not measured"),
    ("write_methods", lambda: write_methods.missed(written(), WRITTEN | {"read": 101.0}), "to read them took 101 s"),
    ("setup", lambda: setup.missed({"nacl": SYSTEM | {"seconds": 601}}), "making nacl, s: 601"),
    ("setup", lambda: setup.missed({"water": SYSTEM | {"peak_bytes": 5e9}}), "making water, GB of memory: 5"),
    ("setup", lambda: setup.missed({"nacl": SYSTEM | {"share_seconds": 0.2}}), "reading a share of nacl, s: 0.2"),
    ("setup", lambda: setup.missed({"nacl": SYSTEM | {"share_peak_megabytes": 60}}), "MB of memory: 60"),
    ("stencil", lambda: stencil.missed(144, 0.7, 1.0, 2.0), "70% of the triad"),
    ("stencil", lambda: stencil.missed(192, 0.9, 1.2, 2.0), "1.20 times as long"),
    ("stencil", lambda: stencil.missed(192, 0.9, 1.0, 1.5), "1.50 times as fast"),
    ("costs", lambda: costs.missed("dhfr", {"empty hook": 1.03}, costs.PROMISED_OF_HOOKS), "DHFR, empty hook: 1.03"),
    (
        "costs",
        lambda: costs.missed("dhfr", dict.fromkeys(costs.BATHS, 1.04), costs.PROMISED_OF_BATHS),
        "bussi, c-rescale: 1.04",
    ),
    (
        "costs",
        lambda: costs.missed("apoa1", dict.fromkeys(costs.restraints_of(9), 1.2), costs.PROMISED_OF_RESTRAINTS),
        "ApoA1, positions",
    ),
    (
        "watching",
        lambda: watching.missed({"neither": 100.0, "black box": 100.0, "black box, watched": 100.6}),
        "black box, watched: 1.006",
    ),
    ("device", lambda: device.missed(on_a_gpu(0.99, 0.5, 1.4)), "ApoA1, 12 Å: 0.99"),
    ("device", lambda: device.missed(on_a_gpu(0.97, 0.5)), "DHFR, 9 Å was not measured"),
    ("predictions", lambda: predictions.missed({"a": {"time of a step": 0.79}}), "a, time of a step: predicted 0.79"),
    (
        "predictions",
        lambda: predictions.missed({"a": {"memory of a rank": 1.16}}),
        "a, memory of a rank: predicted 1.16",
    ),
    ("array", lambda: array.missed(ARRAY | {"atoms": 5_100_000}), "atoms: 5"),
    ("array", lambda: array.missed(ARRAY | {"clashes": 1}), "clashes: 1"),
    ("array", lambda: array.missed(ARRAY | {"drift": -0.02}), "drift, kT/ns/dof: 0.016"),
    ("array", lambda: array.missed(ARRAY | {"error": 0.02}), "too short to tell a drift"),
    ("array", lambda: array.missed(ARRAY | {"converged": False, "max_force": 30.0}), "greatest force is 30"),
    ("wheel", lambda: wheel.missed(25_100_000, 1.0), "size of the wheel, MB: 25.1"),
    ("wheel", lambda: wheel.missed(1, 121.0), "installation and demonstration, s: 121"),
    ("converters", lambda: converters.missed({"a": 2.1e-5}), "a: energies differ by 2.1e-05"),
    ("clashes", lambda: clashes.missed({10**5: 0.3, 10**7: 31.0}, 9.0, 1.0), "finding clashes, s: 31"),
    ("clashes", lambda: clashes.missed({10**5: 0.1, 10**7: 20.0}, 9.0, 1.0), "growth of the time an atom: 2"),
    ("clashes", lambda: clashes.missed({10**5: 0.3}, 61.0, 1.0), "mending clashes, s: 61"),
    ("clashes", lambda: clashes.missed({10**5: 0.3}, 9.0, 0.89), "89.0% of the clashes"),
    ("locus", lambda: locus.missed({"generate": BUILT | {"seconds": 3601.0}}), "generate, s: 3601"),
    ("locus", lambda: locus.missed({"build": BUILT | {"seconds": 601.0}}), "build, s: 601"),
    ("locus", lambda: locus.missed({"build": BUILT | {"peak_bytes": 7e9}}), "build, GB of memory: 7"),
    ("locus", lambda: locus.missed({"build": BUILT | {"left": 3}}, 12), "3 clashes are left"),
    ("locus", lambda: locus.missed({"build": BUILT, "solvate": SOLVATED | {"seconds": 1801}}), "solvate, s: 1801"),
    ("locus", lambda: locus.missed({"build": BUILT, "plan": {"templates": 26.0}}), "templates of a rank, MB: 26"),
    (
        "locus",
        lambda: locus.missed({"build": BUILT, "minimize": MINIMIZED | {"converged": False, "max_force": 120.0}}),
        "the greatest force is 120",
    ),
    ("growth", lambda: growth.missed(1.2), "slowest over quickest: 1.2"),
    ("memory", lambda: memory.missed("water1m", 999_999, 601.0), "B/atom resident: 601"),
    ("largest", lambda: largest.missed(21e9), "GB of memory: 21"),
    ("conservation", lambda: conservation.missed("dhfr", -0.011, 0.001), "drift -0.011"),
    ("conservation", lambda: conservation.missed("dhfr", 0.001, 0.02), "too short to tell"),
    ("drifts", lambda: drifts.missed("Bussi", 0.013, 0.001), "Bussi: 0.013 kT/ns/dof, more than 0.01"),
    ("drifts", lambda: drifts.missed("Bussi", 5.0, 10.0), "too short a run to tell 0.01"),
    ("drifts", lambda: drifts.missed("Bussi", math.nan, 0.001), "Bussi: nan"),
    ("bilayer", lambda: bilayer.wrong(LAYER[0] + [[0, 5, 0]], *LAYER[1:]), "the area of a lipid is 70.0"),
    ("bilayer", lambda: bilayer.wrong(LAYER[0] * math.nan, *LAYER[1:]), "phosphorus are nan"),
    ("bilayer", lambda: bilayer.wrong(*LAYER[:2], LAYER[2] * 1.1), "the virial is off by 0.1"),
    ("liquids", lambda: liquids.wrong_of_water("TIP3P", replace(WATER, peak=math.nan)), "first maximum of TIP3P: nan"),
    ("liquids", lambda: liquids.wrong_of_water("TIP3P", replace(WATER, density=Mean(1.0, 1e-3))), "density of TIP3P"),
    ("liquids", lambda: liquids.wrong_of_argon(0.776, Mean(-5.52, 1e-4), Mean(0.0067, 1e-4)), "energy of argon"),
]


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_promise_is_not_named(name: str) -> None:
    assert KEPT[name]() == []


@pytest.mark.parametrize(("name", "case", "expected"), BROKEN)
def test_a_broken_promise_is_named(name: str, case: Callable[[], list[str]], expected: str) -> None:
    assert any(expected in text for text in case()), case()


def test_all_judges_are_tried() -> None:
    """Each script that has a function `missed` or `wrong` stands above."""
    judges = {path.stem for path in SCRIPTS if re.search(r"^def (missed|wrong)", path.read_text(), flags=re.M)}
    assert {name for name, _, _ in BROKEN} == set(KEPT) == judges


def test_what_was_not_measured_is_not_kept() -> None:
    assert above({"a": 1.0}, {"a": 1.0, "b": None}) == []
    assert above({"a": math.nan}, {"a": 1.0, "c": 2.0}) == ["a: nan, promised ≤ 1", "c was not measured"]


def test_a_check_that_fails_ends_with_status_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--atoms", "200", "--repeats", "1", "--folder", str(tmp_path), "--results", str(tmp_path)]
    for promise, status in ((1.0, 0), (1e15, 1)):
        monkeypatch.setattr(formatter, "PROMISE", promise)
        done = CliRunner().invoke(formatter.formatter, [*words, "--check"])
        assert done.exit_code == status, done.output
        assert ("Failed: the formatter made" in done.output) == bool(status)
    assert CliRunner().invoke(formatter.formatter, words).exit_code == 0  # nothing was checked


def test_writers_go_the_same_way(tmp_path: Path) -> None:
    """A file has all bytes and no more, whatever its size; ratios are those of turns with the writer that is named."""
    for size in (0, 1, raw.PAGE, raw.BLOCK + 5):
        content = bytes(range(256)) * (size // 256 + 1)
        raw.write_plainly(tmp_path / "a", raw.pages_of(content[:size]), size)
        assert (tmp_path / "a").read_bytes() == content[:size]
    found = {"bytes": 1e6, "ours": [2.0, 2.0, 2.0], raw.BUFFERED: [4.0, 4.0, 4.0], raw.DIRECT: [1.0, 1.6, 2.0]}
    row, ratio = raw.rows_of(2, found, raw.DIRECT)
    assert ratio == 0.8 and row == [2, 0.5, 0.25, 1 / 1.6, "0.80", "0.50–1.00"]


@pytest.fixture(scope="module")
def table() -> str:
    return promises.table_of_promises()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_check_stands_in_the_table(path: Path, table: str) -> None:
    """A promise that is missed can't be left out: each record of a script that checks has a line at least."""
    text = path.read_text()
    if re.search(r'script\([^)]*check=|"--check"', text):
        names = set(re.findall(r'[Ff]igure\(\s*"(\w+)"', text) or promises.PEERS)
        assert {name for name in names if f"[{name}](" not in table} == set()


def test_missed_promises_of_files_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "TEXT_SHARE", 99.0)  # the other promise of text
    for name, value, expected in (
        ("MOST_OF_FRAMES", -1.0, "| ≤ 0 | **no** | [frames]"),
        ("CHECKPOINT_PROMISE", 99.0, "| ≥ 99 in each | **no** | [checkpoint]"),
        ("SEGMENTS_PROMISE", 99.0, "| ≥ 99 in each | **no** | [segments]"),
        ("READER_SHARE", 99.0, "| ≥ 99 in each | **no** | [reader]"),
        ("PEER_RATIO", 99.0, "| ≥ 99 in each | **no** | [convert]"),
        ("OPENING", 1e-9, "| ≤ 1e-09 | **no** | [trajectory]"),
        ("TEXT_RATE", 1e15, "| **no** | [write_methods]"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(promises, name, value)
            assert expected in promises.table_of_promises(), name


def test_promises_of_clashes_are_those_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the script writes it, and before it has."""
    tables = {
        "s to find": [{"atoms": "117,790", "s to find": "0.3", "ns an atom": "2,500"},
                      {"atoms": "10,012,150", "s to find": "31", "ns an atom": "3,100"}],
        "s to mend": [{"atoms": "5,780,475", "clashes": "10,005", "mended": "9,900", "s to mend": "47"}],
    }  # fmt: skip
    monkeypatch.setattr(promises, "cells", lambda record, title: tables[title])
    for text, verdicts in (("", ["**no**"]), ("measured", ["**no**", "yes", "yes", "yes"])):
        monkeypatch.setattr(promises, "measured", lambda name, text=text: text)
        assert [promise.verdict for promise in promises.of_builders()] == verdicts


def test_promises_of_the_locus_are_those_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the script writes it, and before it has."""
    columns = ("step", "atoms", "s", "GB of memory", "clashes left")
    rows = (
        ("tessera build fiber --generate", "–", "99", "1", "–"),
        ("tessera build fiber", "12,031,111", "580", "7", "0"),
        ("tessera minimize", "–", "3,700", "17", "–"),
        ("tessera build solvate", "1,070,000,000", "900", "3", "–"),
    )
    tables = {
        "GB of memory": [dict(zip(columns, row)) for row in rows],
        "MB a rank": [{"ranks planned for": "65,536", "of templates, MB": "26"}],
    }
    monkeypatch.setattr(promises, "cells", lambda record, title: tables[title])
    kept = ["yes", "yes", "yes", "**no**", "**no**", "yes", "yes", "yes", "yes", "**no**"]
    for text, verdicts in (("", ["**no**"]), ("measured", kept)):
        monkeypatch.setattr(promises, "measured", lambda name, text=text: text)
        assert [promise.verdict for promise in promises.of_locus()] == verdicts
    del tables["GB of memory"][2]  # of a step that was not measured the promise stays
    found = {promise.claim: promise.verdict for promise in promises.of_locus()}
    assert found["GATA4, `tessera minimize`: s"] == "**no**"


def test_clashes_are_timed(data_folder: Path, tmp_path: Path) -> None:
    words = ["--atoms", "100000", "--clashes", "30", "--data", str(data_folder), "--results", str(tmp_path), "--json"]
    done = CliRunner().invoke(clashes.clashes, words)
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "clashes.json").read_text())["data"]
    assert [one["n_atoms"] for one in found["finding"]] == [23558, 23558, 117790]
    assert found["mending"]["clashes"] >= 30 and found["mending"]["seconds"] > 0
