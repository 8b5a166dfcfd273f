import subprocess
import sys
from pathlib import Path

import pytest
from parallel.runs import runs  # noqa: F401


@pytest.fixture(scope="session")
def small_water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system file of 216 molecules of water."""
    path = tmp_path_factory.mktemp("water") / "water.tsr"
    subprocess.run([sys.executable, "-m", "tessera", "make", "water", "--atoms", "648", "-o", path], check=True)
    return path
