"""A reader in a child process gives a result or one message, whatever it does."""

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.contained import contained
from tessera.errors import InputError
from tests.support.programs import HANGS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "input.xyz"
    path.write_text("text")
    return path


def spin() -> None:
    while True:
        pass


def hoard() -> int:
    return len([np.ones(1 << 20), np.ones(1 << 27)])


def fail() -> Any:
    return {}["CTXA"]


def refuse() -> None:
    raise InputError("line 7 is wrong")


def swallow_the_limit() -> None:
    raise Exception("Exception std::bad_alloc")


def test_results_come_back_and_the_parent_is_untouched(file: Path) -> None:
    kept: list[int] = []

    def read(path: Path, power: int) -> dict[str, Any]:
        kept.append(1)
        print("chatter")
        return {"text": path.read_text(), "array": np.arange(10.0) ** power, "process": os.getpid()}

    found = contained(read, file, 2, file=file)
    assert found["text"] == "text" and found["array"][9] == 81.0
    assert not kept and found["process"] != os.getpid()


def test_results_larger_than_a_pipe(file: Path) -> None:
    assert contained(np.ones, (1000, 1000), file=file).sum() == 1e6


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (spin, r"cannot read input.xyz: not done after 2 s; is the file damaged"),
        (hoard, r"cannot read input.xyz: it takes more than 0.5 GiB of memory"),
        (swallow_the_limit, r"takes more than 0.5 GiB"),
        (fail, r"cannot read input.xyz: KeyError 'CTXA'$"),
        (refuse, r"^line 7 is wrong$"),
        (lambda: ctypes.string_at(0), r"cannot read input.xyz: the reader crashed \(SIGSEGV\)"),
        (lambda: os._exit(3), r"cannot read input.xyz: the reader crashed \(exit status 3\)"),
        (lambda: lambda: 0, r"cannot read input.xyz: .*pickle"),
    ],
)
def test_whatever_a_reader_does_is_one_message(file: Path, function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        contained(function, file=file, seconds=2.0 if function is spin else HANGS, memory=1 << 29)
    assert "\n" not in str(caught.value)


def test_a_reader_that_sleeps_is_ended(file: Path) -> None:
    with pytest.raises(InputError, match="not done after 0 s"):
        contained(time.sleep, HANGS, file=file, seconds=0.2)
    with pytest.raises(ChildProcessError):  # no child is left
        os.waitpid(-1, os.WNOHANG)
