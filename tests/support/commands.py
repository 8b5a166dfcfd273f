"""Commands of tessera called within the test's own process."""

from __future__ import annotations

from click.testing import CliRunner

from tessera.cli import cli


def said(*words: object, status: int = 0) -> str:
    """Returns what `tessera` prints with these words; it must end with this status."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == status, done.output
    return done.output
