"""Packed numbers: what is packed comes back, as the reference says, on all instruction sets, and damage is no crash."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.programs import ROOT, run_program

core = pytest.importorskip("tessera._core", reason="the Python modules are not built")

BLOCK = 960


def molecules(rows: int, atoms: int, lead: int, scale: float, seed: int) -> np.ndarray:
    """(rows,3) Å: rigid molecules that are turned at random, from a place within one on."""
    generator = np.random.default_rng(seed)
    n = rows // atoms + 2
    shape = generator.normal(size=(atoms, 3)) - generator.normal(size=3)
    turns = np.linalg.qr(generator.normal(size=(n, 3, 3)))[0]
    values = generator.random((n, 1, 3)) * scale + shape @ turns
    return values.reshape(-1, 3)[lead : lead + rows].astype(np.float32)


def came_back(values: np.ndarray, unit: float) -> bytes:
    """Packs and unpacks, and returns the bytes."""
    data = core.pack(values, unit)
    found = np.full_like(values, np.nan)
    core.unpack(data, unit, found)
    expected = np.rint(values.astype(float) * (1 / unit)) * unit
    assert np.array_equal(found, expected.astype(np.float32))
    return bytes(data)


SIZES = st.one_of(st.integers(0, 70), st.integers(BLOCK - 3, BLOCK + 3), st.integers(0, 3000))
UNITS = st.sampled_from([1.0, 0.01, 0.001, 0.003, 1e-6])


@given(
    rows=SIZES, atoms=st.integers(1, 7), lead=st.integers(0, 6), exponent=st.floats(-3, 9), unit=UNITS,
    seed=st.integers(0, 999),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_what_is_packed_comes_back(rows: int, atoms: int, lead: int, exponent: float, unit: float, seed: int) -> None:
    scale = min(10.0**exponent, 2e9 * unit)
    came_back(molecules(rows, atoms, min(lead, atoms), scale, seed), unit)


@given(rows=SIZES, exponents=st.tuples(*[st.floats(0, 31)] * 3), seed=st.integers(0, 999))
@settings(max_examples=100, deadline=None)
def test_ranges_of_all_widths(rows: int, exponents: tuple[float, float, float], seed: int) -> None:
    """Up to the ends of integers of four bytes, where differences do not fit into them."""
    generator = np.random.default_rng(seed)
    values = (2 * generator.random((rows, 3)) - 1) * (2 ** np.array(exponents) - 200).clip(0)
    came_back(values.astype(np.float32), 1.0)


@given(rows=st.integers(1, 2000), repeated=st.booleans(), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_few_values(rows: int, repeated: bool, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-1, 2, (1 if repeated else rows, 3)).astype(np.float32)
    data = came_back(np.ascontiguousarray(np.broadcast_to(values, (rows, 3))), 0.5)
    assert not repeated or len(data) <= 12 + 8 * (1 + rows // BLOCK)


def test_water_takes_little_room() -> None:
    oxygens = np.random.default_rng(1).random((20_000, 1, 3)) * 62.23
    turns = np.linalg.qr(np.random.default_rng(2).normal(size=(20_000, 3, 3)))[0]
    shape = np.array([[0, 0, 0], [0.9572, 0, 0], [-0.24, 0.9266, 0]])
    values = (oxygens + shape @ turns).reshape(-1, 3).astype(np.float32)
    assert len(came_back(values, 0.01)) < 0.275 * values.nbytes
    assert len(came_back(values, 0.001)) < 0.36 * values.nbytes
    assert len(came_back(values[2:], 0.01)) < 0.275 * values.nbytes


@pytest.mark.parametrize("value", [np.nan, np.inf, -3e7, 3e38])
def test_numbers_that_do_not_fit_are_refused(value: float) -> None:
    values = np.zeros((1000, 3), np.float32)
    values[990, 1] = value
    with pytest.raises(ValueError, match=r"not finite or do not fit into 4 bytes in units of 0\.01"):
        core.pack(values, 0.01)


def by_the_reference(data: bytes, rows: int) -> np.ndarray:
    """Decodes integers (rows,3) as docs/reference/trajectory.md says, number by number."""
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        return data[at - size : at]

    def number() -> int:
        value, shift = 0, 0
        while True:
            byte = take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def interval() -> tuple[int, int]:
        folded, more = number(), number()
        return (folded // 2 if folded % 2 == 0 else -(folded + 1) // 2), more + 1

    def codes(count: int, n: int) -> list[int]:
        bits = (count - 1).bit_length()
        stream = int.from_bytes(take((bits * n + 7) // 8), "little")
        return [stream >> (bits * i) & ((1 << bits) - 1) for i in range(n)]

    base = np.frombuffer(take(12), "<i4").astype(int)
    out = np.zeros((rows, 3), int)
    for begin in range(0, rows, BLOCK):
        size = min(BLOCK, rows - begin)
        period = take(1)[0]
        back = np.zeros(size, int)
        for k in range(min(period, size)):
            layout, of = divmod(take(1)[0], 16)
            square = number() if layout == 1 else 0
            (x, nx), (y, ny), (z, nz) = interval(), interval(), interval()
            places = range(begin + k, begin + size, period)
            back[k::period] = of
            if layout == 2:
                for c, (low, count) in enumerate([(x, nx), (y, ny), (z, nz)]):
                    out[places, c] = np.array(codes(count, len(places))) + low
                continue
            for row, code in zip(places, codes(nx * ny * nz * (6 if layout == 1 else 1), len(places)), strict=True):
                if layout == 0:
                    out[row] = code // nz // ny + x, code // nz % ny + y, code % nz + z
                    continue
                v, u, side, excess = code % ny + y, code // ny % nx + x, code // ny // nx % 6, code // ny // nx // 6 + z
                height = int(np.sqrt(float(max(0, square - u * u - v * v))) + 0.5)
                longest = (height + excess) * (-1 if side % 2 else 1)
                out[row] = np.insert([u, v], side // 2, longest)
        for i in range(size):
            if back[i]:
                row = begin + i
                out[row] += out[row - back[i]] if row >= back[i] else base
                out[row] = (out[row] + 2**31) % 2**32 - 2**31
    assert at == len(data)
    return out


@given(
    rows=st.integers(1, 2100), atoms=st.integers(1, 6), lead=st.integers(0, 5), exponent=st.floats(0, 9),
    seed=st.integers(0, 999),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_the_reference_says_how(rows: int, atoms: int, lead: int, exponent: float, seed: int) -> None:
    values = molecules(rows, atoms, min(lead, atoms), min(10.0**exponent, 2e7), seed)
    expected = np.rint(values.astype(float) * 100).astype(int)
    assert np.array_equal(by_the_reference(core.pack(values, 0.01), rows), expected)


@given(
    rows=st.integers(0, 2000),
    atoms=st.integers(1, 6),
    scale=st.sampled_from([1.0, 60.0, 1e7]),
    seed=st.integers(0, 9999),
)
@settings(max_examples=300, deadline=None)
def test_damage_is_no_crash(rows: int, atoms: int, scale: float, seed: int) -> None:
    """Checksums find damage; what is decoded all the same is refused or gives other numbers."""
    generator = np.random.default_rng(seed)
    data = bytearray(core.pack(molecules(rows, atoms, 0, scale, seed), 0.01))
    for place in generator.integers(0, max(1, len(data)), 3).tolist():
        if data:
            data[place] = int(generator.integers(256))
    if seed % 3 == 0:
        del data[int(generator.integers(0, len(data) + 1)) :]
    if seed % 3 == 1:
        data[12:24] = generator.bytes(12)  # the first header
    out = np.zeros((rows, 3), np.float32)
    try:
        core.unpack(bytes(data), 0.01, out)
    except ValueError as error:
        assert "packed numbers that are not of its atoms" in str(error)


def test_other_numbers_of_rows_are_refused() -> None:
    data = core.pack(molecules(1000, 3, 0, 60, 1), 0.01)
    for rows in (0, 1, 959, 960, 999, 1001, 3000):
        with pytest.raises(ValueError, match="packed numbers that are not of its atoms"):
            core.unpack(data, 0.01, np.zeros((rows, 3), np.float32))
    with pytest.raises(TypeError):
        core.unpack(data, 0.01, np.zeros((1000, 6), np.float32)[:, ::2])


def test_all_instruction_sets_write_and_read_the_same() -> None:
    script = (
        "import hashlib, numpy as np\n"
        "from tessera import _core as core\n"
        "from tests.traj.test_packing import came_back, molecules\n"
        "cases = [(n, unit) for n in range(1, 7) for unit in (1e-2, 1e-3, 1e-6)]\n"
        "data = b''.join(came_back(molecules(5000, n, n // 2, 60, n), unit) for n, unit in cases)\n"
        "print(core.simd_target(), hashlib.sha256(data).hexdigest())\n"
    )
    found = {}
    for name in ("EMU128", "AVX2", "AVX3", ""):
        done = run_program([sys.executable, "-c", script], cwd=ROOT, env={"TESSERA_SIMD": name}, check=False)
        if done.returncode == 0:
            found[name] = done.stdout.split()
    assert {"", "EMU128"} <= set(found) and len({digest for _, digest in found.values()}) == 1, found
