"""Fixtures of tests on emulated clusters."""

from parallel.runs import runs  # noqa: F401
