"""How ranks write a file together, by a method of `cpp/tessera/io/write`."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """The method ("auto": by the machine file), and as many writers and atoms at a time as it says where they are 0."""

    method: str = "auto"
    writers: int = 0
    batch: int = 0
    machine: str = ""

    @staticmethod
    def of(method: str = "auto", writers: int = 0, batch: int = 0) -> Way:
        return Way(method, writers, batch, os.environ.get("TESSERA_MACHINE", ""))

    @property
    def is_usual(self) -> bool:
        return (self.method, self.writers, self.batch) == ("auto", 0, 0)
