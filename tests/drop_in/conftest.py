"""Fixtures of the tests of the library that is preloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import run_program


@pytest.fixture(scope="session")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiles what lets ranks pretend to be on two hosts in turn."""
    path = tmp_path_factory.mktemp("hosts") / "hosts.so"
    run_program(["cc", "-shared", "-fPIC", "-o", path, Path(__file__).with_name("hosts.c")])
    return path
