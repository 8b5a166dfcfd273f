"""Tests what bench.fft.peers computes from measured times."""

from bench.fft.peers import PROMISES, Case, broken_promises, ratios

CASE = Case(2, "64x64x64", "c2c:float64")


def test_ratios_are_those_of_a_turn() -> None:
    assert ratios({"tessera": [2.0, 4.0], "FFTW-MPI": [3.0, 4.0]}, "FFTW-MPI") == [1.5, 1.0]


def test_kept_promises_are_not_named() -> None:
    times = {"tessera": [2.0, 2.0, 9.0], "FFTW-MPI": [2.6, 3.0, 3.0], "mpi4py-fft": [4.0, 5.0, 5.0]}
    assert broken_promises({CASE: times}, list(PROMISES), None) == []


def test_broken_promises_and_peers_that_are_not_there_are_named() -> None:
    broken = broken_promises({CASE: {"tessera": [2.0, 2.0], "FFTW-MPI": [2.5, 2.5]}}, list(PROMISES), None)
    assert broken == [
        "2 ranks, 64x64x64, c2c:float64: 1.25 times FFTW-MPI, promised are 1.3",
        "2 ranks, 64x64x64, c2c:float64: mpi4py-fft was not measured",
    ]


def test_the_smallest_mesh_may_be_as_slow_as_its_peer_with_avx2() -> None:
    times = {"tessera": [2.0, 2.0], "FFTW-MPI": [2.1, 2.1]}
    assert broken_promises({CASE: times}, ["FFTW-MPI"], "AVX2") == []
    larger = Case(2, "128x128x128", "c2c:float64")
    assert broken_promises({larger: times}, ["FFTW-MPI"], "AVX2") == [
        f"{larger}: 1.05 times FFTW-MPI, promised are 1.3"
    ]
