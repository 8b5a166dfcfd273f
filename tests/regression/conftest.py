"""Fixtures of this folder's tests."""

from __future__ import annotations

from parallel.runs import runs  # noqa: F401

ERROR = "greatest error"
