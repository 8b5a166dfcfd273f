"""Makes MDAnalysis know trajectories in segments, without importing it: that takes a second."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LIBRARY, READER = "MDAnalysis", "tessera.traj.reader"


def register() -> None:
    """Registers the reader now where MDAnalysis is imported already, and else right after it is imported."""
    if LIBRARY in sys.modules:
        importlib.import_module(READER)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds MDAnalysis as other finders do, and adds to its loader what is to be done when it is loaded."""

    def __init__(self) -> None:
        self._is_searching = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != LIBRARY or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_searching = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                importlib.import_module(READER)

            loader.exec_module = load_and_register
        return spec
