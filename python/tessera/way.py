"""How ranks write a file together, by a method of `cpp/tessera/io/write`."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Way:
    """The method ("auto": by the machine file), and as many writers and atoms at a time as it says where they are 0.

    `order` is "sorted" (atoms travel by their numbers) or "owned" (they stand as ranks have them, one after the other).
    """

    method: str = "auto"
    order: str = "sorted"
    writers: int = 0
    batch: int = 0
    machine: str = ""

    @staticmethod
    def of(method: str = "auto", order: str = "sorted", writers: int = 0, batch: int = 0) -> Way:
        return Way(method, order, writers, batch, os.environ.get("TESSERA_MACHINE", ""))

    @property
    def is_usual(self) -> bool:
        return (self.method, self.order, self.writers, self.batch) == ("auto", "sorted", 0, 0)

    def options(self) -> dict[str, Any]:
        """Returns what compiled code wants to know."""
        return asdict(self)
