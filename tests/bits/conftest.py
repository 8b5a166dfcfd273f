"""A device for the engine's runs."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.support.programs import ENGINES, FAKE_DRIVER


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Returns how engines are started that find a GPU: a driver of tests, which runs kernels on the host
    (cpp/tessera/device/fake_driver.cpp), and code for it beside the engines."""
    folder = tmp_path_factory.mktemp("device")
    for engine in ENGINES.glob("tessera-md-*"):
        shutil.copy(engine, folder)
    (folder / "tessera-md.fatbin").write_text("80")
    return {"engines": folder, "env": {"LD_LIBRARY_PATH": str(FAKE_DRIVER)}}
