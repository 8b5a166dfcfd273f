from parallel.runs import runs  # noqa: F401
