"""Watches runs: `tessera watch` in a terminal and in a browser, and commands that events of a run start."""
