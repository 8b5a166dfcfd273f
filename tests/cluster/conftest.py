"""Makes `tests` and `bench` importable wherever pytest was started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from parallel.runs import runs  # noqa: F401
