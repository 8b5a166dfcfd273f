"""Tests what bench.fft.peers computes from measured times."""

from bench.fft.peers import Case, broken_promises, ratios

CASE = Case(2, "64x64x64", "c2c:float64")


def test_ratios_are_those_of_a_turn() -> None:
    assert ratios({"tessera": [2.0, 4.0], "FFTW-MPI": [3.0, 4.0]}, "FFTW-MPI") == [1.5, 1.0]


def test_kept_promises_are_not_named() -> None:
    times = {"tessera": [2.0, 2.0, 9.0], "FFTW-MPI": [2.6, 3.0, 3.0], "mpi4py-fft": [4.0, 5.0, 5.0]}
    assert broken_promises({CASE: times}) == []


def test_broken_promises_and_peers_that_are_not_there_are_named() -> None:
    broken = broken_promises({CASE: {"tessera": [2.0, 2.0], "FFTW-MPI": [2.5, 2.5]}})
    assert broken == [
        "2 ranks, 64x64x64, c2c:float64: 1.25 times FFTW-MPI, promised are 1.3",
        "2 ranks, 64x64x64, c2c:float64: mpi4py-fft was not measured",
    ]
