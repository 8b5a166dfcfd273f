"""Commands of tessera called within the test's own process."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from tessera.cli import cli


def called(*words: object) -> Result:
    """Returns the outcome of `tessera` with these words."""
    return CliRunner().invoke(cli, [str(word) for word in words])


def said(*words: object, status: int = 0) -> str:
    """Returns what `tessera` prints with these words; it must end with this status."""
    done = called(*words)
    assert done.exit_code == status, done.output
    return done.output


def facts_of(*words: object) -> Any:
    """Returns the JSON that `tessera` prints with these words; it must succeed."""
    done = called(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)
