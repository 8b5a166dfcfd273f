"""A plugin of pytest for CI (`-p tests.campaigns.reach`): where C++ libraries alone changed, it leaves out tests that
run no code of them, by the table of the include lint."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lint"))

from includes import MAY_USE  # noqa: E402

#: Tests that run code of one library, those below it and `programs` alone; of none where it is empty.
RUN_CODE_OF = {
    "tests/bench/": "",
    "tests/campaigns/": "",
    "tests/arrays/test_fft.py": "fft",
    "tests/arrays/": "grid",
    "tests/under_gpaw/": "grid",
    "tests/collectives/": "comm",
    "tests/machine/test_rank_order.py": "comm",
    "tests/traj/test_write_methods.py": "io",
    "tests/machine/test_probe.py": "comm",
}
#: Files that no test of Python reads.
UNREAD = (".ci/base", "CHANGELOG.md", "docs/records/campaigns.md")


def is_reached(test: str, files: Iterable[str]) -> bool:
    """Returns whether a test, by its path, may run what a change of these files changed."""
    library = next((name for start, name in RUN_CODE_OF.items() if test.startswith(start)), None)
    if library is None:
        return True
    runs = {library, *MAY_USE[library].split(), "programs"} if library else set()
    for file in files:
        parts = Path(file).parts
        if file not in UNREAD and (parts[:2] != ("cpp", "tessera") or len(parts) < 4 or parts[2] in runs):
            return True
    return False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    done = subprocess.run([ROOT / "scripts" / "changed", "files"], capture_output=True, text=True, check=True)
    reached = {
        path: is_reached(path, done.stdout.splitlines()) for path in {item.nodeid.split("::")[0] for item in items}
    }
    left_out = [item for item in items if not reached[item.nodeid.split("::")[0]]]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if reached[item.nodeid.split("::")[0]]]
