import os
import subprocess
from pathlib import Path

import pytest
from parallel.runs import runs  # noqa: F401


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Path:
    """Mounts a file system of 1 MB and yields its folder."""
    path = tmp_path / "tiny"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs root and the right to mount")
    yield path  # type: ignore[misc]
    subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
